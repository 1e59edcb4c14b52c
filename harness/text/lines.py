"""One line of a `-q -x` text: what it is, without looking at its neighbours.

nvidia-smi writes an element a line; `classify` knows those lines.  Everything else is COMPLEX and left to the scanner's tokenizer.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from harness.text import escapes
from harness.text.model import PLAIN

OPEN = 0
CLOSE = 1
LEAF = 2
CLOSED = 3
TEXT = 4
BLANK = 5
COMPLEX = 6

NAME = r"[A-Za-z_][A-Za-z0-9_.-]*"
_ATTRIBUTE = rf' {NAME}="[^"<&\n]*"'
_OPEN = re.compile(rf"([ \t]*)<({NAME})((?:{_ATTRIBUTE})*)>")
_CLOSE = re.compile(rf"([ \t]*)</({NAME})>")
_LEAF = re.compile(rf"([ \t]*)<({NAME})>([^<]*)</\2>")
_CLOSED = re.compile(rf"([ \t]*)<({NAME})( ?/>)")
_TEXT = re.compile(r"([ \t]*)([^<&\s](?:[^<&]*[^<&\s])?)")
_PAIRS = re.compile(rf' ({NAME})="([^"]*)"')


class Line(NamedTuple):
    """``kind`` of a line, its ``indent``, ``tag``, ``text`` (unescaped; of CLOSED: how it ends), ``escape`` style, ``attributes``; ``loose``
    says that the text should have been escaped and was not.
    """

    kind: int
    indent: str = ""
    tag: str = ""
    text: str = ""
    escape: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    loose: bool = False


_BLANK_LINE = Line(BLANK)
_COMPLEX_LINE = Line(COMPLEX)


def classify(line: str) -> Line:
    """What ``line`` (without its line end) is; one that fits no form of nvidia-smi's is COMPLEX."""
    if not line:
        return _BLANK_LINE
    match = _LEAF.fullmatch(line)
    if match:
        indent, tag, raw = match.groups()
        text, style = escapes.classify(raw)
        return Line(LEAF, indent, tag, text, style, (), style == PLAIN and escapes.is_loose(raw))
    match = _OPEN.fullmatch(line)
    if match:
        indent, tag, pairs = match.groups()
        attributes = tuple(_PAIRS.findall(pairs))
        if len(dict(attributes)) < len(attributes):
            return _COMPLEX_LINE
        return Line(OPEN, indent, tag, attributes=attributes)
    match = _CLOSE.fullmatch(line)
    if match:
        return Line(CLOSE, match[1], match[2])
    match = _CLOSED.fullmatch(line)
    if match:
        return Line(CLOSED, match[1], match[2], match[3])
    match = _TEXT.fullmatch(line)
    if match and "]]>" not in line:
        return Line(TEXT, match[1], text=match[2])
    return _COMPLEX_LINE


def attributes_text(attributes: dict[str, str]) -> str:
    """Attributes as nvidia-smi writes them, a blank before each."""
    return "".join(f' {name}="{escapes.escape(value, "minimal")}"' for name, value in attributes.items())
