"""Scrub for people who want to hand a capture on: files of one node at once, and a look at what is stored already."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.stages.importing import doors
from harness.stages.recording import cleaning
from harness.stores.goldens import write_whole
from harness.text import placeholders, refusals, scrub
from harness.text.scrub import Residue, ScrubResult
from harness.words.errors import InputError, MissingError, UsageError

_STORED = re.compile(rb"\A(?:#[^\n]*\n|\s*\n)*format: [0-9]+\s*\n")
_SHORT = re.compile(r"0[xX][0-9a-fA-F]{1,6}")
_PADDED = re.compile(r"0{10}[0-9a-fA-F]{6}0{16}")
"""A placeholder of eight bytes in a key of sixteen: a profile's platform.fabric_guid."""


@dataclass(frozen=True)
class Left:
    """Something in ``file`` that looks like a real identifier: its ``line`` (1-based) and ``family``; the value is not told again."""

    file: str
    line: int
    family: str


def clean(paths: list[Path]) -> ScrubResult:
    """The texts of ``paths`` (gzip unpacked, ``-`` is standard input), by the name that messages call them, scrubbed together.

    Raises InputError for a file that cannot be read, for an archive and for UTF-16, UsageError for one that is named twice.
    """
    texts: dict[str, bytes] = {}
    for path in paths:
        name = doors.name_of(path)
        if name in texts:
            raise UsageError(f"{name}: named twice")
        texts[name] = _text(path, name)
    return scrub.scrub(texts)


def write(result: ScrubResult, folder: Path) -> list[Path]:
    """Write the files of ``result`` into ``folder`` under their own names, a ``.gz`` at the end left out; the paths.

    Raises UsageError for two files of one name, InputError where a file of that name is there already, MissingError where none can be written.
    """
    targets: dict[Path, str] = {}
    for name in result.files:
        target = folder / ("stdin.txt" if name == doors.name_of(Path(doors.STDIN)) else Path(name).name.removesuffix(".gz"))
        if target in targets:
            raise UsageError(f"{name} and {targets[target]} would both be {target}; give them names of their own")
        if os.path.lexists(target):
            raise InputError(f"{target}: exists; choose another folder with -o, or remove it first")
        targets[target] = name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for target, name in targets.items():
            write_whole(target, result.files[name])
    except OSError as error:
        raise MissingError(f"{folder}: cannot be written: {error.strerror}") from error
    return list(targets)


def left(files: dict[str, bytes]) -> list[Left]:
    """What in ``files`` still looks real; in YAML of a workspace names of rows and elements, and placeholders without their leading zeros, do not."""
    found: list[Left] = []
    for name, data in files.items():
        stored = _STORED.search(data) is not None
        found += [Left(name, one.line, one.family) for one in cleaning.residue(data) if not (stored and _is_ours(one))]
    return found


def _is_ours(found: Residue) -> bool:
    """Is it a name that stands where an identifier might (``serial: gpu/serial``), or a placeholder as a number or in a longer key?"""
    if found.family == placeholders.UUID and _PADDED.fullmatch(found.text):
        return True
    if found.family in (placeholders.SERIAL, placeholders.UUID):
        return not any(char.isdigit() for char in found.text)
    return found.family == placeholders.HEX and _SHORT.fullmatch(found.text) is not None


def look(paths: list[Path]) -> Iterator[tuple[str, list[Left]]]:
    """Each file of ``paths``, folders with all that is in them, and what in it looks real.

    Raises InputError for a file that cannot be read, for an archive and for UTF-16.
    """
    for path in paths:
        for file in _below(path):
            name = doors.name_of(file)
            yield name, left({name: _text(file, name)})


def _text(path: Path, name: str) -> bytes:
    """The text of the file; text in UTF-16, in which no identifier is found and every one stays, is refused."""
    data = doors.plain(doors.read_bytes(path), name)[0]
    head = data[:4096]
    nulls = [head[first::2].count(0) * 10 for first in (0, 1)]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or (max(nulls) > 9 * (len(head) // 2) > 0 and min(nulls) < len(head) // 2):
        raise refusals.utf16(name)
    return data


def _below(path: Path) -> Iterator[Path]:
    """``path``, or the plain files below it, sorted; what is hidden in a folder is looked at too, links are not followed."""
    if not path.is_dir():
        yield path
        return
    found = sorted(file for file in path.rglob("*") if file.is_file() and not file.is_symlink())
    yield from found
