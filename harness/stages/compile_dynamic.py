"""Dynamic metrics (ledger U01 to U05): temperature, power and utilization as looping tracks, so that every process reads the same at one instant.

The reference draws a value whenever it is asked; here the values of one loop are drawn when the profile is compiled, and stepped through from the
epoch on.  A loop is one period of what is periodic (a ramp, a burst and its idle time), so that its end meets its beginning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.stages import compile_randoms
from harness.stages.compile_randoms import Randoms
from mocklib.image import FieldValue, Track

Values = Mapping[str, Any]
Fields = Mapping[str, FieldValue]

SECOND = 1_000_000_000
LEAST_SAMPLES, MOST_SAMPLES = 60, 240
"""Samples of one loop: one a second, but never so few that a loop has no shape, nor so many that a record grows by more than 2 KiB a track."""
RAMP_PERIOD_S, BURST_PERIOD_S, NOISE_PERIOD_S = 60.0, 30.0, 60.0
"""Periods where the profile names none (ledger U02, U04); of a metric that is noise alone, how long its loop is."""
LEAST_STEP_NS = 1_000


@dataclass(frozen=True)
class Moving:
    """How one field moves: its samples, one each ``period_ns`` (nanoseconds) from the epoch on, over and over."""

    samples: tuple[int, ...]
    period_ns: int

    @property
    def mean(self) -> int:
        """The mean of one loop, rounded down."""
        return sum(self.samples) // len(self.samples)

    @property
    def track(self) -> Track:
        """The track of an image; it starts at the epoch."""
        return Track(self.samples, self.period_ns, 0, True)


def moving(values: Values, made: Fields, seed: int) -> dict[str, Moving]:
    """The fields of one GPU that its ``dynamic_metrics`` block moves; a field that answers a state stays as it is.

    ``values`` are the GPU's keys, ``made`` its fields without motion.  ``seed`` is what numbers are drawn from where the block gives none (U01).
    """
    found: dict[str, Moving] = {}
    for number, metric in enumerate((_temperature, _power, _utilization)):
        found.update(metric(values, made, compile_randoms.randoms(_own(values) or seed, number)))
    return {name: track for name, track in found.items() if made[name].status == 0}


def drawn_by_node(values: Values) -> bool:
    """Whether numbers of this GPU are drawn from the seed of the node's state: a metric moves, and the block has no seed of its own (U01)."""
    return not _own(values) and any(_block(values, metric) for metric in ("temperature", "power", "utilization"))


def _own(values: Values) -> int:
    """The seed of the block; 0 where it has none."""
    return int(values.get("dynamic_metrics.seed") or 0)


def standing(values: Values) -> dict[str, Any]:
    """``values`` with a reading for each metric that moves and is given no reading of its own: a block is enough for it to be served (G01)."""
    found = dict(values)
    for metric, name, base in _READINGS:
        if _block(values, metric) and not any(values.get(key) is not None for key in (name, *_OTHERS.get(name, ()))):
            found[name] = values.get(base) or 0
    return found


_READINGS = (
    ("temperature", "thermal.temperature_gpu_c", "dynamic_metrics.temperature.base_c"),
    ("power", "power.current_draw_mw", "dynamic_metrics.power.base_mw"),
    ("utilization", "utilization.gpu", "dynamic_metrics.utilization.gpu_min"),
    ("utilization", "utilization.memory", "dynamic_metrics.utilization.memory_min"),
)
"""Metric, a key that it moves, and what stands there before it does."""
_OTHERS = {"power.current_draw_mw": ("power.average_draw_mw", "power.instant_draw_mw")}
"""Keys that give the same reading."""


def _block(values: Values, name: str) -> dict[str, Any]:
    """The members of ``dynamic_metrics.<name>`` that are given."""
    start = f"dynamic_metrics.{name}."
    return {key.removeprefix(start): value for key, value in values.items() if key.startswith(start) and value is not None}


def _loop(period_s: float, count: int = 1) -> tuple[int, int]:
    """How many samples a loop of ``period_s`` seconds has, a multiple of ``count``, and the nanoseconds of each."""
    samples = min(max(round(period_s), LEAST_SAMPLES), MOST_SAMPLES) // count * count
    return samples, min(max(round(period_s * SECOND) // samples, LEAST_STEP_NS), 1 << 62)


def _temperature(values: Values, made: Fields, randoms: Randoms) -> dict[str, Moving]:
    """U02: base + ramp, a sine of its period between 0 and ramp_c, + noise; from 0 to the shutdown threshold.  The margin moves against it (G08)."""
    block = _block(values, "temperature")
    if not block:
        return {}
    number, step = _loop(float(block.get("ramp_period_sec") or RAMP_PERIOD_S))
    base, ramp, noise = (int(block.get(key, 0)) for key in ("base_c", "ramp_c", "variance_c"))
    most = values.get("thermal.shutdown_threshold_c")
    samples = []
    for place in range(number):
        swing = ramp * (1 + math.sin(2 * math.pi * place / number)) / 2
        value = max(base + math.floor(swing + 0.5) + randoms.within(-noise, noise), 0)
        samples.append(min(value, int(most)) if most else value)
    found = {"thermal.temperature_gpu_c": Moving(tuple(samples), step)}
    margin, still = made["thermal.tlimit.margin_c"], made["thermal.temperature_gpu_c"]
    if margin.status == 0 and still.status == 0:
        zero = int(margin.value) + int(still.value)
        found["thermal.tlimit.margin_c"] = Moving(tuple(zero - value for value in samples), step)
    return found


def _power(values: Values, made: Fields, randoms: Randoms) -> dict[str, Moving]:
    """U03: base +- variance, within the limits that are set; all three readings of the GPU's draw are this one."""
    block = _block(values, "power")
    if not block:
        return {}
    number, step = _loop(NOISE_PERIOD_S)
    base, noise = (int(block.get(key, 0)) for key in ("base_mw", "variance_mw"))
    limits = [made[f"power.{end}_limit_mw"] for end in ("min", "max")]
    least, most = (int(limit.value) if limit.status == 0 and limit.value else None for limit in limits)
    samples = tuple(_within(max(base + randoms.within(-noise, noise), 0), least, most) for _ in range(number))
    return {f"power.{name}_draw_mw": Moving(samples, step) for name in ("current", "average", "instant")}


def _within(value: int, least: int | None, most: int | None) -> int:
    """``value`` between two ends, of which each may be open; the upper one wins."""
    value = value if least is None else max(value, least)
    return value if most is None else min(value, most)


def _utilization(values: Values, _: Fields, randoms: Randoms) -> dict[str, Moving]:
    """U04: a number of the band, or of its lowest (idle) or highest (busy) quarter; burst changes between these two."""
    block = _block(values, "utilization")
    if not block:
        return {}
    pattern = str(block.get("pattern") or "steady")
    burst = float(block.get("burst_period_sec") or BURST_PERIOD_S)
    number, step = _loop(2 * burst, 2) if pattern == "burst" else _loop(NOISE_PERIOD_S)
    found = {}
    for engine in ("gpu", "memory"):
        least, most = int(block.get(f"{engine}_min") or 0), int(block.get(f"{engine}_max") or 100)
        bands = _BANDS.get(pattern, _steady)(least, most)
        samples = tuple(randoms.within(*bands[place * len(bands) // number]) for place in range(number))
        found[f"utilization.{engine}"] = Moving(samples, step)
    return found


Bands = list[tuple[int, int]]


def _idle(least: int, most: int) -> Bands:
    return [(least, least + (most - least) // 4)]


def _busy(least: int, most: int) -> Bands:
    return [(most - (most - least) // 4, most)]


def _steady(least: int, most: int) -> Bands:
    return [(least, most)]


_BANDS: Mapping[str, Callable[[int, int], Bands]] = {
    "idle": _idle,
    "busy": _busy,
    "burst": lambda least, most: _idle(least, most) + _busy(least, most),
}
"""Pattern -> the bands that its loop goes through, each as long as the others."""
