"""How the text of an element is written between its tags, and read back.

nvidia-smi writes five entities in process names and none in product names (seen in the binaries); XML tools write three.
"""

from __future__ import annotations

import re

from harness.text.model import FULL, MINIMAL, PLAIN

_SPECIAL = re.compile(r"[&<>\"']")
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6}));")
_LOOSE = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)|<|]]>")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_FULL = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})
_MINIMAL = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def escape(text: str, style: str) -> str:
    """``text`` as it stands between tags; ``style`` is FULL, MINIMAL or PLAIN."""
    if style == PLAIN or not _SPECIAL.search(text):
        return text
    return text.translate(_FULL if style == FULL else _MINIMAL)


def unescape(raw: str) -> str:
    """``raw`` with entities and character references resolved; others are left as they stand."""
    return _ENTITY.sub(_resolve, raw) if "&" in raw else raw


def _resolve(match: re.Match[str]) -> str:
    name, decimal, hexadecimal = match.groups()
    if name:
        return _NAMED[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    legal = code in {0x9, 0xA, 0xD} or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF
    return chr(code) if legal else match.group()


def is_loose(raw: str) -> bool:
    """Does ``raw`` hold a character that XML wants escaped: the name of a board printed as it is?"""
    return _LOOSE.search(raw) is not None


def classify(raw: str) -> tuple[str, str]:
    """Text and style of ``raw``.

    The style is the first of FULL, MINIMAL, PLAIN that writes ``raw`` again; FULL where none does (such a line is kept verbatim).
    """
    if not _SPECIAL.search(raw):
        return raw, FULL
    if is_loose(raw):
        return raw, PLAIN
    text = unescape(raw)
    for style in (FULL, MINIMAL, PLAIN):
        if escape(text, style) == raw:
            return text, style
    return text, FULL
