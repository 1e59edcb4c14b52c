"""Clocks that a board is locked into, their offsets, the ends of the clock table, the clock monitor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.stages import compile_defaults
from harness.words.state import State
from mocklib.image import FieldValue

Values = Mapping[str, Any]
States = Mapping[str, State]

_ABSENT = FieldValue(status=3)
UNLOCKED = (0, 2**32 - 1)
"""The range of a clock that is not locked: any."""
LOCKS: Mapping[str, tuple[str, ...]] = {"graphics": ("graphics", "sm"), "memory": ("memory",)}
"""What is locked -> the clocks that follow (ledger I14, I15)."""
_FIRST = {"graphics": "volta", "memory": "ampere"}
"""The oldest architecture whose clocks can be locked (nvml.h, nvmlDeviceSetGpuLockedClocks, nvmlDeviceSetMemoryLockedClocks)."""
_LOCK_OF = {domain: name for name, domains in LOCKS.items() for domain in domains}


def _current(domain: str) -> Callable[[Values, States], FieldValue]:
    """A current clock inside the range the board is locked into, never above its maximum (ledger I14, I15)."""

    def made(values: Values, states: States) -> FieldValue:
        clock, most = values.get(f"clocks.{domain}_current"), values.get(f"clocks.{domain}_max")
        limits = values.get(f"clocks.locked_{_LOCK_OF[domain]}")
        if clock is None or not limits:
            return _unlocked(domain)(values, states)
        clock = min(max(int(clock), int(limits["min_mhz"])), int(limits["max_mhz"]))
        return FieldValue(clock if most is None else min(clock, int(most)))

    return made


def _unlocked(domain: str) -> Callable[[Values, States], FieldValue]:
    """A current clock as it is where nothing locks it."""

    def made(values: Values, _: States) -> FieldValue:
        clock = values.get(f"clocks.{domain}_current")
        return _ABSENT if clock is None else FieldValue(int(clock))

    return made


def _locked(name: str, end: int) -> Callable[[Values, States], FieldValue]:
    """An end of the range a board with such a clock is locked into; boards that are too old to be locked have none."""

    def made(values: Values, _: States) -> FieldValue:
        if values.get(f"clocks.{name}_current") is None or compile_defaults.older(values, _FIRST[name]):
            return _ABSENT
        limits = values.get(f"clocks.locked_{name}")
        return FieldValue(UNLOCKED[end] if not limits else int(limits[("min_mhz", "max_mhz")[end]]))

    return made


def _envelope(domain: str, end: Callable[[list[int]], int]) -> Callable[[Values, States], FieldValue]:
    """An end of the clocks in the clock table: that of the one performance state that is modelled (ledger I11)."""

    def made(values: Values, _: States) -> FieldValue:
        table = values.get("supported_clocks.memory_clocks") or []
        memory = domain == "memory"
        clocks = [int(mhz) for entry in table for mhz in ([entry["freq_mhz"]] if memory else entry["graphics_clocks"])]
        return FieldValue(end(clocks)) if clocks else _ABSENT

    return made


def _offset(domain: str) -> Callable[[Values, States], FieldValue]:
    """A clock's offset is 0 until it is set; boards without a range have none (ledger I17)."""
    ends = [f"clocks.offsets.{domain}.{end}_mhz" for end in ("min", "max")]

    def made(values: Values, _: States) -> FieldValue:
        given = values.get(f"clocks.offsets.{domain}.set_mhz")
        return FieldValue(int(given or 0)) if all(values.get(key) is not None for key in ends) else _ABSENT

    return made


def _monitor(values: Values, _: States) -> FieldValue:
    """The clock monitor of Ampere and newer boards sees no fault (ledger I22)."""
    return FieldValue(0) if compile_defaults.at_least(values, "ampere") else _ABSENT


DERIVATIONS: Mapping[str, Callable[[Values, States], FieldValue]] = {
    **{f"current_{domain}": _current(domain) for domain in _LOCK_OF},
    **{f"unlocked_{domain}": _unlocked(domain) for domain in _LOCK_OF},
    **{f"locked_{name}_{word}": _locked(name, end) for name in LOCKS for end, word in enumerate(("min", "max"))},
    **{f"envelope_{name}_{end.__name__}": _envelope(name, end) for name in LOCKS for end in (min, max)},
    **{f"{domain}_offset": _offset(domain) for domain in ("graphics", "memory")},
    "clock_monitor": _monitor,
}
"""Name in ``from`` of ``mocklib/tables/fields.yaml`` -> what makes the field."""
STATE_KEYS: Mapping[str, str] = {
    **{f"clocks.unlocked.{domain}_mhz": f"clocks.{domain}_current" for domain in _LOCK_OF},
    **{f"clocks.envelope.{name}_{end}_mhz": "supported_clocks.memory_clocks" for name in LOCKS for end in ("min", "max")},
}
"""Field -> the key whose state it answers."""
