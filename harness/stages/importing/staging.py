"""A workspace in the making: everything an import writes stands in a hidden folder first and is renamed into place when it is whole."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.stages.compare import baselines
from harness.stores.workspace import Workspace
from harness.words.errors import InputError, MissingError

PREFIX = ".import-"


@contextlib.contextmanager
def stage(space: Workspace) -> Iterator[Workspace]:
    """A new workspace inside ``space`` that sees the driver nodes of ``space``; removed at the end, whatever happens.

    One that a killed import left behind is removed here: nobody holds it any more.
    """
    _sweep(space)
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=space.root))
    except OSError as error:
        raise MissingError(f"{space.root}: cannot be written: {error.strerror}") from error
    with _held(folder):
        yield from _filled(space, folder)


def _filled(space: Workspace, folder: Path) -> Iterator[Workspace]:
    try:
        for name in ("captures", "golden", "profiles/drivers"):
            (folder / name).mkdir(parents=True)
        for node in sorted((space.profiles / "drivers").glob("*.yaml")):
            shutil.copy2(node, folder / "profiles" / "drivers" / node.name)
        yield Workspace(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(space: Workspace) -> None:
    for folder in space.root.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), _held(folder, wait=False):
            shutil.rmtree(folder, ignore_errors=True)


def check_free(space: Workspace, name: str) -> None:
    """Refuse an id of which anything exists already."""
    for path in _targets(space, name):
        if os.path.lexists(path):
            raise InputError(f"{path}: exists; choose another id with --id, or remove it first")


def settle(staged: Workspace, space: Workspace, name: str, node: str | None) -> list[Path]:
    """Rename what ``staged`` holds of ``name`` (and the driver node called ``node``) into ``space``; the paths.

    The capture's folder comes last: an id exists once it is there.  A failure takes back what was renamed before it.  One import at a time
    settles in a workspace.
    """
    moves = [(staged.root / path.relative_to(space.root), path) for path in _targets(space, name)]
    moves = [(source, target) for source, target in moves if source.exists()]
    kept: bytes | None = None
    node_path = space.profiles / "drivers" / f"{node}.yaml"
    if node is not None:
        moves.insert(0, (staged.profiles / "drivers" / node_path.name, node_path))
        kept = node_path.read_bytes() if node_path.is_file() else None
    done: list[Path] = []
    with _held(space.root):
        check_free(space, name)
        try:
            for source, target in moves:
                target.parent.mkdir(parents=True, exist_ok=True)
                source.rename(target)
                done.append(target)
        except OSError as error:
            for path in done:
                path.unlink(missing_ok=True)
            if kept is not None:
                node_path.write_bytes(kept)
            raise MissingError(f"{space.root}: cannot be written: {error.strerror}") from error
    return done


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
