"""What ``expect_fields`` expects of what can be tuned: fans, clocks locked or offset, power smoothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.parity.expect_reference import AGES, CODES, NOTHING, Flat, Held, since

NO_FAN_DUTY, ANY_CLOCK = (1 << 32) - 1, (1 << 32) - 1
NONE_AT_ZERO = ("clocks.graphics_app", "clocks.graphics_app_default", "clocks.memory_app", "clocks.memory_app_default")
SMOOTHED = ("percent_tmp_floor", "ramp_up_rate_mw_per_s", "ramp_down_rate_mw_per_s", "ramp_down_hysteresis_ms")


def before(values: Flat, age: str) -> bool:
    """Whether the board is of a known architecture older than ``age``."""
    return since(values, AGES[0]) and not since(values, age)


def _free(domain: str) -> Callable[[Flat, Flat], Held]:
    def made(values: Flat, states: Flat) -> Held:
        if f"clocks.{domain}_current" in states:
            return CODES[states[f"clocks.{domain}_current"]], None
        return (0, values[f"clocks.{domain}_current"]) if f"clocks.{domain}_current" in values else NOTHING

    return made


def _current(domain: str) -> Callable[[Flat, Flat], Held]:
    """I14, I15: inside the range it is locked into, never above its maximum."""

    def made(values: Flat, _states: Flat) -> Held:
        limits: dict[str, int] = values.get(f"clocks.locked_{'memory' if domain == 'memory' else 'graphics'}") or {}
        code, clock = _free(domain)(values, {})
        if code or not limits:
            return code, clock
        inside = sorted((limits["min_mhz"], clock, limits["max_mhz"]))[1]
        return 0, min(inside, values.get(f"clocks.{domain}_max", inside))

    return made


def _lock(name: str, first: str, end: str) -> Callable[[Flat, Flat], Held]:
    def made(values: Flat, _states: Flat) -> Held:
        if f"clocks.{name}_current" not in values or before(values, first):
            return NOTHING
        limits: dict[str, int] = values.get(f"clocks.locked_{name}") or {"min_mhz": 0, "max_mhz": ANY_CLOCK}
        return 0, limits[f"{end}_mhz"]

    return made


def _end(name: str, most: bool) -> Callable[[Flat, Flat], Held]:
    def made(values: Flat, states: Flat) -> Held:
        if "supported_clocks.memory_clocks" in states:
            return CODES[states["supported_clocks.memory_clocks"]], None
        clocks = set()
        for entry in values.get("supported_clocks.memory_clocks") or ():
            clocks |= {entry["freq_mhz"]} if name == "memory" else set(entry["graphics_clocks"])
        return (0, sorted(clocks)[-1 if most else 0]) if clocks else NOTHING

    return made


def _offset(domain: str) -> Callable[[Flat, Flat], Held]:
    block = f"clocks.offsets.{domain}."
    ends = {f"{block}{end}_mhz" for end in ("min", "max")}
    return lambda values, _states: (0, values.get(f"{block}set_mhz", 0)) if ends <= values.keys() else NOTHING


def _fans(values: Flat) -> list[list[Any]]:
    """[policy, duty] of each fan that can be set."""
    if before(values, "maxwell"):
        return []
    fans: list[list[Any]] = [[0, NO_FAN_DUTY] for _ in range(min(values.get("fan.count", 0), 32))]
    for control in values.get("fan.controls") or ():
        if control["fan"] < len(fans):
            duty = control.get("speed_percent")
            fans[control["fan"]] = [1, NO_FAN_DUTY] if duty is None and control.get("policy") == "manual" else [0, NO_FAN_DUTY]
            if duty is not None:
                fans[control["fan"]] = [1, duty]
    return fans


def _of_fans(column: int) -> Callable[[Flat, Flat], Held]:
    def made(values: Flat, states: Flat) -> Held:
        if "fan.count" in states:
            return CODES[states["fan.count"]], None
        return (0, tuple(fan[column] for fan in _fans(values))) if _fans(values) else NOTHING

    return made


def _curve(values: Flat, states: Flat) -> Held:
    if "fan.speed_percent" in states:
        return CODES[states["fan.speed_percent"]], None
    speed = values.get("fan.speed_percent", "N/A")
    return NOTHING if speed == "N/A" or values.get("fan.count") == 0 else (0, int(speed))


def _first(values: Flat, states: Flat) -> Held:
    if "fan.speed_percent" in states:
        return CODES[states["fan.speed_percent"]], None
    duty = [fan[1] for fan in _fans(values)[:1] if fan[1] != NO_FAN_DUTY]
    return (0, duty[0]) if duty else _curve(values, states)


def _rpm(values: Flat, states: Flat) -> Held:
    if "fan.max_speed_rpm" in states:
        return CODES[states["fan.max_speed_rpm"]], None
    code, speed = _curve(values, {})
    return (0, values["fan.max_speed_rpm"] * speed // 100) if code == 0 and "fan.max_speed_rpm" in values else NOTHING


def _window(key: str, unset: int) -> Callable[[Flat, Flat], Held]:
    return lambda values, _states: (0, values.get(key, unset)) if values.get("fan.count") else NOTHING


def _smoothed(what: Callable[[Flat], int | None]) -> Callable[[Flat, Flat], Held]:
    def made(values: Flat, states: Flat) -> Held:
        if "power.smoothing.enabled" in states:
            return CODES[states["power.smoothing.enabled"]], None
        number = what(values) if values.get("power.smoothing.supported", since(values, "blackwell")) else None
        return NOTHING if number is None else (0, number)

    return made


def _preset(number: int, name: str) -> Callable[[Flat], int]:
    def made(values: Flat) -> int:
        given = values.get("power.smoothing.profiles", {}).get(number, {}).get(name, 0)
        return round(given * 1000) if name == "percent_tmp_floor" else int(given)

    return made


def _floor(values: Flat) -> int | None:
    limit = values.get("power.enforced_limit_mw")
    if limit is None or values.get("power.smoothing.state") != "enabled":
        return None if limit is None else 0
    return int(limit * _preset(values.get("power.smoothing.active_profile", 0), SMOOTHED[0])(values) // 100_000)


DERIVED: dict[str, Callable[[Flat, Flat], Held]] = {
    **{f"current_{domain}": _current(domain) for domain in ("graphics", "sm", "memory")},
    **{f"unlocked_{domain}": _free(domain) for domain in ("graphics", "sm", "memory")},
    **{f"locked_{name}_{end}": _lock(name, first, end) for name, first in (("graphics", "volta"), ("memory", "ampere")) for end in ("min", "max")},
    **{f"envelope_{name}_{end}": _end(name, end == "max") for name in ("graphics", "memory") for end in ("min", "max")},
    **{f"{domain}_offset": _offset(domain) for domain in ("graphics", "memory")},
    "clock_monitor": lambda values, _states: (0, 0) if since(values, "ampere") else NOTHING,
    "fan_speed": _first,
    "fan_curve": _curve,
    "fan_policies": _of_fans(0),
    "fan_duties": _of_fans(1),
    "fan_rpm": _rpm,
    "fan_least": _window("fan.min_speed_percent", 0),
    "fan_most": _window("fan.max_speed_percent", 100),
    "smoothing_enabled": _smoothed(lambda values: int(values.get("power.smoothing.state") == "enabled")),
    "smoothing_active": _smoothed(lambda values: values.get("power.smoothing.active_profile", 0)),
    "smoothing_ceiling": _smoothed(lambda values: values.get("power.enforced_limit_mw")),
    "smoothing_floor": _smoothed(_floor),
    "smoothing_no": _smoothed(lambda _: 0),
    "smoothing_hundred": _smoothed(lambda _: 100_000),
    "smoothing_presets": _smoothed(lambda _: 5),
    "smoothing_not_set": _smoothed(lambda _: (1 << 32) - 1),
    **{f"smoothing_{number}_{name}": _smoothed(_preset(number, name)) for number in range(5) for name in SMOOTHED},
}
