"""The layout of a document as one line of a transcript's header, and back."""

from __future__ import annotations

import re
from collections.abc import Callable

from harness.text import quoting
from harness.text.model import Layout
from harness.words.errors import did_you_mean

OWN = "own"
_NONE = "-"
_YES_NO = {"yes": True, "no": False}
_EOL = {"lf": "\n", "crlf": "\r\n"}
_EOL_NAMES = {end: name for name, end in _EOL.items()}
_PAIR = re.compile(r'([a-z]+)=((?:"(?:[^"\\]|\\.)*"|[^" ,]+)(?:,(?:"(?:[^"\\]|\\.)*"|[^" ,]+))*)(?: |$)')
_ITEM = re.compile(r'"(?:[^"\\]|\\.)*"|[^" ,]+')
_BLANKS = re.compile(r"([0-9]{1,3})(t?)")
_MAX_LEVELS = 64


def blanks_word(blanks: str) -> str:
    """White space as a word: ``4`` for four blanks, ``1t`` for a tab, quoted otherwise."""
    if blanks == " " * len(blanks):
        return str(len(blanks))
    return f"{len(blanks)}t" if blanks == "\t" * len(blanks) else quoting.quote(blanks)


def parse_blanks(word: str) -> str:
    """The white space of ``word``.  Raises ValueError."""
    match = _BLANKS.fullmatch(word)
    blanks = ("\t" if match[2] else " ") * int(match[1]) if match else quoting.unquote(word)
    if blanks.strip(" \t"):
        raise ValueError(f"{word[:40]} is no white space")
    return blanks


def layout_line(layout: Layout) -> str:
    """``own`` for nvidia-smi's layout, else what differs from it as ``key=value`` pairs."""
    own = Layout()
    parts: list[str] = []
    if layout.unit != own.unit:
        parts.append(f"unit={blanks_word(layout.unit)}")
    if layout.indents:
        parts.append(f"indents={','.join(blanks_word(indent) for indent in layout.indents)}")
    if layout.eol != own.eol:
        parts.append(f"eol={_EOL_NAMES[layout.eol]}")
    if layout.declaration != own.declaration:
        parts.append(f"declaration={_NONE if layout.declaration is None else quoting.quote(layout.declaration)}")
    if not layout.gap:
        parts.append("gap=no")
    if layout.end != own.end:
        parts.append(f"end={layout.end}")
    if layout.bom:
        parts.append("bom=yes")
    if layout.closing != own.closing:
        parts.append(f"closing={quoting.quote(layout.closing)}")
    return " ".join(parts) or OWN


def parse_layout(line: str) -> Layout:
    """The layout that `layout_line` wrote as ``line``.  Raises ValueError, saying what is wrong."""
    layout = Layout()
    if line == OWN:
        return layout
    for key, value in pairs(line).items():
        setter = _SETTERS.get(key)
        if setter is None:
            raise ValueError(f"{key!r} is no key of a layout{did_you_mean(key, _SETTERS)}; known: {', '.join(_SETTERS)}")
        setter(layout, value)
    return layout


def pairs(line: str) -> dict[str, str]:
    """``key=value`` pairs of ``line``.  Raises ValueError."""
    found: dict[str, str] = {}
    position = 0
    while position < len(line):
        match = _PAIR.match(line, position)
        if match is None or match[1] in found:
            raise ValueError(f"{line[position : position + 40]!r} is no `key=value` of a layout, or stands twice")
        found[match[1]] = match[2]
        position = match.end()
    return found


def items(value: str) -> list[str]:
    """The words between the commas of ``value``.  Raises ValueError for more than any layout has."""
    words = _ITEM.findall(value)
    if len(words) > _MAX_LEVELS:
        raise ValueError(f"{value[:40]}...: more than {_MAX_LEVELS} of them")
    return words


def yes_no(word: str) -> bool:
    """True for ``yes``, False for ``no``.  Raises ValueError."""
    if word not in _YES_NO:
        raise ValueError(f"{word[:40]!r} is neither yes nor no")
    return _YES_NO[word]


def line_end(word: str) -> str:
    """The line end of ``lf`` or ``crlf``.  Raises ValueError."""
    if word not in _EOL:
        raise ValueError(f"{word[:40]!r} is neither lf nor crlf")
    return _EOL[word]


def line_ends(word: str) -> int:
    """How many line ends end a text, 0 to 9.  Raises ValueError."""
    if len(word) != 1 or word not in "0123456789":
        raise ValueError(f"end={word[:40]}: 0 to 9 line ends")
    return int(word)


def _unit(layout: Layout, value: str) -> None:
    layout.unit = parse_blanks(value)


def _indents(layout: Layout, value: str) -> None:
    layout.indents = tuple(parse_blanks(word) for word in items(value))


def _eol(layout: Layout, value: str) -> None:
    layout.eol = line_end(value)


def _declaration(layout: Layout, value: str) -> None:
    layout.declaration = None if value == _NONE else quoting.unquote(value)


def _gap(layout: Layout, value: str) -> None:
    layout.gap = yes_no(value)


def _end(layout: Layout, value: str) -> None:
    layout.end = line_ends(value)


def _bom(layout: Layout, value: str) -> None:
    layout.bom = yes_no(value)


def _closing(layout: Layout, value: str) -> None:
    layout.closing = quoting.unquote(value)


_SETTERS: dict[str, Callable[[Layout, str], None]] = {
    "unit": _unit,
    "indents": _indents,
    "eol": _eol,
    "declaration": _declaration,
    "gap": _gap,
    "end": _end,
    "bom": _bom,
    "closing": _closing,
}
