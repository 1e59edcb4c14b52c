"""Identifiers out of captured bytes, before any parser of ours reads them and before anything is written.

UUIDs of GPUs and MIG devices in both spellings, serials of boards and chassis, PDI, fabric GUID, cluster UUID, and user and host names of
processes become placeholders of the same shape (`placeholders`), in elements, attributes, comments and whatever else; files of one node are
scrubbed together and stay joined.  Absent and masked values stay.  It works line by line: bytes in, bytes out.
"""

from __future__ import annotations

import bisect
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.text import identifiers, placeholders
from harness.text.identifiers import Hit
from harness.text.suspects import Sweep

_REFERENCE = re.compile(rb"&#(?:0{0,64}([0-9]{1,3})|x0{0,64}([0-9A-Fa-f]{1,2}));")
_OPEN_LINE = re.compile(rb"\s*<([A-Za-z_][A-Za-z0-9_.:-]*)(?: [^<>]*)?>\s*")


@dataclass(frozen=True, slots=True)
class ScrubResult:
    """``files``: the scrubbed bytes by name; ``report``: how many distinct values of each family were replaced (`placeholders.FAMILIES`);
    ``places``: in how many places.  What was there before is in neither.
    """

    files: dict[str, bytes]
    report: dict[str, int]
    places: dict[str, int]


@dataclass(frozen=True, slots=True)
class Residue:
    """Something that still looks real: ``line`` (1-based), ``family``, ``text``."""

    line: int
    family: str
    text: str


def scrub(files: Mapping[str, bytes]) -> ScrubResult:
    """Replaces the identifiers of ``files``, texts of one node by name; numbers are given in order of first appearance, file by file.

    Total: any bytes will do.  ``scrub(scrub(x).files).files == scrub(x).files``.
    """
    return _Scrubber(files).run()


def residue(data: bytes) -> list[Residue]:
    """What in ``data`` still looks like a real identifier; empty for what `scrub` gave."""
    found: list[Residue] = []
    places = _places(data)
    for number in sorted(_suspects(Sweep([_line(place) for place in places]), places)):
        line = _resolve(_line(places[number]))
        real = [hit for hit in _find(places[number]) if placeholders.number_of(hit.family, hit.value) is None and not _short(hit)]
        real = [hit for hit in real if not _spelled(line, hit)]
        found.extend(Residue(number + 1, hit.family, hit.value.decode("utf-8", "backslashreplace")) for hit in real)
    return found


_BYTES = b'{"hex":"'


def _spelled(line: bytes, hit: Hit) -> bool:
    """Is ``hit`` the placeholder of a GUID or of a text, spelt as the bytes of an answer: with what stands behind it in its array?"""
    if hit.family != placeholders.UUID or not line[: hit.start].endswith(_BYTES) or len(hit.value) != 32:
        return False
    guid, rest = hit.value[:16], hit.value[16:]
    text = bytes.fromhex(hit.value.decode()).rstrip(b"\0")
    known = placeholders.number_of(placeholders.SERIAL, text) if text.isascii() else None
    return known is not None or (not rest.strip(b"0") and placeholders.number_of(placeholders.HEX, guid) is not None)


def _short(hit: Hit) -> bool:
    """Is ``hit`` the placeholder of a value too short to tell it from a real one?"""
    if hit.family not in {placeholders.SERIAL, placeholders.ADDRESS}:
        return False
    return any(placeholders.make(hit.family, hit.value, number) == hit.value for number in range(1, 65))


Place = bytes | tuple[bytes, bytes]
"""A line, or the element it is the text of and the line."""


def _places(data: bytes) -> list[Place]:
    """The lines of ``data``; one without a tag comes with the element that the line before opened, if it did."""
    lines = data.split(b"\n")
    places: list[Place] = list(lines)
    tag, before = b"", b""
    for number, line in enumerate(lines):
        if b"<" in line:
            before = line
        elif line:
            if before:
                opened = _OPEN_LINE.fullmatch(before)
                tag, before = opened[1] if opened else b"", b""
            if tag:
                places[number] = (tag, line)
    return places


def _line(place: Place) -> bytes:
    return place if isinstance(place, bytes) else place[1]


def _suspects(sweep: Sweep, places: Sequence[Place]) -> set[int]:
    """The numbers of the lines that may hold an identifier: by what is in them, or by the element they are the text of."""
    return sweep.suspects() | {number for number, place in enumerate(places) if not isinstance(place, bytes)}


def _resolve(line: bytes) -> bytes:
    """``line`` with character references to ASCII letters, digits and ``-./@:_`` resolved: an identifier must not hide in them."""
    return _REFERENCE.sub(_character, line) if b"&#" in line else line


def _character(match: re.Match[bytes]) -> bytes:
    code = int(match[1]) if match[1] else int(match[2], 16)
    return bytes([code]) if code < 128 and (chr(code).isalnum() or chr(code) in "-./@:_") else match.group()


def _find(place: Place) -> list[Hit]:
    """The identifiers in the resolved line of ``place``."""
    return identifiers.find(_resolve(_line(place)), b"" if isinstance(place, bytes) else place[0])


class _Scrubber:
    """Learns the values of all files, then replaces them; each different line is looked at once."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.texts = {name: _places(data) for name, data in files.items()}
        self.lines: list[Place] = list(dict.fromkeys(place for places in self.texts.values() for place in places))
        self.sweep = Sweep([_line(place) for place in self.lines])
        self.numbers: dict[tuple[str, bytes], int] = {}
        self.heads: dict[bytes, int] = {}
        self.taken: dict[str, set[int]] = {}
        self.next_free: dict[str, int] = {}
        self.distinct: dict[str, int] = {}
        self.changed: dict[Place, tuple[bytes, list[str]]] = {}

    def run(self) -> ScrubResult:
        """Finds, counts and replaces."""
        suspects = _suspects(self.sweep, self.lines)
        hits = {number: _find(self.lines[number]) for number in sorted(suspects)}
        literals = self._learn(hits)
        for number in sorted(suspects | self.sweep.having(literals.words)):
            self._replace(self.lines[number], hits.get(number, []), literals)
        files: dict[str, bytes] = {}
        places: dict[str, int] = {}
        for name, text in self.texts.items():
            counts = Counter(text)
            for place, (_, families) in self.changed.items():
                for family in families:
                    if counts[place]:
                        places[family] = places.get(family, 0) + counts[place]
            files[name] = b"\n".join([self.changed[place][0] if place in self.changed else _line(place) for place in text])
        return ScrubResult(files, dict(sorted(self.distinct.items())), dict(sorted(places.items())))

    def _learn(self, hits: dict[int, list[Hit]]) -> identifiers.Literals:
        """Reserves the numbers of placeholders that are there already, and collects the values to look for elsewhere."""
        known: list[tuple[str, bytes]] = []
        for hit in (hit for line in hits.values() for hit in line):
            number = placeholders.number_of(hit.family, hit.value)
            if number is not None:
                self.taken.setdefault(hit.family, set()).add(number)
                known_as = placeholders.canonical(hit.family, hit.value)
                self.numbers[hit.family, known_as] = number
                self._remember_heads(hit.family, known_as, number)
            known.extend((hit.family, spelling) for spelling in _spellings(hit))
        return identifiers.Literals(known)

    def _replace(self, place: Place, hits: list[Hit], literals: identifiers.Literals) -> None:
        """Replaces the identifiers in the line of ``place``."""
        line = _resolve(_line(place))
        more = _between(literals.find(line), hits)
        out: list[bytes] = []
        families: list[str] = []
        position = 0
        for hit in sorted(hits + more):
            if hit.start < position:
                continue
            spelled = self._placeholder(hit)
            if spelled != hit.value:
                families.append(hit.family)
            out.extend((line[position : hit.start], spelled))
            position = hit.end
        if families:
            self.changed[place] = (b"".join(out) + line[position:], families)

    def _placeholder(self, hit: Hit) -> bytes:
        family = hit.family
        known = placeholders.canonical(family, hit.value)
        number = self.numbers.get((family, known))
        if number is None and family == placeholders.UUID:
            number = self.heads.get(known) if len(known) < 32 else None
        if number is None:
            number = self._new(family)
            self.numbers[family, known] = number
            self.distinct[family] = self.distinct.get(family, 0) + 1
            self._remember_heads(family, known, number)
        return placeholders.make(family, hit.value, number)

    def _remember_heads(self, family: str, known: bytes, number: int) -> None:
        """The begins by which a UUID may be cut off elsewhere: whole groups of it."""
        if family == placeholders.UUID and len(known) == 32:
            for size in (8, 12, 16, 20):
                self.heads.setdefault(known[:size], number)

    def _new(self, family: str) -> int:
        taken = self.taken.setdefault(family, set())
        number = self.next_free.get(family, 1)
        while number in taken:
            number += 1
        self.next_free[family] = number + 1
        return number


def _between(found: list[Hit], hits: list[Hit]) -> list[Hit]:
    """Those of ``found`` that overlap none of ``hits`` (sorted, apart from each other)."""
    starts = [hit.start for hit in hits]
    kept: list[Hit] = []
    for hit in found:
        place = bisect.bisect_left(starts, hit.start)
        if (not place or hits[place - 1].end <= hit.start) and (place == len(hits) or hits[place].start >= hit.end):
            kept.append(hit)
    return kept


def _spellings(hit: Hit) -> list[bytes]:
    """How the value of ``hit`` may be written elsewhere: a UUID without dashes, a hexadecimal number with and without 0x."""
    bare = placeholders.canonical(hit.family, hit.value)
    return [hit.value, bare] if hit.family in {placeholders.UUID, placeholders.HEX} else [hit.value]
