"""What moves with time on a GPU: dynamic metrics (ledger U), counters of what holds its clocks back (J11), the energy it has drawn (F10).

Everything starts at the epoch, which all processes of a node share, and which is the capture's own instant while a replay stands there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.stages import compile_device, compile_dynamic
from harness.stages.compile_dynamic import Moving
from harness.stores.schema import keys
from harness.words.errors import InputError
from mocklib import fields
from mocklib.image import FieldValue, Track

RAMP, TRACK = 1, 2
SECOND_NS = 1_000_000_000
DRAW, ENERGY = "power.current_draw_mw", "power.total_energy_consumption_mj"
_REASONS = "clocks_throttle_reasons."


def moved(values: Mapping[str, Any], made: Mapping[str, FieldValue], seed: int, tracks: list[Track]) -> dict[str, FieldValue]:
    """The fields ``made`` of ``values`` (one GPU's keys), in motion; a field with a status keeps it.  New tracks are added to ``tracks``.

    A counter of a reason that is active grows by the time (J11, in nanoseconds), the energy by the draw (mW are mJ a second; of a draw that moves,
    by its mean).  ``seed`` is what dynamic metrics are drawn from where the profile has no seed.  Raises InputError for a metric that has no room
    where NVML has its place.
    """
    found = dict(made)
    dynamic = compile_dynamic.moving(values, made, seed)
    for name, motion in dynamic.items():
        found[name] = _stepped(name, motion, tracks)
    for reason in keys.COUNTED:
        counter = found[f"{_REASONS}counters.{reason}_us"]
        if values.get(f"{_REASONS}{reason}") and counter.status == 0:
            found[f"{_REASONS}counters.{reason}_us"] = FieldValue(counter.value, kind=RAMP, rate=SECOND_NS)
    energy, draw = found[ENERGY], found[DRAW]
    rate = dynamic[DRAW].mean if DRAW in dynamic else draw.value if draw.status == 0 else 0
    if energy.status == 0 and rate:
        found[ENERGY] = FieldValue(energy.value, kind=RAMP, rate=int(rate))
    return found


def _stepped(name: str, motion: Moving, tracks: list[Track]) -> FieldValue:
    """A field in motion; one whose samples are all the same stands."""
    definition, samples = fields.device_fields()[name], motion.samples
    for value in (min(samples), max(samples)):
        if not compile_device.fits(definition, value):
            raise InputError(f"dynamic_metrics: {name}: {value} does not fit the {definition.bits} bits that NVML has for it")
    if min(samples) == max(samples):
        return FieldValue(samples[0])
    tracks.append(motion.track)
    return FieldValue(samples[0], kind=TRACK, rate=len(tracks) - 1)
