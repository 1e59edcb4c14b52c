"""What stands in place of an identifier: the same length and shape, a number in order of first appearance, and plainly no real value.

A value that already is such a placeholder stays, so a scrubbed text is scrubbed to itself.
"""

from __future__ import annotations

import functools
import re

from harness.tables import drivers
from mocklib.answers import RETURN_CODES

UUID = "uuid"
SERIAL = "serial"
HEX = "hex"
USER = "user"
HOST = "host"
ADDRESS = "address"
FAMILIES = (UUID, SERIAL, HEX, USER, HOST, ADDRESS)
"""Values of one family share one count: a GPU's UUID is the same in `MIG-GPU-<uuid>/1/0`, a fabric GUID may be a PDI."""

LIMIT = 0xFFFFFF
"""The highest number a placeholder carries."""
_SURE = 6
"""Serials shorter than this cannot be told from their placeholders."""

_MASKED = re.compile(rb"redacted|removed|masked|hidden|elided|anonymi[sz]ed|\.\.\.|\xe2\x80\xa6|[*?#]{2}|x{3}", re.IGNORECASE)
_ABSENT = frozenset(
    {b"", b"n/a", b"[n/a]", b"none", b"null", b"unknown", b"not supported", b"[not supported]", b"unknown error", b"err!", b"missing"}
)
_DIGIT = re.compile(rb"[0-9]")
_NAME = {USER: b"user", HOST: b"host"}


def is_absent(value: bytes) -> bool:
    """Is ``value`` no identifier: N/A and its like, a state, empty, zeros only, or hidden by whoever gave the file (XXXX, redacted, ...)?"""
    plain = value.strip().lower()
    if plain in _ABSENT or _MASKED.search(plain):
        return True
    if value[:1].isupper() and not _DIGIT.search(plain) and plain in _states():
        return True
    bare = plain.removeprefix(b"0x").removeprefix(b"mig-").removeprefix(b"gpu-")
    letters = set(bare) - set(b"0-:. ")
    return not letters or (b"0" not in bare and letters <= {b"x"[0], b"y"[0], b"z"[0]})


@functools.cache
def _states() -> frozenset[bytes]:
    """What drivers print in place of a value they cannot give (a serial that is not permitted) and the names of NVML's codes, in lower case."""
    tree = drivers.load()
    printed = {text for version in tree.versions() for text in tree.resolve(version).texts.values()}
    return frozenset(text.lower().encode() for text in {*printed, *RETURN_CODES.values()})


def canonical(family: str, value: bytes) -> bytes:
    """The spelling under which ``value`` is known: letter case and, for UUIDs and hexadecimal numbers, dashes and prefix left out."""
    plain = value.lower()
    if family == UUID:
        return plain.removeprefix(b"mig-").removeprefix(b"gpu-").replace(b"-", b"")
    return plain.removeprefix(b"0x") if family == HEX else plain


def make(family: str, value: bytes, number: int) -> bytes:
    """The placeholder of ``number`` in the shape of ``value``."""
    if family in {UUID, HEX}:
        return _hexadecimal(value, number, whole=family == UUID)
    if family in _NAME:
        return _name(_NAME[family], value, number)
    return _counted(value, number)


def number_of(family: str, value: bytes) -> int | None:
    """The number of the placeholder ``value``; None where it is none, or too short to tell."""
    if family in _NAME:
        match = re.fullmatch(rb"(" + b"|".join(_NAME[family][:size] for size in range(4, 0, -1)) + rb")(0{0,4096}[0-9]{1,9})(?:\.[x0.-]*)?", value)
        return int(match[2]) if match and 0 < int(match[2]) <= LIMIT else None
    number = _read(family, value)
    if not number or number > LIMIT or make(family, value, number) != value:
        return None
    return number if _half_empty(family, canonical(family, value)) else None


def _half_empty(family: str, plain: bytes) -> bool:
    """Is the first half of what counts in ``plain`` nought?  In a real value that is no accident, unless it is too short to tell."""
    places = [char for char in plain if chr(char).isalnum()]
    if family == UUID:
        return len(places) == 32 or plain.startswith(b"0000")
    return len(places) >= (_SURE if family == SERIAL else 4) and all(chr(char) in "0g" for char in places[: (len(places) + 1) // 2])


def _read(family: str, value: bytes) -> int | None:
    if family == UUID:
        head = canonical(UUID, value)[:8]
        return int(head, 16) if re.fullmatch(rb"[0-9a-f]{8}", head) else None
    if family == HEX:
        digits = canonical(HEX, value)
        return int(digits, 16) if re.fullmatch(rb"[0-9a-f]{1,32}", digits) else None
    number, radix = 0, 1
    for char in reversed(value):
        letters = _alphabet(char)
        number, radix = number + max(letters.find(char), 0) * radix, radix * len(letters)
        if radix > LIMIT * 1000:
            break
    return number


def _hexadecimal(value: bytes, number: int, *, whole: bool) -> bytes:
    """Hexadecimal digits of ``value`` replaced by ``number``: right-aligned; of a UUID in its first eight and its last twelve digits."""
    prefix = re.match(rb"(?i)(?:mig-)?(?:gpu-)?(?:0x)?", value)
    head = prefix.group() if prefix else b""
    rest = value[len(head) :]
    digits = [place for place, char in enumerate(rest) if char in b"0123456789abcdefABCDEF"]
    if whole and len(digits) >= 8:
        text = b"%08x" % number + b"0" * (len(digits) - 8)
        text = text[:20] + b"%012x" % number if len(digits) == 32 else text
    else:
        text = b"%0*x" % (len(digits), number)
    if re.search(rb"[A-F]", rest) and not re.search(rb"[a-f]", rest):
        text = text.upper()
    if len(text) > len(digits):
        return head + text
    out = bytearray(rest)
    for place, char in zip(digits, text, strict=True):
        out[place] = char
    return head + bytes(out)


def _name(word: bytes, value: bytes, number: int) -> bytes:
    """``user001`` in the length of ``value``; of a dotted host name the first label counts, the others keep their shape."""
    first, dot, rest = value.partition(b".")
    digits = str(number).encode()
    stem = word[: max(1, min(len(word), len(first) - len(digits)))]
    return stem + digits.zfill(len(first) - len(stem)) + dot + re.sub(rb"[^.\-x0]", b"x", re.sub(rb"[0-9]", b"0", rest))


_DIGITS = b"0123456789"
_LOWER = b"ghijklmnopqrstuvw"
_UPPER = _LOWER.upper()
"""Letters of placeholders: none of a hexadecimal number, and no x, which masks."""


def _alphabet(char: int) -> bytes:
    """What may stand in the place of ``char``: digits for a digit, letters for a letter, itself otherwise."""
    if chr(char).isascii() and chr(char).isalnum():
        return _DIGITS if chr(char).isdigit() else _UPPER if chr(char).isupper() else _LOWER
    return bytes([char])


def _counted(value: bytes, number: int) -> bytes:
    """``number`` counted through the places of ``value``: digits stay digits, letters letters, the rest stays; longer where it must."""
    out = bytearray(value)
    for place in range(len(out) - 1, -1, -1):
        letters = _alphabet(out[place])
        number, digit = divmod(number, len(letters))
        out[place] = letters[digit]
    return bytes(out) if not number else str(number).encode() + bytes(out)
