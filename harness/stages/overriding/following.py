"""Readings that follow an overridden one: a profile made from a capture gives each of them, and real hardware would move them together.

Without this the key that was overridden would stand beside what the capture had of the same thing.  A follower that an override gives, too, stays as
it is given, and one that the profile does not give is none: its default follows by itself, or the board has no such reading.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.stages.overriding import merging
from harness.stages.overriding.merging import Tree
from harness.stores.profiles import Device

Values = Mapping[str, Any]
Follow = Callable[[Values, Values], Any]
"""(what was there, what is there now) -> what the follower has now; None: it is worked out from the others again."""


def device(base: Device, tree: Tree, overridden: tuple[str, ...]) -> Device:
    """The GPU that ``tree`` makes of ``base``, with what follows the keys ``overridden``."""
    made = merging.device_of(base, tree)
    values = dict(made.values)
    for key in overridden:
        for follower, follow in _FOLLOWERS.get(key, ()):
            if follower not in base.values or follower not in made.values or follower in overridden or made.values.get(key) is None:
                continue
            value = follow(base.values, values)
            if value is None:
                del values[follower]
            else:
                values[follower] = value
    ended = {state for key in overridden for state in _STATES if key.startswith(_STATES[state]) and made.values.get(key) is not None}
    states = {key: state for key, state in made.states.items() if key in overridden or key not in ended}
    return Device(values, states, made.state, made.answers)


def overridden(*buckets: Tree) -> tuple[str, ...]:
    """The keys that buckets give, the lowest bucket first."""
    return tuple(dict.fromkeys(path for bucket in buckets for path in merging.paths(bucket)))


def _same(key: str) -> Follow:
    return lambda _, now: now[key]


def _margin(before: Values, now: Values) -> int:
    """What is left to the limit: it falls by what the temperature rises (ledger G08)."""
    key = "thermal.temperature_gpu_c"
    return int(before["thermal.tlimit.margin_c"]) + int(before.get(key, now[key])) - int(now[key])


def _again(_: Values, __: Values) -> None:
    """By its default, from what is there now."""


def _combined(scope: str) -> Follow:
    """The one figure of boards before Ampere: both parts of it (ledger L09)."""
    return lambda _, now: sum(int(now.get(f"ecc.sram.{scope}.uncorrectable_{part}") or 0) for part in ("parity", "secded"))


_FOLLOWERS: Mapping[str, tuple[tuple[str, Follow], ...]] = {
    "thermal.temperature_gpu_c": (("thermal.tlimit.margin_c", _margin),),
    "power.current_draw_mw": tuple((f"power.{kind}_draw_mw", _same("power.current_draw_mw")) for kind in ("average", "instant")),  # F07
    "power.enforced_limit_mw": (("power.requested_limit_mw", _same("power.enforced_limit_mw")),),  # F04
    "performance_state": (("power.power_state", _same("performance_state")),),  # F09
    "clocks.graphics_max": (("clocks.graphics_customer_boost_max", _same("clocks.graphics_max")),),  # I05
    "remapped_rows.pending": (("repair.channel_pending", _again),),  # L14
    "remapped_rows.failure_occurred": (("repair.unrepairable_memory", _again),),  # L15
    "ecc.sram.threshold_exceeded": (("repair.unrepairable_memory", _again),),
    **{f"ecc.sram.{scope}.uncorrectable_{part}": ((f"ecc.sram.{scope}.uncorrectable", _combined(scope)),)
       for scope in ("volatile", "aggregate") for part in ("parity", "secded")},
}  # fmt: skip
"""Key -> the keys that follow it, and how."""
_STATES: Mapping[str, str] = {"power.smoothing.enabled": "power.smoothing."}
"""State of a whole feature that a capture says is refused -> the keys each of which, once it is given a value, ends that (ledger F20)."""
