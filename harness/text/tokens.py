"""Tokens of the lines that are not in nvidia-smi's forms: comments, several elements a line, text over lines, odd attributes.

A region starts at a line and ends with the first token that ends a line, so the caller goes on line by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from harness.text import escapes
from harness.words.errors import InputError

COMMENT = "comment"
INSTRUCTION = "instruction"
DOCTYPE = "doctype"
OPEN = "open"
CLOSE = "close"
CLOSED = "closed"
TEXT = "text"

_NAME = r"[^\s<>/=!?\"'&]+"
_ATTRIBUTE = rf"\s+{_NAME}\s*=\s*(?:\"[^\"<]*\"|'[^'<]*')"
_TOKEN = re.compile(
    rf"(?P<text>[^<\n]+\n?|\n)|(?P<close></(?P<closing>{_NAME})\s*>)|(?P<open><(?P<tag>{_NAME})(?P<pairs>(?:{_ATTRIBUTE})*)(?P<end>\s*/?>))"
    r"|(?P<comment><!--(?s:.*?)-->)|(?P<cdata><!\[CDATA\[(?P<inner>(?s:.*?))\]\]>)|(?P<instruction><\?(?s:.*?)\?>)|(?P<doctype><!DOCTYPE[^<>\[]*>)"
)
_PAIR = re.compile(rf"({_NAME})\s*=\s*(?:\"([^\"<]*)\"|'([^'<]*)')")
_WHOLE = re.compile(rf"([ \t]*)<({_NAME})>(.*)</\2>")
_MARKUP = re.compile(r"<[/!?]")
_DTD_NAME = re.compile(r"<!DOCTYPE\s+\S+\s+SYSTEM\s+[\"']([A-Za-z0-9_.-]{1,64})[\"']\s*>")


class Token(NamedTuple):
    """``kind``, the ``tag`` or file name of the DTD, the ``text`` (unescaped), ``attributes``, and how many line ends it spans."""

    kind: str
    tag: str = ""
    text: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    newlines: int = 0


def region(text: str, start: int, name: str, line: int) -> Iterator[Token]:
    """The tokens of ``text`` from offset ``start``, the begin of line ``line`` (1-based), to the first token that ends a line.

    Raises InputError naming the line for `<` that starts no tag, entity declarations and constructs cut off by the end of the file.
    """
    position = start
    size = len(text)
    while position < size:
        match = _TOKEN.match(text, position)
        if match is None:
            raise _refusal(text, position, name, line)
        token = _token(match)
        position = match.end()
        line += token.newlines
        yield token
        if text[position - 1] == "\n":
            return


def whole_leaf(line: str) -> tuple[str, str, str] | None:
    """Indent, tag and text of a line `<tag>A <b & C</tag>` whose text is no XML: a name that was printed without escapes.

    None for a line of another form, and for one whose content is markup: elements, the end of one, a comment, a declaration.
    """
    match = _WHOLE.fullmatch(line)
    if match is None or "<" not in match[3] or _MARKUP.search(match[3]) or _well_formed(match[3]):
        return None
    return match[1], match[2], match[3]


def _well_formed(content: str) -> bool:
    """Does ``content`` hold balanced elements, comments or CDATA only?"""
    position, stack = 0, list[str]()
    while position < len(content):
        match = _TOKEN.match(content, position)
        if match is None:
            return False
        if match["open"] and not match["end"].endswith("/>"):
            stack.append(match["tag"])
        elif match["close"] and (not stack or stack.pop() != match["closing"]):
            return False
        position = match.end()
    return not stack


def _token(match: re.Match[str]) -> Token:
    kind = match.lastgroup
    if match["text"]:
        raw = match["text"]
        return Token(TEXT, text=raw if escapes.is_loose(raw) else escapes.unescape(raw), newlines=raw.count("\n"))
    newlines = match.group().count("\n")
    if match["close"]:
        return Token(CLOSE, match["closing"], newlines=newlines)
    if match["open"]:
        closed = match["end"].endswith("/>")
        return Token(CLOSED if closed else OPEN, match["tag"], match["end"] if closed else "", _attributes(match["pairs"]), newlines)
    if match["cdata"]:
        return Token(TEXT, text=match["inner"], newlines=newlines)
    if match["doctype"]:
        named = _DTD_NAME.fullmatch(match["doctype"])
        return Token(DOCTYPE, named[1] if named else "", match["doctype"], newlines=newlines)
    return Token(COMMENT if match["comment"] else INSTRUCTION, kind or "", match.group(), newlines=newlines)


def _attributes(pairs: str) -> tuple[tuple[str, str], ...]:
    """Name and value of each attribute, white space in a value as an XML parser normalizes it."""
    found = _PAIR.findall(pairs)
    return tuple((name, escapes.unescape(re.sub(r"[\t\n\r]", " ", double or single))) for name, double, single in found)


def _refusal(text: str, position: int, name: str, line: int) -> InputError:
    rest = text[position : position + 64]
    if rest.startswith("<!ENTITY") or re.match(r"<!DOCTYPE[^<>]*\[", text[position : position + 4096]):
        return InputError(f"{name}:{line}: entity declarations, which nvidia-smi never writes (an XML bomb?); the file is refused")
    shown = rest.split("\n", 1)[0][:40]
    if ">" not in text[position:] or rest.startswith(("<!--", "<![CDATA[", "<?")):
        return CutError(f"{name}:{line}: the file ends inside {shown!r}")
    return InputError(f"{name}:{line}: {shown!r} is no XML tag and no escaped text; repair the line or capture again")


class CutError(InputError):
    """The file ends inside a tag or comment; the scanner adds which element was open."""
