r"""Values as words of a transcript's line: as they stand where that is clear, else in double quotes.

In quotes, ``\xNN`` is a byte that is not UTF-8 (`rawbytes`), ``\uNNNN`` and ``\UNNNNNNNN`` a character that does not print.
"""

from __future__ import annotations

import re

BAR = " | "
"""What stands between the values of several GPUs on one line."""

_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LONG = {"\\": "\\", '"': '"', "n": "\n", "t": "\t", "r": "\r"}
_ESCAPED = re.compile(r'\\(?:([\\"ntr])|x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))')
_SPECIAL_FIRST = frozenset('"[<~{')
STYLED = re.compile(r'(plain|minimal) "')


def quote(text: str) -> str:
    """``text`` in double quotes."""
    return '"' + "".join(_spell(char) for char in text) + '"'


def _spell(char: str) -> str:
    short = _SHORT.get(char)
    if short:
        return short
    if char.isprintable():
        return char
    code = ord(char)
    if 0xF700 <= code <= 0xF7FF:
        return f"\\x{code & 0xFF:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def unquote(word: str) -> str:
    """The text of ``word``, a string in double quotes.  Raises ValueError, saying what is wrong, for another word."""
    if len(word) < 2 or word[0] != '"' or word[-1] != '"':
        raise ValueError(f"{word[:60]} is not in double quotes")
    inner = word[1:-1]
    out: list[str] = []
    position = 0
    while position < len(inner):
        at = inner.find("\\", position)
        if at < 0:
            break
        match = _ESCAPED.match(inner, at)
        if match is None:
            raise ValueError(f'{inner[at : at + 10]} is no escape (known: \\\\ \\" \\n \\t \\r \\xNN \\uNNNN \\UNNNNNNNN)')
        out.append(inner[position:at])
        out.append(_character(match))
        position = match.end()
    out.append(inner[position:])
    return "".join(out)


def _character(match: re.Match[str]) -> str:
    short, byte, four, eight = match.groups()
    if short:
        return _LONG[short]
    if byte:
        return chr(0xF700 + int(byte, 16))
    code = int(four or eight, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"{match.group()} is no character")
    return chr(code)


def word(text: str) -> str:
    """``text`` as a word of a line: as it stands where nothing in it has a meaning there, else quoted."""
    plain = (
        text and text.isprintable() and "|" not in text and '"' not in text and text[0] not in _SPECIAL_FIRST and text[0] != " " and text[-1] != " "
    )
    return text if plain else quote(text)


def value(token: str) -> str:
    """The text of a word that `word` made."""
    return unquote(token) if token.startswith('"') else token


def split(line: str) -> list[str]:
    """The words of ``line`` between bars; a bar inside quotes parts nothing."""
    if '"' not in line:
        return line.split(BAR)
    words: list[str] = []
    position = 0
    while True:
        end = _word_end(line, position)
        words.append(line[position:end])
        if end == len(line):
            return words
        position = end + len(BAR)


def _word_end(line: str, position: int) -> int:
    """Where the word that starts at ``position`` ends: at a bar outside quotes, or at the end of the line."""
    inside = False
    while position < len(line):
        char = line[position]
        if inside and char == "\\":
            position += 1
        elif char == '"':
            inside = not inside
        elif not inside and line.startswith(BAR, position):
            return position
        position += 1
    return len(line)
