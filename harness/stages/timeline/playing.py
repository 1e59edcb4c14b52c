"""A time line in an image: numbers that are a field's become its track, every other answer that moved is served step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.stages.timeline.routes import Routes
from harness.text.timeline_model import Reading, TimeLine, answer_at
from mocklib import fields
from mocklib.answers import Asked, Recording
from mocklib.members import Member
from mocklib.spec import FieldValue, ImageError, ImageSpec, Recorded, Track

RAMP = 1
Place = tuple[int, str]
"""GPU and field."""
_BEHIND = {f"clocks.{domain}_current": f"clocks.unlocked.{domain}_mhz" for domain in ("graphics", "sm", "memory")}
_BEHIND["fan.speed_percent"] = "fan.curve_percent"
"""Reading -> the field that it follows again when a setter lets go of it, which moves as the reading does."""


def play(line: TimeLine, spec: ImageSpec, start_ns: int, *, loop: bool, recording: Recording | None = None) -> ImageSpec:
    """``spec`` with the readings of ``line`` moving from ``start_ns`` (the instant of its first sample), held at the end or looped.

    A field moves as the first call of the file that answers it as a plain number says; other calls that answer from it move along.  A call whose
    samples the fields do not give (a code in the middle, a text, a list, a handler written in C, another value of the same field) is answered by its
    samples, whatever the fields say; so is, by its one answer, a call of the ``recording`` that answers from a field that moves and did not move
    itself.  A field that would grow by itself (a counter, the energy) and that a call of the line answers from moves as the line says, or not at all.
    ImageError for a GPU that the image has not.
    """
    routes = Routes(spec.field_ids)
    calls = list(line.calls())
    for asked, _ in calls:
        if asked.gpu is not None and asked.gpu >= len(spec.devices):
            raise ImageError(f"GPU {asked.gpu} moves, and the profile has {len(spec.devices)} GPUs")
    kept = {one.asked: one for one in spec.answers}
    moving = _tracks([(asked, readings) for asked, readings in calls if asked not in kept], spec, routes)
    devices, tracks = _held([asked for asked, _ in calls], spec, routes), list(spec.tracks)
    for (gpu, name), samples in moving.items():
        devices[gpu][name] = FieldValue(samples[0], kind=2, rate=len(tracks))
        if _BEHIND.get(name) in devices[gpu]:
            devices[gpu][_BEHIND[name]] = devices[gpu][name]
        tracks.append(Track(samples, line.interval_ns, start_ns, loop))
    moving.update({(gpu, _BEHIND[name]): samples for (gpu, name), samples in moving.items() if name in _BEHIND})
    for asked, readings in calls:
        if asked in kept or not _given(_Call(asked, readings), routes, moving):
            kept[asked] = _stepped(asked, readings, line, start_ns, loop)
    sampled = {asked for asked, _ in calls}
    for asked, answer in (recording or {}).items():
        if asked not in sampled and asked not in kept and any((asked.gpu, name) in moving for name in routes.fields(asked)):
            kept[asked] = Recorded(asked, answer)
    return replace(spec, devices=devices, tracks=tuple(tracks), answers=tuple(kept.values()))


def _held(sampled: Sequence[Asked], spec: ImageSpec, routes: Routes) -> list[dict[str, FieldValue]]:
    """The fields of each GPU, of which none grows by itself that a sampled call answers from."""
    devices = [dict(device) for device in spec.devices]
    for asked in sampled:
        for name in routes.fields(asked) if asked.gpu is not None else ():
            field = devices[asked.gpu or 0].get(name)
            if field is not None and field.kind == RAMP:
                devices[asked.gpu or 0][name] = FieldValue(field.value)
    return devices


@dataclass(frozen=True)
class _Call:
    """A call with its readings."""

    asked: Asked
    readings: Sequence[Reading]


def _tracks(calls: list[tuple[Asked, tuple[Reading, ...]]], spec: ImageSpec, routes: Routes) -> dict[Place, tuple[int, ...]]:
    """The fields that move, with their samples: the first is what the profile makes of the field."""
    found: dict[Place, tuple[int, ...]] = {}
    for asked, readings in calls:
        named = routes.members(asked)
        for reading in readings:
            member = named.get(reading.member or "")
            if asked.gpu is None or member is None or member.field is None or (asked.gpu, member.field) in found:
                continue
            if reading.moves and _is_field(reading.samples, member.field, spec.devices[asked.gpu]):
                found[asked.gpu, member.field] = reading.samples
    return found


def _is_field(samples: Sequence[Any], name: str, device: dict[str, FieldValue]) -> bool:
    """Whether the samples are plain numbers that the field ``name`` can take, from the one on that it has."""
    definition = fields.device_fields()[name]
    base = device.get(name, FieldValue(status=3))
    if definition.type not in fields.NUMBERS or base.kind not in (0, RAMP) or base.status or base.value != samples[0]:
        return False
    least = -(2 ** (definition.bits - 1)) if definition.type == "i64" else 0
    return all(type(sample) is int and least <= sample < least + 2**definition.bits for sample in samples)


def _given(call: _Call, routes: Routes, moving: dict[Place, tuple[int, ...]]) -> bool:
    """Whether the image's fields give the call's samples, every one."""
    gpu = call.asked.gpu
    still = not any(reading.moves for reading in call.readings)
    if gpu is None or not any((gpu, name) in moving for name in routes.fields(call.asked)):
        return still
    named = routes.members(call.asked)
    return bool(named) and all(_member_given(reading, named.get(reading.member or ""), gpu, moving) for reading in call.readings)


def _member_given(reading: Reading, member: Member | None, gpu: int, moving: dict[Place, tuple[int, ...]]) -> bool:
    """Whether the field of one member gives its samples."""
    track = None if member is None or member.field is None else moving.get((gpu, member.field))
    if track is not None:
        return reading.samples == track and all(type(sample) is int for sample in reading.samples)
    return reading.member is not None and not reading.moves


def _stepped(asked: Asked, readings: tuple[Reading, ...], line: TimeLine, start_ns: int, loop: bool) -> Recorded:
    """The call answered by its samples."""
    first = answer_at(readings, 0)
    if not any(reading.moves for reading in readings):
        return Recorded(asked, first)
    steps = tuple(answer_at(readings, number) for number in range(line.count))
    return Recorded(asked, first, steps, line.interval_ns, start_ns, loop)
