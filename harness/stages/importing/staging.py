"""A workspace in the making: everything an import writes stands in a hidden folder first and is renamed into place when it is whole."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.stages.compare import baselines
from harness.stores.goldens import write_whole
from harness.stores.images import key_of
from harness.stores.workspace import Workspace
from harness.words.errors import GateError, InputError, MissingError, NvparityError

PREFIX = ".import-"
JOURNAL, BEFORE, NODES = "settling", "before", "nodes"
"""In a staged workspace: the list of what is being renamed into place, what that replaces, and the digest of the driver nodes it began with."""


class MovedError(GateError):
    """The driver nodes are no longer those that the import began with."""


@contextlib.contextmanager
def stage(space: Workspace) -> Iterator[Workspace]:
    """A new workspace inside ``space`` that sees the driver nodes of ``space``; removed at the end, whatever happens.

    Raises MissingError where ``space`` cannot be written.
    """
    with contextlib.ExitStack() as stack:
        try:
            with _held(space.root):  # so that no other import takes the new folder for one left behind
                folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=space.root))
                stack.enter_context(_held(folder))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            _fill(space, folder)
        except OSError as error:
            raise MissingError(f"{space.root}: cannot be written: {error.strerror}") from error
        try:
            yield Workspace(folder)
        except NvparityError as error:  # whoever reads it knows ``space``, and the folder is gone by then
            raise type(error)(str(error).replace(str(folder), str(space.root))) from error


def _fill(space: Workspace, folder: Path) -> None:
    for name in ("captures", "golden", "profiles/drivers"):
        (folder / name).mkdir(parents=True)
    for node in sorted((space.profiles / "drivers").glob("*.yaml")):
        shutil.copy2(node, folder / "profiles" / "drivers" / node.name)
    (folder / NODES).write_text(_nodes(space), "utf-8")


def _nodes(space: Workspace) -> str:
    """The driver nodes of ``space`` as one digest."""
    return key_of(part for node in sorted((space.profiles / "drivers").glob("*.yaml")) for part in (node.name.encode(), node.read_bytes()))


def borrow(staged: Workspace, space: Workspace, names: list[str]) -> None:
    """Copy the captures ``names`` of ``space`` into ``staged``, to be looked at there; ``settle`` leaves them alone."""
    for name in names:
        for target in _targets(space, name):
            copy = staged.root / target.relative_to(space.root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if target.is_dir():
                shutil.copytree(target, copy)
            elif target.is_file():
                shutil.copy2(target, copy)


def sweep(space: Workspace) -> None:
    """Remove the staged workspaces that killed imports left behind, and what those had put into place of captures they did not finish.

    Raises MissingError where ``space`` cannot be opened.
    """
    try:
        with _held(space.root):
            for folder in sorted(space.root.glob(f"{PREFIX}*")):
                with contextlib.suppress(OSError), _held(folder, wait=False):  # an import that runs holds its own
                    _undo(folder, space)
                    shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise MissingError(f"{space.root}: cannot be opened: {error.strerror}") from error


def taken(space: Workspace) -> set[str]:
    """Every id of which anything exists in ``space``."""
    files = [*space.profiles.glob("*.yaml"), *space.golden.glob("*.yaml"), *(space.golden / baselines.FOLDER).glob("*.yaml")]
    return {*(path.stem for path in files), *(path.name for path in space.captures.glob("*"))}


def check_free(space: Workspace, name: str) -> None:
    """Refuse an id of which anything exists already."""
    for path in _targets(space, name):
        if os.path.lexists(path):
            raise InputError(f"{path}: exists; choose another id with --id, or remove it first")


def settle(staged: Workspace, space: Workspace, name: str, node: str | None, last: Callable[[], object]) -> list[Path]:
    """Rename what ``staged`` holds of ``name`` (and the driver node called ``node``) into ``space``, then call ``last``; the paths.

    The capture's folder comes last: an id exists once it is there.  A failure, ``last``'s too, takes back what was renamed; what a killed
    import leaves, the next one takes back.  One import at a time settles in a workspace.
    """
    targets = _targets(space, name)
    if node is not None:
        targets.insert(0, space.profiles / "drivers" / f"{node}.yaml")
    moves = [(staged.root / path.relative_to(space.root), path) for path in targets]
    moves = [(source, target) for source, target in moves if source.exists()]
    try:
        with _held(space.root):
            check_free(space, name)
            if (staged.root / NODES).read_text("utf-8") != _nodes(space):
                raise MovedError(f"{space.profiles}: another import changed the driver nodes meanwhile; nothing was written, import again")
            _note(staged.root, space, [target for _, target in moves])
            try:
                for source, target in moves:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    source.rename(target)
                last()
            except BaseException:
                if not (staged.captures / name).exists():
                    (space.captures / name).rename(staged.captures / name)
                _undo(staged.root, space)
                raise
            (staged.root / JOURNAL).unlink()
    except OSError as error:
        raise MissingError(f"{space.root}: cannot be written: {error.strerror}") from error
    return [target for _, target in moves]


def _note(folder: Path, space: Workspace, targets: list[Path]) -> None:
    """Write down, before the first rename, where things go and keep a copy of what they replace."""
    for target in targets:
        if target.is_file():
            (folder / BEFORE).mkdir(exist_ok=True)
            shutil.copy2(target, folder / BEFORE / target.name)
    write_whole(folder / JOURNAL, "".join(f"{target.relative_to(space.root)}\n" for target in targets).encode())


def _undo(folder: Path, space: Workspace) -> None:
    """Take back what the import of ``folder`` renamed into ``space``, unless its capture is in place: then it had finished."""
    journal = folder / JOURNAL
    if not journal.is_file():
        return
    places = [Path(line) for line in journal.read_text("utf-8").splitlines()]
    if any(place.parts[0] == space.captures.name and not (folder / place).exists() for place in places):
        return
    for place in places:
        if (folder / place).exists():
            continue  # not renamed yet
        kept = folder / BEFORE / place.name
        if kept.is_file():
            kept.replace(space.root / place)
        else:
            (space.root / place).unlink(missing_ok=True)


def _targets(space: Workspace, name: str) -> list[Path]:
    return [space.profile_path(name), space.golden / f"{name}.yaml", baselines.path_of(space.golden, name), space.captures / name]


@contextlib.contextmanager
def _held(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold a folder itself; the kernel lets go of it when the process ends.  OSError where another holds it and ``wait`` is not asked for."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(handle)
