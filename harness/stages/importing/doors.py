"""The ways a capture comes in: a file, standard input, gzip of either, a bug report that holds one (its XML, else its text); told by the bytes.

What comes out is what nvidia-smi wrote, and the hashes are taken from that.
"""

from __future__ import annotations

import re
import sys
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.words.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MAX_FILE = 64 * 1024 * 1024
"""The most bytes that are read or unpacked; a capture of 72 GPUs is under 4 MB, a bug report of a big node some 10."""
STDIN = "-"
_GZIP = b"\x1f\x8b"
_ARCHIVES = ((b"PK\x03\x04", "a zip archive"), (b"BZh", "a bzip2 file"), (b"\xfd7zXZ\x00", "an xz file"), (b"\x28\xb5\x2f\xfd", "a zstd file"))
_TAR = (257, b"ustar")
_REPORT = re.compile(rb"Start of NVIDIA bug report log file|nvidia-bug-report\.sh Version")
_REPORT_HEAD = 16384
_BEGIN, _END = b"<nvidia_smi_log>", b"</nvidia_smi_log>"
_XML = re.compile(
    rb"(?:<\?xml[^>\n]{0,200}>\s{0,20})?(?:<!DOCTYPE nvidia_smi_log[^>\n]{0,200}>\s{0,20})?"
    rb"<nvidia_smi_log>.*?</nvidia_smi_log>[ \t]*\r?\n?",
    re.DOTALL,
)
_TEXT = re.compile(rb"^=+NVSMI LOG=+[ \t]*\r?\n.*?(?=^_{8,}[ \t]*\r?$|^=+NVSMI LOG=|\Z)", re.DOTALL | re.MULTILINE)
"""A `-q` text in a bug report: up to the line that ends its part, or the next one (`-q -u`, which counts units)."""
_LISTED = 20
_COUNTED = re.compile(rb"^Attached GPUs ", re.MULTILINE)


class ArchiveError(InputError):
    """The file is packed as no door unpacks it; it may hold anything."""


@dataclass(frozen=True)
class Content:
    """What one door gave: the file's ``name`` for messages, ``data`` as nvidia-smi wrote it, and ``notes`` on how it was packed."""

    name: str
    data: bytes
    notes: tuple[str, ...] = ()


def read_all(paths: Iterable[Path]) -> list[Content]:
    """The content of each of ``paths``; ``-`` is standard input, which can be read once.

    Raises UsageError for a second ``-``, InputError for a file that cannot be read or holds no capture.
    """
    listed = list(paths)
    if sum(str(path) == STDIN for path in listed) > 1:
        raise UsageError("standard input ('-') can be read once; give the other file by its name")
    return [read(path) for path in listed]


def read(path: Path) -> Content:
    """The content of ``path``, standard input for ``-``.  Raises InputError where it cannot be read or is packed in another way."""
    return unpack(read_bytes(path), name_of(path))


def plain(data: bytes, name: str) -> tuple[bytes, list[str]]:
    """The text in the file's bytes ``data``, and notes on how it was packed.

    Raises ArchiveError for an archive, InputError for a gzip file that is damaged or unpacks to more than `MAX_FILE`.
    """
    notes: list[str] = []
    if data.startswith(_GZIP):
        data, rest = _gunzip(data, name)
        if data.startswith(_GZIP):
            raise InputError(f"{name}: packed with gzip twice; unpack it once")
        notes.append("unpacked from gzip")
        if rest.strip(b"\0"):
            notes.append(f"left out the {len(rest)} bytes behind the gzip data")
    _refuse_archives(data, name)
    return data, notes


def name_of(path: Path) -> str:
    """What messages call ``path``."""
    return "<stdin>" if str(path) == STDIN else str(path)


def unpack(data: bytes, name: str) -> Content:
    """The capture in the file's bytes ``data``.

    Raises ArchiveError for an archive, InputError for a gzip file that is damaged or unpacks to more than `MAX_FILE` and for a bug report
    that holds no capture, or several.
    """
    data, notes = plain(data, name)
    if _REPORT.search(data, 0, _REPORT_HEAD):
        data, note = _cut(data, name)
        notes.append(note)
    return Content(name, data, tuple(notes))


def read_bytes(path: Path) -> bytes:
    """The bytes of ``path``, standard input for ``-``, as they come.  Raises InputError where they cannot be read or are too many."""
    name = name_of(path)
    try:
        if str(path) == STDIN:
            data = sys.stdin.buffer.read(MAX_FILE + 1)
        else:
            with path.open("rb") as file:
                data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}") from error
    if len(data) > MAX_FILE:
        raise InputError(f"{name}: larger than {MAX_FILE >> 20} MiB: no capture is")
    return data


def _gunzip(data: bytes, name: str) -> tuple[bytes, bytes]:
    """All members of a gzip file, one behind the other, and the bytes behind them that are none."""
    parts: list[bytes] = []
    size = 0
    rest = data
    while rest.startswith(_GZIP):
        member = zlib.decompressobj(wbits=31)
        try:
            parts.append(member.decompress(rest, MAX_FILE + 1 - size))
        except zlib.error as error:
            raise InputError(f"{name}: damaged gzip file ({error}); fetch or pack it again") from error
        size += len(parts[-1])
        if size > MAX_FILE:
            raise InputError(f"{name}: unpacks to more than {MAX_FILE >> 20} MiB: no capture does")
        if not member.eof:
            raise InputError(f"{name}: the gzip file ends in the middle; fetch or pack it again")
        rest = member.unused_data
    return b"".join(parts), rest


def _refuse_archives(data: bytes, name: str) -> None:
    start, magic = _TAR
    kinds = [what for head, what in _ARCHIVES if data.startswith(head)]
    if data[start : start + len(magic)] == magic:
        kinds.append("a tar archive")
    if kinds:
        raise ArchiveError(f"{name}: {kinds[0]}; unpack it and give the files, or the folder that holds them")


def _cut(data: bytes, name: str) -> tuple[bytes, str]:
    """The one capture in a bug report, and a note of where it stood."""
    end = data.rfind(_END) + len(_END)  # none begins behind the last end: each beginning there would be read to the end of the file
    found = list(_XML.finditer(data, 0, (data.find(b"\n", end) + 1 or len(data)) if end >= len(_END) else 0))
    torn = _torn(data, found)
    if torn:
        line = _line(data, torn[0])
        raise InputError(f"{name}: a bug report whose XML from line {line} on has no end; make the report again, or cut out a whole capture")
    if not found:
        found = [match for match in _TEXT.finditer(data) if _COUNTED.search(match.group())]
    if not found:
        raise InputError(
            f"{name}: a bug report that holds no output of `nvidia-smi -q`, as XML or text; on that node run `nvidia-smi -q -x > query.xml`"
            " and import that file"
        )
    if len({match.group() for match in found}) > 1:
        listed = ", ".join(str(_line(data, match.start())) for match in found[:_LISTED]) + ", ..." * (len(found) > _LISTED)
        raise InputError(f"{name}: a bug report with {len(found)} captures, at lines {listed}; cut out the one to import")
    text = found[0].group()
    if not text.lstrip().startswith(b"<"):
        text = text.rstrip(b"\r\n") + (b"\r\n" if b"\r\n" in text else b"\n")
    return text, f"cut from line {_line(data, found[0].start())} of a bug report"


def texts(content: Content) -> list[Content]:
    """The `-q` texts of ``content``, a collection of outputs that holds more than one, each called after its line; none of any other file."""
    data = content.data.replace(b"\r\n", b"\n")
    found = [match for match in _TEXT.finditer(data) if _COUNTED.search(match.group())]
    if len(found) < 2:
        return []
    cut: list[Content] = []
    at, counted = 1, 0
    for match in found:
        at, counted = at + data.count(b"\n", counted, match.start()), match.start()
        lines = match.group().split(b"\n")
        boards = next((number for number, line in enumerate(lines) if line.startswith(b"GPU ")), 0)
        ends = (number for number, line in enumerate(lines) if number > boards and line[:1].strip() and not line.startswith(b"GPU "))
        before = b"\n" * data.endswith(b"\n", 0, match.start())
        text = before + b"\n".join(lines[: next(ends, len(lines))]).rstrip(b"\n") + b"\n"
        cut.append(Content(f"{content.name}:{at}", text, (*content.notes, f"cut from line {at} of a collection of outputs")))
    return cut


def _torn(data: bytes, found: list[re.Match[bytes]]) -> list[int]:
    """Where captures begin that do not end: all beginnings but the last one in each of ``found``."""
    whole = {match.start() + match.group().rindex(_BEGIN) for match in found}
    return [match.start() for match in re.finditer(re.escape(_BEGIN), data) if match.start() not in whole]


def _line(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1
