"""Every store into a state, mapped or made: a writer calls these and nothing else, so that a test can end the process before any one of them."""

from __future__ import annotations

import os
from mmap import mmap
from pathlib import Path
from typing import Any


def number(place: Any, member: str, value: int) -> None:
    """Put a number into a struct that is mapped."""
    setattr(place, member, value)


def data(mapped: mmap, start: int, given: bytes) -> None:
    """Put bytes into what is mapped."""
    mapped[start : start + len(given)] = given


def hold(file: int, start: int, size: int) -> None:
    """Let the file hold these bytes: on a full disk a store into a hole would end the process."""
    os.posix_fallocate(file, start, size)


def lengthen(file: int, size: int) -> None:
    """Give the file its size."""
    os.truncate(file, size)


def write(file: int, given: bytes, start: int) -> None:
    """Write bytes of a file that is made."""
    os.pwrite(file, given, start)


def replace(aside: Path, path: Path) -> None:
    """Put a file that is made in another's place."""
    aside.replace(path)
