"""The inverses of what can be tuned: fans, clocks locked or offset, power smoothing.

Setters write the same fields: an override says what they set by these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from harness.stages import compile_clocks, compile_fans, compile_smoothing

if TYPE_CHECKING:
    from harness.stages.answers.keys_made import Keys
    from harness.stages.answers.told import Told

Telling = Mapping[str, "Told"]
Inverse = Callable[["Keys", "Told", Telling], None]
_U32 = 2**32 - 1


def _within(key: str, least: int, most: int) -> Inverse:
    """A number that is the key of its name where the key can hold it."""

    def inverse(made: Keys, said: Told, _: Telling) -> None:
        if least <= said.value <= most:
            made.put(key, said.value, said)

    return inverse


def _locked(name: str) -> Inverse:
    """The range that clocks are locked into, of its two ends; any clock is no lock."""
    key = f"clocks.locked_{name}"

    def inverse(made: Keys, said: Told, told: Telling) -> None:
        given = made.values.get(key) or dict(zip(("min_mhz", "max_mhz"), compile_clocks.UNLOCKED, strict=True))
        ends = {end: told[f"{key}.{end}"].value if f"{key}.{end}" in told else given[end] for end in ("min_mhz", "max_mhz")}
        if tuple(ends.values()) == compile_clocks.UNLOCKED:
            made.drop(key)
        elif all(isinstance(end, int) and 0 <= end <= _U32 for end in ends.values()) and ends["min_mhz"] <= ends["max_mhz"]:
            made.put(key, ends, said)

    return inverse


def _controls(made: Keys, said: Told, told: Telling) -> None:
    """Fans held at a duty cycle, and those that stand where they were; all others follow the curve."""
    policies, duties = told.get("fan.policies"), told.get("fan.duties")
    if policies is None or duties is None or policies.code or duties.code:
        return
    controls: list[dict[str, Any]] = []
    for fan, (policy, duty) in enumerate(zip(policies.value, duties.value, strict=False)):
        if duty != compile_fans.NO_DUTY and duty > 100:
            return
        if policy:
            held = {} if duty == compile_fans.NO_DUTY else {"speed_percent": duty}
            controls.append({"fan": fan, "policy": "manual", **held})
    made.put("fan.controls", controls, said)


def _speed(made: Keys, said: Told, _: Telling) -> None:
    """The speed of the first fan: where the driver's curve has it, for all that is known."""
    if 0 <= said.value <= 100:
        made.put("fan.speed_percent", str(said.value), said)


def _rpm(made: Keys, said: Told, told: Telling) -> None:
    """The tachometer at 100 %: the least that gives the reading at the duty cycle; fans that stand still say nothing of it."""
    duty = told.get("fan.speed_percent")
    if duty is not None and not duty.code and 0 < duty.value <= 100 and 0 <= said.value < 2**24:
        made.put("fan.max_speed_rpm", -(-said.value * 100 // duty.value), said)


def _smoothing(made: Keys, said: Told, _: Telling) -> None:
    if said.value in (0, 1):
        made.put("power.smoothing.supported", True, said)
        made.put("power.smoothing.state", "enabled" if said.value else "disabled", said)


def _preset(number: int, name: str) -> Inverse:
    """One parameter of a preset; percentages are held in thousandths."""

    def inverse(made: Keys, said: Told, _: Telling) -> None:
        value = said.value / compile_smoothing.PER_PERCENT if name == "percent_tmp_floor" else said.value
        if name == "percent_tmp_floor" and value > 100:
            return
        listed = made.values.get("power.smoothing.profiles") or {}
        preset = {**(listed.get(number) or {}), name: int(value) if value == int(value) else value}
        made.put("power.smoothing.profiles", {**listed, number: preset}, said)

    return inverse


INVERSES: tuple[tuple[str, Inverse], ...] = (
    *((f"clocks.locked_{name}.{end}_mhz", _locked(name)) for name in compile_clocks.LOCKS for end in ("min", "max")),
    *((f"clocks.{domain}_current", _within(f"clocks.{domain}_current", 0, _U32)) for domains in compile_clocks.LOCKS.values() for domain in domains),
    *((key, _within(key, -(2**31), 2**31 - 1)) for key in ("clocks.offsets.graphics.set_mhz", "clocks.offsets.memory.set_mhz")),
    ("fan.policies", _controls), ("fan.duties", _controls), ("fan.speed_percent", _speed), ("fan.speed_rpm", _rpm),
    ("fan.min_speed_percent", _within("fan.min_speed_percent", 0, 100)), ("fan.max_speed_percent", _within("fan.max_speed_percent", 0, 100)),
    ("power.smoothing.enabled", _smoothing), ("power.smoothing.active_profile", _within("power.smoothing.active_profile", 0, 4)),
    *((f"power.smoothing.profiles.{number}.{name}", _preset(number, name))
      for number in range(compile_smoothing.PRESETS) for name in compile_smoothing.PARAMETERS),
)  # fmt: skip
"""Derived field -> what turns it back, in the order in which they lean on each other."""
