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


@contextlib.contextmanager
def stage(space: Workspace) -> Iterator[Workspace]:
    """A new workspace inside ``space`` that sees the driver nodes of ``space``; removed at the end, whatever happens."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=".import-", dir=space.root))
    except OSError as error:
        raise MissingError(f"{space.root}: cannot be written: {error.strerror}") from error
    try:
        for name in ("captures", "golden", "profiles/drivers"):
            (folder / name).mkdir(parents=True)
        for node in sorted((space.profiles / "drivers").glob("*.yaml")):
            shutil.copy2(node, folder / "profiles" / "drivers" / node.name)
        yield Workspace(folder)
    finally:
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
    with _locked(space.root):
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
def _locked(folder: Path) -> Iterator[None]:
    """Hold the workspace's folder itself; the kernel lets go of it when the process ends."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
