"""One device's fields: each from its key, its derivation or the reference's default."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from harness.stages import compile_defaults, compile_derived
from harness.stores.profiles import Device
from harness.stores.schema import codec, keys
from harness.words.errors import InputError
from harness.words.state import State
from mocklib import fields
from mocklib.image import FieldValue, Pages

NOT_SUPPORTED = 3
NONE_AT_ZERO = frozenset(f"clocks.{domain}_app{which}" for domain in ("graphics", "memory") for which in ("", "_default"))
"""Clocks of which 0 says that the board has none (ledger I07, I08)."""


def device_fields(device: Device, index: int) -> dict[str, FieldValue]:
    """Every field of the device: a state's code, else the value, else the default, else NOT_SUPPORTED.

    Minor number and UUID are made from its ``index`` key, else from ``index``, its place (ledger A14, B15, B17).  Raises InputError for a default
    that has no room where NVML has its place.
    """
    made, refused = apart(device, index)
    for error in refused.values():
        raise error
    return made


def apart(device: Device, index: int) -> tuple[dict[str, FieldValue], dict[str, InputError]]:
    """The fields as of ``device_fields``, and those that cannot be compiled, by name, with why."""
    values = dict(device.values)
    number = values.get("index", index)
    values.setdefault("minor_number", number)
    values.setdefault("uuid", f"GPU-4d4f434b-0000-0000-0000-{number:012d}")
    made: dict[str, FieldValue] = {}
    refused: dict[str, InputError] = {}
    for name, definition in fields.device_fields().items():
        try:
            made[name] = _field(name, definition, values, device.states)
        except InputError as error:
            refused[name] = error
    return made, refused


def _field(name: str, definition: fields.FieldDef, values: Mapping[str, Any], states: Mapping[str, State]) -> FieldValue:
    state = states.get(name) or states.get(compile_derived.STATE_KEYS.get(name, ""))
    if state is State.REDACTED and _beside_others(name):
        return FieldValue("" if definition.type == "string" else 0)
    if state is not None and name not in compile_derived.STATE_IS_A_VALUE:
        return FieldValue(status=state.code or NOT_SUPPORTED)
    if definition.source is not None:
        return compile_derived.derive(definition.source, values, states)
    value = value_of(name, values)
    if value is None:
        return FieldValue(status=NOT_SUPPORTED)
    return FieldValue(compile_derived.served_text(value) if definition.type == "string" else _fitting(definition, value))


@functools.cache
def _beside_others(name: str) -> bool:
    """Whether a number or text is a member of a struct with others in it: one that the giver hid is not there, 0, and takes none of them away."""
    plain = fields.device_fields()[name].type in (*fields.NUMBERS, "string")
    return plain and any(name in members and len(members) > 1 for members in fields.answered_from().values())


def fits(definition: fields.FieldDef, value: Any) -> bool:
    """Whether a number has room where NVML has one; what is no number always has."""
    least = -(2 ** (definition.bits - 1)) if definition.type == "i64" else 0
    return definition.type not in fields.NUMBERS or least <= value < least + 2**definition.bits


def _fitting(definition: fields.FieldDef, value: Any) -> Any:
    """``value``, which a default may have computed from others: InputError where NVML's place for it is too narrow."""
    if not fits(definition, value):
        raise InputError(f"{definition.name}: {value} does not fit the {definition.bits} bits that NVML has for it")
    return value


def value_of(name: str, values: Mapping[str, Any]) -> Any:
    """NVML's value of the key ``name``: as given, else by default; None where it answers NOT_SUPPORTED."""
    key = keys.device_keys()[name]
    given = values.get(name)
    if given == 0 and name in NONE_AT_ZERO:
        return None
    if given is None:
        given = compile_defaults.default(name, values)
        if given is None:
            return None
    if key.kind == "pages":
        return Pages(int(given["count"]), tuple(given.get("addresses") or ()), tuple(given.get("timestamps") or ()))
    return codec.to_nvml(key, given)


def architecture(device: Device) -> int | None:
    """NVML's number of the device's architecture; None where the profile does not tell it."""
    name = "architecture"
    field = fields.device_fields()[name]
    value = _field(name, field, device.values, device.states).value
    return value if isinstance(value, int) else None
