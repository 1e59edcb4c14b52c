"""What moves goes on when a record is made anew: ramps keep their base and start, or rise from where they are now."""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from pathlib import Path

from mocklib.records import RecordView
from mocklib.spec import KINDS, Clock, FieldValue, ImageSpec, Track

MASK = 0xFFFFFFFFFFFFFFFF
NOT_SUPPORTED = 3
CONSTANT, RAMP, TRACK = KINDS["constant"], KINDS["ramp"], KINDS["track"]


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
    """``spec`` with the motions of ``device`` as they go on from the record ``now``, but for the fields in ``fresh``.

    What adds up never goes back: a ramp with another rate rises from its value now, one that begins does so now, and one that ends stays where it is
    (as a ramp without a rate, so that it is known as one the next time).
    """
    tracks = list(spec.tracks)
    values = dict(spec.system if device is None else spec.devices[device])
    for name, given in values.items():
        before = now.values.get(name)
        if before is not None and name not in fresh and {given.kind, before.kind} & {RAMP, TRACK}:
            values[name] = _carried(before, given, now.tracks, tracks, at_ns, epoch_ns)
    if device is None:
        return replace(spec, system=values, tracks=tuple(tracks))
    devices = [values if number == device else other for number, other in enumerate(spec.devices)]
    return replace(spec, devices=devices, tracks=tuple(tracks))


def _carried(
    before: FieldValue, given: FieldValue, tracks_before: tuple[Track, ...], tracks: list[Track], at_ns: int, epoch_ns: int
) -> FieldValue:  # fmt: skip
    """One field that moves or moved, from what it was; a track's start is put into ``tracks``."""
    if given.status or before.status not in (0, NOT_SUPPORTED) or not {before.kind, given.kind} <= {CONSTANT, RAMP}:
        return _track(before, given, tracks_before, tracks)
    if before.kind == CONSTANT and (before.status or given.start_ns is not None):
        return given if given.start_ns is not None else replace(given, start_ns=at_ns)
    if before.kind == RAMP and before.rate == given.rate:
        return before
    return FieldValue(value_at(before, at_ns, epoch_ns), kind=RAMP, rate=given.rate, start_ns=at_ns)


def _track(before: FieldValue, given: FieldValue, tracks_before: tuple[Track, ...], tracks: list[Track]) -> FieldValue:
    """A field as it is given; a track that is the same keeps its start."""
    if before.status or given.status or not before.kind == given.kind == TRACK:
        return given
    old, new = tracks_before[before.rate], tracks[given.rate]
    if replace(old, start_ns=new.start_ns) != new:
        return given
    tracks.append(old)
    return replace(given, rate=len(tracks) - 1)


def epoch_ns(of_record: int) -> int:
    """Where what a node's record says nothing of began: MOCK_NVML_EPOCH, else the start of the host, as src/clock.c tells it."""
    if of_record:
        return of_record
    asked = os.environ.get("MOCK_NVML_EPOCH", "")
    if re.fullmatch(r"[0-9]{1,10}", asked, re.ASCII) and int(asked):  # anything else is told of by the commands, and not taken
        return int(asked) * 1_000_000_000
    try:
        found = re.search(r"^btime ([0-9]{1,10})$", Path("/proc/stat").read_text("ascii", "replace"), re.MULTILINE | re.ASCII)
    except OSError:
        found = None
    return int(found[1]) * 1_000_000_000 if found else time.time_ns()
