"""An override document in a file: read, and followed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.stages.overriding import document
from harness.stages.overriding.document import Overrides
from harness.tables import strictyaml
from harness.words.errors import InputError, MissingError, NvparityError, StorageError
from mocklib.state import StateError

Stamp = tuple[int, int, int] | None


def read(path: Path) -> Overrides:
    """The document in ``path``; MissingError where it cannot be read, InputError for what is no document."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))  # a pipe that nobody writes is no wait
    except OSError as error:
        raise MissingError(f"{path}: cannot be read: {error.strerror}") from error
    return document.load(strictyaml.read_file(path), str(path))


def stamp(path: Path) -> Stamp:
    """What tells one content of a file from another: size, time and inode; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def follow(path: Path, apply: Callable[[Overrides], object], wait: Callable[[], object]) -> Iterator[Overrides | NvparityError]:
    """Apply the document in ``path`` now and whenever it changed, looking again after each ``wait``: what was applied, or why it was not.

    A document that is taken away drops the overrides; one that cannot be read or is refused leaves them, and so does
    a state that cannot be written (somebody else writes, say): that is tried again after each wait.  It goes on until ``wait`` raises.
    """
    seen: Stamp | bool = False
    told = ""
    while True:
        now = stamp(path)
        if now != seen:
            outcome = _applied(path, now, apply)
            seen = False if isinstance(outcome, StorageError) else now  # the state cannot be written: tried again, told once
            if str(outcome) != told or seen is not False:
                yield outcome
            told = str(outcome)
        wait()


def _applied(path: Path, now: Stamp, apply: Callable[[Overrides], object]) -> Overrides | NvparityError:
    try:
        given = Overrides() if now is None else read(path)
        apply(given)
    except (InputError, MissingError) as error:
        return error
    except StateError as error:
        return StorageError(str(error))
    return given
