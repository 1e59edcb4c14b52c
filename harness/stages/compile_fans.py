"""Fans: where the driver's curve has them, which are held at a duty cycle of their own, in which window they may be set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.stages import compile_defaults
from harness.stores.schema import codec, keys
from harness.words.state import State
from mocklib.image import FieldValue

Values = Mapping[str, Any]
States = Mapping[str, State]

_ABSENT = FieldValue(status=3)
MOST = 32
"""Fans that can be set one by one; boards have a handful."""
NO_DUTY = 0xFFFFFFFF
"""In ``fan.duties``: a fan that follows the driver's curve."""


def _held(values: Values) -> list[tuple[bool, int]] | None:
    """(manual, duty or NO_DUTY) of each fan of a board that has fans which can be set (Maxwell and newer: nvml.h, nvmlDeviceSetFanSpeed_v2).

    None for any other board.  A fan held at a duty is manual, whatever its policy says; an entry for a fan that the board lacks is ignored (H07).
    """
    count = values.get("fan.count")
    if not count or compile_defaults.older(values, "maxwell"):
        return None
    held = [(False, NO_DUTY)] * min(int(count), MOST)
    for entry in values.get("fan.controls") or ():
        if int(entry["fan"]) < len(held):
            duty = entry.get("speed_percent")
            held[int(entry["fan"])] = (entry.get("policy") == "manual" or duty is not None, NO_DUTY if duty is None else int(duty))
    return held


def _curve_percent(values: Values) -> int | None:
    """Where the curve has the fans; None for a board without fans, or whose fans are driven and not reported (ledger H01, H02)."""
    given = values.get("fan.speed_percent")
    if given is None or values.get("fan.count") == 0:
        return None
    made = codec.to_nvml(keys.device_keys()["fan.speed_percent"], given)
    return None if made is None else int(made)


def _curve(values: Values, _: States) -> FieldValue:
    speed = _curve_percent(values)
    return _ABSENT if speed is None else FieldValue(speed)


def _speed(values: Values, states: States) -> FieldValue:
    """The speed of the first fan (ledger H02)."""
    held = _held(values)
    return FieldValue(held[0][1]) if held and held[0][1] != NO_DUTY else _curve(values, states)


def _policies(values: Values, _: States) -> FieldValue:
    held = _held(values)
    return _ABSENT if held is None else FieldValue(tuple(int(manual) for manual, _ in held))


def _duties(values: Values, _: States) -> FieldValue:
    held = _held(values)
    return _ABSENT if held is None else FieldValue(tuple(duty for _, duty in held))


def _rpm(values: Values, _: States) -> FieldValue:
    """The tachometer: its reading at 100 % times the speed (ledger H04); a board whose fans are not measured has none."""
    most, speed = values.get("fan.max_speed_rpm"), _curve_percent(values)
    return _ABSENT if most is None or speed is None else FieldValue(int(most) * speed // 100)


def _window(key: str, unset: int) -> Callable[[Values, States], FieldValue]:
    """An end of the window a fan's speed may be set in, of a board that has fans (ledger H01, H05, H06)."""

    def made(values: Values, _: States) -> FieldValue:
        given = values.get(key)
        return FieldValue(unset if given is None else int(given)) if values.get("fan.count") else _ABSENT

    return made


DERIVATIONS: Mapping[str, Callable[[Values, States], FieldValue]] = {
    "fan_speed": _speed,
    "fan_curve": _curve,
    "fan_policies": _policies,
    "fan_duties": _duties,
    "fan_rpm": _rpm,
    "fan_least": _window("fan.min_speed_percent", 0),
    "fan_most": _window("fan.max_speed_percent", 100),
}
"""Name in ``from`` of ``mocklib/tables/fields.yaml`` -> what makes the field."""
STATE_KEYS: Mapping[str, str] = {
    "fan.speed_rpm": "fan.max_speed_rpm", "fan.curve_percent": "fan.speed_percent", "fan.policies": "fan.count", "fan.duties": "fan.count",
}  # fmt: skip
"""Field -> the key whose state it answers."""
