"""Where identifiers stand in a line of nvidia-smi's output, of whatever view; on bytes, before any parser.

Two kinds of finding: by shape (UUIDs, 0x and 16 digits, 13-digit serials, paths below /home) and by name (elements, attributes and words
called serial, uuid, guid, pdi, host, user).  What a site hides behind other names is found by `literals`, once it is known.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable
from typing import NamedTuple

from harness.text.placeholders import ADDRESS, HEX, HOST, SERIAL, USER, UUID, is_absent
from harness.text.suspects import WORD

_HEX8 = rb"[0-9a-fA-F]{8}"
_HEX4 = rb"[0-9a-fA-F]{4}"
_UUID = re.compile(
    rb"(?<![0-9A-Za-z])(?:" + _HEX8 + rb"(?:-" + _HEX4 + rb"){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32})(?![0-9A-Za-z])"
    rb"|(?i:(?:GPU|MIG)-)(" + _HEX8 + rb"(?:-" + _HEX4 + rb"){0,3}(?:-[0-9a-fA-F]{1,12})?)(?![0-9a-zA-Z])"
)
_PREFIX = re.compile(rb"(?i)(?:MIG-)?(?:GPU-)?")
_WIDE = re.compile(rb"(?<![0-9A-Za-z])(?:0[xX][0-9a-fA-F]{16}|(?=[0-9]{0,15}[a-fA-F])[0-9a-fA-F]{16})(?![0-9A-Za-z])")
_SERIAL = re.compile(rb"(?<![0-9A-Za-z.])[0-9]{13}(?![0-9A-Za-z.]| ?[A-Za-z%])")
_HOME = re.compile(
    rb"(?i:(?:[/\\]|%2f|%5c)(?:home|homes|users|documents and settings)(?:[/\\]+|%2f|%5c))"
    rb"(?:([^/\\<>\"':;&|*?%\r\n]+)(?=\\)|([^/\\<>\"':;,&=%\s]+))"
)
_SCRATCH = re.compile(
    rb"(?i)(?<![\w./-])(?:/(?:mnt|nfs|gpfs|pfs|lustre|beegfs|cephfs|weka))?/(?:(?:local|global)[_-]?)?scratch(?:[_-]?(?:local|global|[a-z]?[0-9]{1,3}))?/+"
    rb"([^/\\<>\"':;,&=%\s]+)(?=/)"
)
_SHARED = frozenset(b"apps bin conda containers cuda data dataset datasets env envs lib lib64 miniconda3 models opt shared software tmp venv".split())
"""First components of a scratch folder that are plainly nobody's."""
_SUDO = re.compile(rb"(?<![\w./-])(?:/usr/s?bin/)?(?:sudo|runuser)\s+(?:-[A-Za-z]+\s+){0,4}?(?:-[A-Za-z]*u\s+|-u)([A-Za-z_][A-Za-z0-9_.-]*)")
_TILDE = re.compile(rb"(?<![^\s=:\"'>])~([A-Za-z_][A-Za-z0-9_.-]+)(?=/)")
_MAIL = re.compile(rb"(?<![A-Za-z0-9._%+-])([A-Za-z0-9_][A-Za-z0-9._+-]*)@([A-Za-z][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)*)")
_TEXT = rb"[\"']?\s*([^\s\"'<>(),;&]+)"
_KEYED: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    (
        SERIAL,
        re.compile(rb"(?i)(?:(?<![\w-])[\w-]{0,40}serial[\w-]{0,40}|\bs/n|\bsn|asset[ _-]?tag)(?:[ _-]?(?:number|num|no))?\.?\s*[:=#]\s*" + _TEXT),
    ),
    (SERIAL, re.compile(rb"(?i)(?<![\w<])serial(?:[ _-]?(?:number|num|no))?\.? +(?:is +)?([A-Za-z0-9-]{0,64}[0-9][A-Za-z0-9-]*)")),
    (HEX, re.compile(rb"(?i)(?<![\w-])[\w-]{0,40}(?:guid|pdi)\s*[:=#]?\s*[\"']?(0x[0-9a-f]+|[0-9a-f]{8,16})(?![0-9a-zA-Z-])")),
    (UUID, re.compile(rb"(?i)(?<![\w-])[\w-]{0,40}uuid\s*[:=#]\s*" + _TEXT)),
    (
        HOST,
        re.compile(
            rb"(?i)(?<![A-Za-z0-9])(?:--?)?(?:host|host[ _-]?name|node[ _-]?name|nodename|nodelist|server|master[ _-]?addr)\s*[:=]\s*" + _TEXT
        ),
    ),
    (HOST, re.compile(rb"(?i)(?<![A-Za-z0-9])--(?:host|host-?name|node|server|master[_-]addr)\s+" + _TEXT)),
    (USER, re.compile(rb"(?i)(?<![A-Za-z0-9])(?:--?)?(?:user|user[ _-]?name|logname|login|owner)\s*[:=]\s*" + _TEXT)),
    (USER, re.compile(rb"(?i)(?<![A-Za-z0-9])--(?:user|user-?name|login|owner)\s+" + _TEXT)),
)
_KEYS = re.compile(rb"[:=#]|--|(?i:serial|guid|pdi) ")
_ELEMENT = re.compile(rb"<([A-Za-z_][A-Za-z0-9_.:-]*)[^<>]*>([^<]*)")
_ROW = re.compile(rb"[ \t#]*([A-Z][A-Za-z0-9 ./()-]{0,60}?) +: (.*)")
"""A line of `-q` text: a label, and what stands behind its colon."""
_PROCESS_NAME = b"name"
_NAMED: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    (SERIAL, re.compile(rb"(?i)serial|asset_?tag")),
    (UUID, re.compile(rb"(?i)uuid")),
    (HEX, re.compile(rb"(?i)guid|(?:^|_)pdi$")),
    (HOST, re.compile(rb"(?i)host_?name|node_?name|^host$|^node$")),
    (USER, re.compile(rb"(?i)user_?name|^user$|^owner$|_owner$|_user$|^login$")),
)
_PROCESS = re.compile(rb"(?i)process|command|cmd|arg|path|exe")
_URL = re.compile(rb"(?i)(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,20}://(?:[^/@\s<>\"']{0,200}@)?([a-z0-9][a-z0-9.-]*)")
_SHARE = re.compile(rb"(?<![\\A-Za-z0-9:])\\\\([A-Za-z0-9][A-Za-z0-9.-]*)\\")
_DOMAIN = re.compile(
    rb"(?i)(?<![\w./\\-])[a-z0-9](?:[a-z0-9-]*\.)+(?:com|net|org|edu|gov|mil|io|ai|cloud|local|localdomain|internal|intra|intranet|lan|corp|cluster|private)"
    rb"(?![\w-]|\.[a-z])"
)
_IPV4 = re.compile(rb"(?<![0-9A-Za-z.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9A-Za-z]|\.[0-9A-Za-z])")
_READING = re.compile(rb"(?i)address|mask|bitmap|offset")
_LOCAL = frozenset({b"localhost", b"localhost.localdomain", b"127.0.0.1", b"0.0.0.0", b"root"})
_COUNT = re.compile(rb"[0-9]{1,3}")
"""What a host or user is not called: how many there were (`host: 2` of a sidecar), a rank."""


class Hit(NamedTuple):
    """An identifier of ``family`` in a line: from ``start`` to ``end``, ``value`` between."""

    start: int
    end: int
    family: str
    value: bytes


def find(line: bytes, tag: bytes = b"") -> list[Hit]:
    """The identifiers in ``line``, left to right, none overlapping; ``tag``: the element that a line of bare text stands in.

    Absent and masked values are none.  Only a line that `suspects` names can hold any.
    """
    found: list[Hit] = []
    spans = [(match[1], match.start(2), match.end(2)) for match in _ELEMENT.finditer(line)] or ([(tag, 0, len(line))] if tag else _labelled(line))
    for name, start, end in spans:
        _named(line, name, start, end, found)
    _shaped(line, spans, found)
    for family, pattern in _KEYED if _KEYS.search(line) else ():
        for match in pattern.finditer(line):
            _value(family, match.start(1), match[1], found)
    _names(line, spans, found)
    return _settle(found)


def _labelled(line: bytes) -> list[tuple[bytes, int, int]]:
    """A line of `-q` text as the element it would be: ``Serial Number : ...``, ``Name : ...`` of a process."""
    match = _ROW.fullmatch(line.rstrip(b"\r"))
    if match is None:
        return []
    name = match[1].lower().replace(b" ", b"_")
    return [(b"process_name" if name == _PROCESS_NAME else name, match.start(2), match.end(2))]


def _named(line: bytes, name: bytes, start: int, end: int, found: list[Hit]) -> None:
    """What an element is called says what its text is."""
    text = line[start:end]
    value = text.strip()
    for family, pattern in _NAMED:
        if value and pattern.search(name):
            _value(family, start + text.index(value), value, found)
            return


def _value(family: str, at: int, value: bytes, found: list[Hit]) -> None:
    """The value at ``at`` of something that names itself; a UUID of no known shape, torn or yet to come, is replaced as a serial is."""
    if family != UUID:
        found.append(Hit(at, at + len(value), family, value))
    elif not _UUID.search(value):
        prefix = _PREFIX.match(value)
        skip = prefix.end() if prefix else 0
        if len(value) - skip >= 6 and not is_absent(value):
            found.append(Hit(at + skip, at + len(value), SERIAL, value[skip:]))


def _shaped(line: bytes, spans: list[tuple[bytes, int, int]], found: list[Hit]) -> None:
    for match in _UUID.finditer(line):
        group = 1 if match[1] else 0
        found.append(Hit(match.start(group), match.end(group), UUID, match[group]))
    starts = [start for _, start, _ in spans]
    for family, pattern in ((HEX, _WIDE), (SERIAL, _SERIAL)):
        for match in pattern.finditer(line):
            place = bisect.bisect_right(starts, match.start()) - 1
            if place < 0 or match.start() >= spans[place][2] or not _READING.search(spans[place][0]):
                found.append(Hit(match.start(), match.end(), family, match.group()))


def _names(line: bytes, spans: list[tuple[bytes, int, int]], found: list[Hit]) -> None:
    """User and host names: in paths and addresses anywhere, in URLs, shares and domains in what processes are called."""
    for match in _HOME.finditer(line):
        group = 1 if match[1] else 2
        found.append(Hit(match.start(group), match.end(group), USER, match[group]))
    for pattern in (_SCRATCH, _TILDE, _SUDO):
        found.extend(Hit(match.start(1), match.end(1), USER, match[1]) for match in pattern.finditer(line) if match[1].lower() not in _SHARED)
    for match in _MAIL.finditer(line):
        found.append(Hit(match.start(1), match.end(1), USER, match[1]))
        found.append(Hit(match.start(2), match.end(2), HOST, match[2]))
    for name, start, end in spans:
        if not _PROCESS.search(name):
            continue
        for pattern, group in ((_URL, 1), (_SHARE, 1), (_DOMAIN, 0)):
            found.extend(Hit(match.start(group), match.end(group), HOST, match[group]) for match in pattern.finditer(line, start, end))
        found.extend(Hit(match.start(), match.end(), ADDRESS, match.group()) for match in _IPV4.finditer(line, start, end))


def _settle(found: list[Hit]) -> list[Hit]:
    """Left to right, the longer one first; what overlaps it, and what names nobody, left out.  A port or dot at the end is not part of a name."""
    out: list[Hit] = []
    last = 0
    for hit in sorted(found, key=lambda hit: (hit.start, -hit.end)):
        kept = _trim(hit)
        nobody = kept.value.lower() in _LOCAL or (kept.family in (HOST, USER) and _COUNT.fullmatch(kept.value))
        if kept.start < last or nobody or is_absent(kept.value):
            continue
        out.append(kept)
        last = kept.end
    return out


def _trim(hit: Hit) -> Hit:
    if hit.family not in {USER, HOST}:
        return hit
    value = re.sub(rb"(?::[0-9]*)?(?:[/\\].*)?$", b"", hit.value, count=1).rstrip(b".")
    family = ADDRESS if hit.family == HOST and _IPV4.fullmatch(value) else hit.family
    return Hit(hit.start, hit.start + len(value), family, value)


_STOP = frozenset(
    b"active addressing all application auto build clock compute data default disabled enabled error file gpu graphics home host idle info local log"
    b" main memory model name node none not nvidia off output path pending power process product python requested root run server state supported"
    b" system temp tesla test tmp train unknown user users value worker yes".split()
)


class Literals:
    """Identifiers known from elsewhere, found wherever they stand as whole words, in any letter case.

    Numbers shorter than six characters, names shorter than three and words of nvidia-smi's own vocabulary are too common to be told.
    """

    def __init__(self, values: Iterable[tuple[str, bytes]]) -> None:
        self.families: dict[bytes, str] = {}
        self.words: set[bytes] = set()
        for family, value in values:
            plain = value.lower()
            short = 3 if family in {USER, HOST} else 6
            word = WORD.match(plain)
            if word and len(plain) >= short and plain not in _STOP and plain not in _LOCAL:
                self.families.setdefault(plain, family)
                self.words.add(word.group())

    def find(self, line: bytes) -> list[Hit]:
        """The known values in ``line``, the longest first where several start at one place."""
        plain = line.lower()
        words = list(WORD.finditer(plain))
        found: list[Hit] = []
        for place, word in enumerate(words):
            if word.group() not in self.words:
                continue
            for last in words[place : place + _LONGEST][::-1]:
                family = self.families.get(plain[word.start() : last.end()])
                if family is not None:
                    found.append(Hit(word.start(), last.end(), family, line[word.start() : last.end()]))
                    break
        return found


_LONGEST = 8
"""The most words one identifier has; a UUID has five."""
