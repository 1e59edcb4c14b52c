"""Values inside the text of a recording: JSON without spaces <-> what the binding takes and gives (int, float, str, bytes, Gpu, lists, structs)."""

from __future__ import annotations

import json
import math
from typing import Any

from harness.words.errors import InputError
from mocklib.answers import Gpu

DEPTH_LIMIT = 12
"""Braces and brackets inside each other; a struct in a list in a struct in a list is 5."""
SMALLEST, LARGEST = -(1 << 63), (1 << 64) - 1
"""A number of NVML is at most 64 bits wide, signed or not."""
NUMBER_LENGTH = 40
"""Characters of a number: 20 digits of an integer, 24 of a double."""


def text(values: dict[str, Any]) -> str:
    """Arguments, or what was written, as JSON; ValueError for a value that no answer can have."""
    return json.dumps(_plain(values, 1), separators=(",", ":"), allow_nan=False)


def _plain(value: Any, depth: int) -> Any:
    """A value as JSON's types have it."""
    if depth > DEPTH_LIMIT:
        raise ValueError(f"a value of an answer has at most {DEPTH_LIMIT} levels")
    if isinstance(value, Gpu):
        return {"gpu": value.index}
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, dict):
        if len(value) == 1 and value.keys() <= {"gpu", "hex"} and depth > 1:
            raise ValueError("a struct whose one member is called gpu or hex has no text of its own")
        return {name: _plain(member, depth + 1) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, str) and _sound(value):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and SMALLEST <= value <= LARGEST:
        return value
    if isinstance(value, float):
        return value
    raise ValueError(f"{value!r} is no value of an answer: integers of 64 bits, texts, bytes, handles, lists and structs are")


def read(line: str, place: int, where: str, *, floats: bool) -> tuple[dict[str, Any], int]:
    """The JSON object at ``place`` of ``line`` and where it ends; InputError, which says ``where``, for anything that ``text`` does not write.

    ``floats``: what a call writes may hold doubles, lists and structs; an argument is a number, a text or a handle.
    """
    try:
        found, end = _DECODER.raw_decode(line, place)
    except RecursionError:
        raise InputError(f"{where}: more than {DEPTH_LIMIT} braces and brackets inside each other") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: column {error.pos + 1}: no JSON ({error.msg})") from None
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f'{where}: arguments and answers stand in braces, as {{"name":1}}')
    values = {name: _value(value, name, 2, where) for name, value in found.items()}
    if not floats:
        for name, value in values.items():
            if not isinstance(value, int | str | Gpu):
                raise InputError(f"{where}: argument {name!r} is neither an integer, a text nor a handle")
    return values, end


def _value(value: Any, name: str, depth: int, where: str) -> Any:
    """A value of JSON as the binding has it."""
    if depth > DEPTH_LIMIT:
        raise InputError(f"{where}: {name!r}: more than {DEPTH_LIMIT} braces and brackets inside each other")
    if value is None or isinstance(value, bool):
        raise InputError(f"{where}: {name!r} is {json.dumps(value)}; a value is a number, a text, bytes, a handle, a list or a struct")
    if isinstance(value, dict):
        if value.keys() == {"gpu"}:
            return _gpu(value["gpu"], name, where)
        if value.keys() == {"hex"}:
            return _bytes(value["hex"], name, where)
        return {member: _value(inner, member, depth + 1, where) for member, inner in value.items()}
    if isinstance(value, list):
        return [_value(item, name, depth + 1, where) for item in value]
    if isinstance(value, str) and not _sound(value):
        raise InputError(f"{where}: {name!r} is no text of a C string: it holds NUL or a surrogate that stands for no byte")
    return value


def _gpu(index: Any, name: str, where: str) -> Gpu:
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < 1 << 16:
        raise InputError(f'{where}: {name!r}: {{"gpu":N}} holds the index of a GPU')
    return Gpu(index)


def _bytes(digits: Any, name: str, where: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except (TypeError, ValueError):
        raise InputError(f'{where}: {name!r}: {{"hex":"..."}} holds pairs of hexadecimal digits') from None


def _sound(value: str) -> bool:
    """Whether a text is what the bytes of a C string read as: no NUL, and each surrogate one byte that is not UTF-8."""
    if value.isascii():
        return "\0" not in value
    try:
        return "\0" not in value and value.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") == value
    except UnicodeEncodeError:
        return False


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for name, _ in pairs if sum(name == other for other, _ in pairs) > 1)
        raise ValueError(f"{twice[:80]!r} stands twice in one pair of braces")
    return found


def _integer(digits: str) -> int:
    number = int(digits) if len(digits) <= NUMBER_LENGTH else LARGEST + 1
    if not SMALLEST <= number <= LARGEST:
        raise ValueError(f"the number {digits[:NUMBER_LENGTH]} has more than 64 bits")
    return number


def _double(digits: str) -> float:
    number = float(digits) if len(digits) <= NUMBER_LENGTH else math.inf
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:NUMBER_LENGTH]} is no double")
    return number


def _constant(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON; a double that is not finite is written as its bytes")


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_int=_integer, parse_float=_double, parse_constant=_constant)
