"""What moves goes on when a record is made anew: ramps keep their base and start, or rise from where they are now."""

from __future__ import annotations

import time
from dataclasses import replace

from mocklib.records import RecordView
from mocklib.spec import KINDS, Clock, FieldValue, ImageSpec, Track

MASK = 0xFFFFFFFFFFFFFFFF
RAMP, TRACK = KINDS["ramp"], KINDS["track"]


def now_ns(clock: Clock) -> int:
    """The time of a state, as src/clock.c tells it."""
    if clock.mode == "frozen":
        return clock.at_ns
    real = time.time_ns()
    return real if clock.mode == "real" else clock.at_ns + max(0, real - clock.start_ns) * round(clock.scale * 1_000_000) // 1_000_000


def value_at(given: FieldValue, now: int, epoch_ns: int) -> int:
    """Where a ramp stands at ``now``, as src/field.c tells it."""
    elapsed = max(0, now - (given.start_ns or epoch_ns))
    product = given.rate * elapsed
    moved = product // 1_000_000_000 if product >= 0 else -(-product // 1_000_000_000)
    return (int(given.value or 0) + moved) & MASK


def spec_of(view: RecordView, values: dict[str, FieldValue], device: int) -> ImageSpec:
    """A spec of which device ``device`` is what a record says, with other values."""
    nothing: list[dict[str, FieldValue]] = [{}] * device
    return ImageSpec(devices=[*nothing, values], modes=[frozenset()] * device + [view.modes], clock=view.clock, tracks=view.tracks,
                     absences=[view.absence] * (device + 1), marks=[frozenset()] * device + [view.head.marks])  # fmt: skip


def carried(now: RecordView, spec: ImageSpec, device: int | None, at_ns: int, epoch_ns: int, fresh: frozenset[str]) -> ImageSpec:
    """``spec`` with the motions of ``device`` as they go on from the record ``now``, but for the fields in ``fresh``."""
    tracks = list(spec.tracks)
    values = dict(spec.system if device is None else spec.devices[device])
    for name, given in values.items():
        if given.kind and name not in fresh and (before := now.values.get(name)) is not None:
            values[name] = _carried(before, given, now.tracks, tracks, at_ns, epoch_ns)
    if device is None:
        return replace(spec, system=values, tracks=tuple(tracks))
    devices = [values if number == device else other for number, other in enumerate(spec.devices)]
    return replace(spec, devices=devices, tracks=tuple(tracks))


def _carried(
    before: FieldValue, given: FieldValue, tracks_before: tuple[Track, ...], tracks: list[Track], at_ns: int, epoch_ns: int
) -> FieldValue:  # fmt: skip
    """One moving field, from what it was; a track's start is put into ``tracks``."""
    if before.status or before.kind != given.kind:
        return given
    if given.kind == RAMP:
        if before.rate == given.rate:
            return before
        return replace(given, value=value_at(before, at_ns, epoch_ns), start_ns=at_ns)
    old, new = tracks_before[before.rate], tracks[given.rate]
    if replace(old, start_ns=new.start_ns) != new:
        return given
    tracks.append(old)
    return replace(given, rate=len(tracks) - 1)
