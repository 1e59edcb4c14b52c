"""File to transcript to file: are the bytes the same?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from harness.stages.importing import source
from harness.text import transcript


@dataclass(frozen=True)
class Trip:
    """One round trip: ``kind`` of the capture, its number of ``lines``, how many are kept ``verbatim``, and the 1-based first line that
    ``differs`` (None: the same bytes).
    """

    kind: str
    lines: int
    verbatim: int
    differs: int | None


def trip(data: bytes, name: str) -> Trip:
    """The round trip of ``data`` through its transcript; InputError when it is no capture."""
    read = source.read(data, name)
    again = transcript.load(transcript.dump(read), f"transcript of {name}").to_bytes()
    lines = data.splitlines()
    return Trip(read.kind, len(lines), read.verbatim_lines, _first_difference(data, again))


def _first_difference(data: bytes, again: bytes) -> int | None:
    if data == again:
        return None
    pairs = zip_longest(data.splitlines(keepends=True), again.splitlines(keepends=True))
    return next((number for number, (one, other) in enumerate(pairs, 1) if one != other), 1)
