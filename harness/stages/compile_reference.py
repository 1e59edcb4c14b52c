"""Fields that the configuration reference makes of keys no capture shows: workload power profiles, fans, clocks locked or offset, the hostname."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from harness.stages import compile_defaults
from harness.stores.schema import codec, keys
from harness.words.state import State
from mocklib.image import FieldValue

Values = Mapping[str, Any]
States = Mapping[str, State]

_ABSENT = FieldValue(status=3)


def _offered(values: Values) -> Mapping[int, tuple[int, frozenset[int]]] | None:
    """Workload power profiles the board offers: id -> (priority, ids it conflicts with); None where it does not say."""
    listed = values.get("power.workload_power_profiles.supported")
    if listed is None:
        return None
    return {int(entry["id"]): (int(entry.get("priority", 0)), frozenset(entry.get("conflicts") or ())) for entry in listed}


def _requested(values: Values) -> frozenset[int] | None:
    """Profiles asked for, of those offered (ledger F16); None without the block (F12)."""
    listed, offered = values.get("power.workload_power_profiles.requested"), _offered(values)
    if listed is None and offered is None:
        return None
    return frozenset(number for number in listed or () if offered is None or number in offered)


def _enforced(values: Values) -> frozenset[int] | None:
    """Profiles asked for but those that conflict with one of better priority, a lower number, that is asked for, too (F17)."""
    asked, offered = _requested(values), _offered(values)
    if asked is None or offered is None:
        return asked
    better = {number: {other for other in asked if offered[other][0] < offered[number][0]} for number in asked}
    clash = {number: {other for other in better[number] if number in offered[other][1] or other in offered[number][1]} for number in asked}
    return frozenset(number for number in asked if not clash[number])


def _profile_mask(chosen: Callable[[Values], Iterable[int] | None]) -> Callable[[Values, States], FieldValue]:
    """A 255-bit mask of profile ids as 32 bytes, lowest id first."""

    def made(values: Values, _: States) -> FieldValue:
        numbers = chosen(values)
        return _ABSENT if numbers is None else FieldValue(sum(1 << number for number in numbers).to_bytes(32, "little"))

    return made


def _hostname(values: Values, _: States) -> FieldValue:
    """The name given to the GPU; Blackwell and newer (ledger B14)."""
    given = values.get("hostname")
    return FieldValue(str(given)) if given is not None and compile_defaults.at_least(values, "blackwell") else _ABSENT


def _fan_rpm(values: Values, _: States) -> FieldValue:
    """The tachometer: its reading at 100 % times the duty cycle (ledger H04); a board whose fans are not measured has none."""
    most, speed = values.get("fan.max_speed_rpm"), values.get("fan.speed_percent")
    duty = None if speed is None else codec.to_nvml(keys.device_keys()["fan.speed_percent"], speed)
    return _ABSENT if most is None or duty is None else FieldValue(int(most) * int(duty) // 100)


def _fan_window(key: str, unset: int) -> Callable[[Values, States], FieldValue]:
    """An end of the window a fan's speed may be set in, of a board that has fans (ledger H01, H05, H06)."""

    def made(values: Values, _: States) -> FieldValue:
        given = values.get(key)
        return FieldValue(unset if given is None else int(given)) if values.get("fan.count") else _ABSENT

    return made


def _offset(domain: str) -> Callable[[Values, States], FieldValue]:
    """A clock's offset is 0 until it is set; boards without a range have none (ledger I17)."""
    ends = [f"clocks.offsets.{domain}.{end}_mhz" for end in ("min", "max")]
    return lambda values, _: FieldValue(0) if all(values.get(key) is not None for key in ends) else _ABSENT


_USES = ("sm_util", "mem_util", "enc_util", "dec_util")


def _process_utilization(values: Values, _: States) -> FieldValue:
    """Each process's pid and shares of the engines (ledger R14, R19); a profile that gives no share has no samples, nor has a GPU in MIG mode."""
    entries = values.get("processes") or []
    if not any(use in entry for entry in entries for use in _USES) or values.get("mig.mode_current") == "enabled":
        return _ABSENT
    return FieldValue(tuple(number for entry in entries for number in (int(entry["pid"]), *(int(entry.get(use) or 0) for use in _USES))))


_LOCKS = {"clocks.locked_graphics": ("graphics", "sm"), "clocks.locked_memory": ("memory",)}


def locked(values: Values) -> dict[str, Any]:
    """``values`` with the current clocks inside the ranges the board is locked into, never above a maximum (ledger I14, I15)."""
    found = dict(values)
    for key, domains in _LOCKS.items():
        limits = values.get(key) or {}
        for domain in domains if limits else ():
            current, most = values.get(f"clocks.{domain}_current"), values.get(f"clocks.{domain}_max")
            if current is not None:
                clock = min(max(int(current), int(limits["min_mhz"])), int(limits["max_mhz"]))
                found[f"clocks.{domain}_current"] = clock if most is None else min(clock, int(most))
    return found


DERIVATIONS: Mapping[str, Callable[[Values, States], FieldValue]] = {
    "workload_supported": _profile_mask(_offered),
    "workload_requested": _profile_mask(_requested),
    "workload_enforced": _profile_mask(_enforced),
    "hostname": _hostname,
    "process_utilization": _process_utilization,
    "fan_rpm": _fan_rpm,
    "fan_least": _fan_window("fan.min_speed_percent", 0),
    "fan_most": _fan_window("fan.max_speed_percent", 100),
    "graphics_offset": _offset("graphics"),
    "memory_offset": _offset("memory"),
}
"""Name in ``from`` of ``mocklib/tables/fields.yaml`` -> what makes the field."""
