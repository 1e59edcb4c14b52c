"""Bytes to text and back without loss: a copy that any XML parser accepts, in which every odd byte stands as one private-use character.

A byte b that is no part of valid UTF-8, or is a character XML forbids (controls, U+FFFE, U+FFFF), or a carriage return without a line
feed, becomes U+F700 + b.  Characters of that range that a file truly holds are taken apart the same way, so the mapping has an inverse.
nvidia-smi passes such bytes through in process names (spec: names are raw bytes of the driver).
"""

from __future__ import annotations

import re

_BASE = 0xF700
_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\udc80-\udcff\uf700-\uf7ff\ufffe\uffff]|\r(?!\n)")
_CLEAR = bytes([0x09, 0x0A, *range(0x20, 0x80)])
_RAW = re.compile("[\uf700-\uf7ff]")


def _spell(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return chr(_BASE + (code & 0xFF))
    if code < 0x20:
        return chr(_BASE + code)
    return "".join(chr(_BASE + byte) for byte in char.encode())


def decode(data: bytes) -> str:
    """The text of ``data``; total, and `encode` gives ``data`` back."""
    if not data.translate(None, _CLEAR):
        return data.decode("ascii")
    return _ODD.sub(_spell, data.decode("utf-8", "surrogateescape"))


def encode(text: str) -> bytes:
    """The bytes of ``text``; the inverse of `decode`."""
    if not _RAW.search(text):
        return text.encode()
    parts = _RAW.split(text)
    odd = [bytes([ord(char) - _BASE]) for char in _RAW.findall(text)]
    out = [parts[0].encode()]
    for byte, part in zip(odd, parts[1:], strict=True):
        out.append(byte)
        out.append(part.encode())
    return b"".join(out)


def has_odd_bytes(text: str) -> bool:
    """Does ``text`` hold bytes that are not plain UTF-8 text?"""
    return _RAW.search(text) is not None
