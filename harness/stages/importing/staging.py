"""A workspace in the making: everything a command writes stands in a hidden folder first and is renamed into place when it is whole.

The one way in which captures, profiles, goldens, driver nodes and proposals change: what was renamed is in place whole, or is taken back.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from harness.stages.compare import baselines
from harness.stores import pending
from harness.stores.goldens import write_whole
from harness.stores.images import key_of
from harness.stores.workspace import Workspace
from harness.words.errors import GateError, InputError, MissingError, NvparityError

PREFIX = ".import-"
JOURNAL, BEFORE, NODES = "settling", "before", "nodes"
"""In a staged workspace: the list of what is being renamed into place, what that replaces, and the digest of the driver nodes it began with."""
PUT, DROP = "put", "drop"
"""What a line of the list does with its place: fill it from the staged workspace, or empty it."""


class MovedError(GateError):
    """The driver nodes, or the ids that are free, are no longer those that the work began with."""


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
            fill(space, folder)
        except OSError as error:
            raise MissingError(f"{space.root}: cannot be written: {error.strerror}") from error
        try:
            yield Workspace(folder)
        except NvparityError as error:  # whoever reads it knows ``space``, and the folder is gone by then
            raise type(error)(str(error).replace(str(folder), str(space.root))) from error


@contextlib.contextmanager
def elsewhere() -> Iterator[Workspace]:
    """An empty workspace outside any other, removed at the end: for what shall be made and shown, and not kept."""
    with tempfile.TemporaryDirectory(prefix="nvparity-") as folder:
        yield Workspace(Path(folder).resolve())


def fill(space: Workspace, folder: Path) -> None:
    """Make ``folder`` a workspace with the driver nodes of ``space``."""
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
    """Remove the staged workspaces that killed commands left behind, and take back what those had put into place without finishing.

    Raises MissingError where ``space`` cannot be opened.
    """
    try:
        with _held(space.root):
            for folder in sorted(space.root.glob(f"{PREFIX}*")):
                with contextlib.suppress(OSError), _held(folder, wait=False):  # an import that runs holds its own
                    steps = _steps(folder)
                    if not _finished(folder, space, steps):
                        _undo(folder, space, steps)
                    shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise MissingError(f"{space.root}: cannot be opened: {error.strerror}") from error


def interrupted(space: Workspace) -> list[str]:
    """Places that a killed command may have left half changed; ``sweep`` takes them back.  A command that still runs is not meant."""
    found: list[str] = []
    for folder in sorted(space.root.glob(f"{PREFIX}*")):
        with contextlib.suppress(OSError), _held(folder, wait=False):
            steps = _steps(folder)
            found += [] if _finished(folder, space, steps) else [place for _, place in steps]
    return found


def taken(space: Workspace) -> set[str]:
    """Every id of which anything exists in ``space``, pending or in place."""
    files = [*space.profiles.glob("*.yaml"), *space.golden.glob("*.yaml"), *(space.golden / baselines.FOLDER).glob("*.yaml")]
    return {*(path.stem for path in files), *(path.name for path in space.captures.glob("*")), *pending.ids(space)}


def check_free(space: Workspace, name: str, otherwise: str = "") -> None:
    """Refuse an id of which anything exists already; ``otherwise`` is what the caller may do beside choosing another or removing it."""
    for path in _targets(space, name):
        if os.path.lexists(path):
            raise InputError(f"{path}: exists; choose another id with --id, or remove it first{otherwise}")


def settle(
    staged: Workspace, space: Workspace, places: Sequence[Path], drops: Sequence[Path] = (), ready: Callable[[], object] = lambda: None
) -> list[Path]:
    """Rename what ``staged`` holds at ``places`` into ``space`` and take ``drops`` away; both are paths from the root.  The paths renamed.

    A place may hold a file or a folder, which is replaced.  ``ready`` is called when no other command can settle in ``space`` any more and before
    anything is renamed: it may raise, and may still write into ``staged``.  A failure takes back what was renamed; what a killed command leaves,
    the next one takes back.  Raises MovedError where the driver nodes changed meanwhile, MissingError where ``space`` cannot be written.
    """
    try:
        with _held(space.root):
            ready()
            if (staged.root / NODES).read_text("utf-8") != _nodes(space):
                raise MovedError(f"{space.profiles}: another command changed the driver nodes meanwhile; nothing was written, do it again")
            steps = [(PUT, str(place)) for place in places if (staged.root / place).exists()]
            steps += [(DROP, str(place)) for place in drops if os.path.lexists(space.root / place)]
            _note(staged.root, space, steps)
            try:
                for verb, place in steps:
                    _step(staged.root, space, verb, place)
            except BaseException:
                _undo(staged.root, space, steps)
                raise
            (staged.root / JOURNAL).unlink()
    except OSError as error:
        raise MissingError(f"{space.root}: cannot be written: {error.strerror}") from error
    return [space.root / place for verb, place in steps if verb == PUT]


def _note(folder: Path, space: Workspace, steps: list[tuple[str, str]]) -> None:
    """Write down, before the first rename, what is done, and keep a copy of the files that are replaced."""
    for _, place in steps:
        kept, target = folder / BEFORE / place, space.root / place
        kept.parent.mkdir(parents=True, exist_ok=True)
        if target.is_file():
            shutil.copy2(target, kept)
    write_whole(folder / JOURNAL, json.dumps(steps).encode())


def _step(folder: Path, space: Workspace, verb: str, place: str) -> None:
    source, target, kept = folder / place, space.root / place, folder / BEFORE / place
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir():
        target.rename(kept)
    elif verb == DROP:
        target.unlink()
    if verb == PUT:
        source.rename(target)


def _steps(folder: Path) -> list[tuple[str, str]]:
    """What the command of ``folder`` was doing; nothing where it had not begun or had finished."""
    journal = folder / JOURNAL
    return [(verb, place) for verb, place in json.loads(journal.read_bytes())] if journal.is_file() else []


def _finished(folder: Path, space: Workspace, steps: list[tuple[str, str]]) -> bool:
    """Whether every step was done: then nothing is taken back."""
    return all(not os.path.lexists((folder if verb == PUT else space.root) / place) for verb, place in steps)


def _undo(folder: Path, space: Workspace, steps: list[tuple[str, str]]) -> None:
    """Take ``steps`` back, the last one first; one that was not done, or is taken back already, changes nothing."""
    for verb, place in reversed(steps):
        source, target, kept = folder / place, space.root / place, folder / BEFORE / place
        if verb == PUT and not os.path.lexists(source) and os.path.lexists(target):
            source.parent.mkdir(parents=True, exist_ok=True)
            target.rename(source)
        if os.path.lexists(kept):
            kept.replace(target)


def places(space: Workspace, name: str) -> list[Path]:
    """Where what belongs to the capture ``name`` stands, from the root of ``space``; the capture's own folder last."""
    return [target.relative_to(space.root) for target in _targets(space, name)]


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
