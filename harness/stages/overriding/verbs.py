"""The verbs of ``nvparity ctl`` as keys: what each writes for one GPU, a mapping of dotted key to value (ledger X04 to X10).

A verb gets its arguments as they were given, and one that needs them the values that the GPU has now; UsageError for what it refuses.  A verb that
pins a reading writes the dynamic block of that reading, too: while there is one, a static value is not seen (X22).
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.stages.overriding.arguments import Changes, Values, fraction, names_of, whole
from harness.stores.schema import keys

_BLOCK = "clocks_throttle_reasons."
_REASONS = {
    "thermal": "hw_thermal_slowdown", "sw_thermal": "sw_thermal_slowdown", "power": "sw_power_cap", "power_brake": "hw_power_brake_slowdown",
    "idle": "gpu_idle", "app_clocks": "applications_clocks_setting", "display_clocks": "display_clocks_setting",
    **{flag.removeprefix(_BLOCK): flag.removeprefix(_BLOCK) for flag in keys.FLAGS},
}  # fmt: skip
"""Name or alias of an event reason -> its key below ``clocks_throttle_reasons``."""


def temperature(text: str, _: Values) -> Changes:
    """X04: degrees Celsius."""
    degrees = whole("temp", text, 0, 200)
    block = {"base_c": degrees, "variance_c": 0, "ramp_c": 0}
    return {"thermal.temperature_gpu_c": degrees, **{f"dynamic_metrics.temperature.{name}": value for name, value in block.items()}}


def power(text: str, _: Values) -> Changes:
    """X05: watts, kept in milliwatts; what is read stays within the limits."""
    milliwatts = int((fraction("power", text, 0, 100_000) * 1000).to_integral_value())
    return {"power.current_draw_mw": milliwatts, "dynamic_metrics.power.base_mw": milliwatts, "dynamic_metrics.power.variance_mw": 0}


def fan(text: str, values: Values) -> Changes:
    """X06, H12: percent; a board without fans gets one, so that the speed is read."""
    speed = whole("fan", text, 0, 100)
    return {"fan.speed_percent": str(speed), **({} if values.get("fan.count") else {"fan.count": 1})}


def utilization(text: str, _: Values) -> Changes:
    """X07: percent, of GPU and memory alike."""
    share = whole("util", text, 0, 100)
    return {"utilization.gpu": share, "utilization.memory": share, "dynamic_metrics.utilization": None}


def clocks(text: str, _: Values) -> Changes:
    """X08: MHz, of the SM and graphics domains."""
    mhz = whole("clocks", text, 0, 100_000)
    return {"clocks.sm_current": mhz, "clocks.graphics_current": mhz}


def pstate(text: str, _: Values) -> Changes:
    """X10: 0 to 15."""
    return {"performance_state": f"P{whole('pstate', text, 0, 15)}"}


def throttle(names: Sequence[str]) -> Changes:
    """X09: the reasons that are active; every other one is not."""
    wanted = names_of("throttle", names, _REASONS)
    return {flag: flag.removeprefix(_BLOCK) in wanted for flag in keys.FLAGS}
