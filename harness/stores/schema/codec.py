"""Profile value <-> NVML's value for one key: the step between a row's format and an image field, invertible for every kind."""

from __future__ import annotations

import datetime
import re
from typing import Any

from harness.stores.schema.keys import Key
from harness.words.errors import InputError

NOT_AVAILABLE = "N/A"
"""A text value of the configuration reference that stands for no value: the key answers NOT_SUPPORTED."""


def to_profile(key: Key, raw: int | str) -> Any:
    """The value a profile holds for NVML's ``raw``; InputError when the kind cannot hold it."""
    if key.kind in ("word", "mode", "flag", "health_flag"):
        return _word_of(key, int(raw))
    if key.kind in ("uint", "int"):
        value, rest = divmod(int(raw), key.scale)
        if rest:
            raise InputError(f"{key.path}: {raw} is no multiple of {key.scale}")
        if key.kind == "uint" and value < 0:
            raise InputError(f"{key.path}: {raw} is negative")
        return value
    if key.kind == "bus_id":
        return str(raw).removeprefix("0000") if str(raw).find(":") > 4 else str(raw)
    if key.kind == "percent":
        return str(raw)
    if key.kind == "uuid":
        digits = str(raw)
        return "-".join((digits[0:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
    return raw


def to_nvml(key: Key, value: Any) -> Any:
    """NVML's value for the profile's ``value`` (already of the right type); None where the text stands for no value."""
    if value == NOT_AVAILABLE and key.kind != "uint":
        return None
    if key.kind == "mode":
        return int(value == "enabled")
    if key.kind in ("word", "flag", "health_flag"):
        return _number_of(key, value)
    if key.kind in ("uint", "int"):
        return int(value) * key.scale
    if key.kind == "percent":
        return _percent(value)
    if key.kind == "bus_id":
        return bus_id(str(value))
    if key.kind in ("hex", "uuid"):
        return bytes.fromhex(re.sub(r"[^0-9a-fA-F]", "", str(value).removeprefix("0x"))[:32].ljust(32, "0"))
    return value


def bus_id(text: str) -> tuple[int, int, int, int]:
    """Domain, bus, device, function of ``DDDD:BB:DD.F`` (4 or 8 digits of domain, any case); InputError otherwise."""
    match = re.fullmatch(r"([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-9a-fA-F])", text)
    if match is None:
        raise InputError(f"pci.bus_id {text!r} is not DDDD:BB:DD.F in hexadecimal")
    return int(match[1], 16), int(match[2], 16), int(match[3], 16), int(match[4], 16)


def instant_ns(text: str) -> int:
    """Nanoseconds since 1970 of ``2026-08-21T08:54:01Z``; InputError for a date that does not exist or that 64 bits do not hold (1970 to 2554)."""
    parts = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z", text, re.ASCII)
    try:
        moment = datetime.datetime.strptime(parts[1] if parts else "", "%Y-%m-%dT%H:%M:%S").replace(tzinfo=datetime.UTC)
    except ValueError as error:
        raise InputError('expected an instant such as "2026-08-21T08:54:01Z"') from error
    seconds = int(moment.timestamp())
    if not 0 <= seconds * 1_000_000_000 < 2**64:
        raise InputError("expected an instant between 1970 and 2554")
    return seconds * 1_000_000_000


_FLAG_VALUES = {"flag": {True: 1, False: 0}, "health_flag": {True: 1, False: 2}}


def _word_of(key: Key, raw: int) -> Any:
    if key.kind in _FLAG_VALUES:
        for word, number in _FLAG_VALUES[key.kind].items():
            if number == raw:
                return word
    for name, number in key.words:
        if number == raw:
            return name
    raise InputError(f"{key.path}: no word for {raw}")


def _number_of(key: Key, value: Any) -> int:
    if key.kind in _FLAG_VALUES:
        return _FLAG_VALUES[key.kind][bool(value)]
    return dict(key.words)[_plain(str(value), key)]


def _plain(word: str, key: Key) -> str:
    """A word as the table has it: the architecture in any case, with outer spaces, ada also as ada_lovelace."""
    if key.path == "architecture":
        word = word.strip().lower()
        return "ada" if word == "ada_lovelace" else word
    return word


def _percent(value: Any) -> int | None:
    text = str(value).strip()
    return int(text) if text.isdigit() and int(text) <= 100 else None
