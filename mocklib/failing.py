"""Failure injectors across changes of a record: one that stays as it was keeps its count and its trip, any other begins (ledger V08, V18).

What a trip does is the program of its mode (tables/programs/failure.yaml), which the library runs; it is done again to a record that is made anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mocklib import fields as tables
from mocklib.records import RecordView
from mocklib.spec import KINDS, LOST, Absence, FieldValue, ImageSpec
from mocklib.structs import structs

PROGRAMS = {1: "failure_lost", 2: "failure_fallen_off_bus", 3: "failure_ecc_uncorrectable"}
"""Mode (nvp_failure.h) -> what its trip does."""
PARAMETERS = tuple(f"failure.{name}" for name in ("mode", "after_calls", "probability", "seed", "xid.code"))
_STATE = ("failure.counted_from", "failure.tripped", "failure.told")
MASK = 0xFFFFFFFFFFFFFFFF


def carried(now: RecordView, spec: ImageSpec, device: int, calls: int) -> ImageSpec:
    """``spec`` with the injector of ``device`` as it goes on from the record ``now``, after ``calls`` guarded calls on the device."""
    values = spec.devices[device]
    same = all(_number(values, name) == _number(now.values, name) for name in PARAMETERS)
    kept = {name: now.values[name] for name in _STATE} if same else {_STATE[0]: FieldValue(calls), _STATE[1]: FieldValue(0), _STATE[2]: FieldValue(0)}
    made = _with(spec, device, {**values, **kept})
    if same and _number(kept, "failure.tripped"):
        return tripped(made, device)
    return _with(made, device, {name: _stopped(value) for name, value in made.devices[device].items()})


def _stopped(given: FieldValue) -> FieldValue:
    """A field that counted the calls of an injector that is gone; one that was set to zero meanwhile stays there."""
    value = given.value
    if given.kind != KINDS["counted"] or not isinstance(value, int):
        return given
    return FieldValue(value if value < 1 << 63 else 0)


def tripped(spec: ImageSpec, device: int) -> ImageSpec:
    """``spec`` with ``device`` as its trip leaves it."""
    values, modes = dict(spec.devices[device]), spec.modes[device]
    absences = [*spec.absences, *[LOST] * (device + 1 - len(spec.absences))]
    mode = _number(values, "failure.mode")
    for step in tables.program_steps()[PROGRAMS[mode]] if mode in PROGRAMS else ():  # a state may say anything: an unknown mode is healthy (V01)
        if "set_mode" in step:
            modes = modes - {step["set_mode"]}
        elif "absent" in step:
            absences[device] = Absence(step["absent"], step["absent"])
        else:
            values.update(_effect(values, step))
    return replace(_with(spec, device, values), modes=[*spec.modes[:device], modes, *spec.modes[device + 1 :]], absences=absences)


def _effect(values: Mapping[str, FieldValue], step: Mapping[str, Any]) -> Iterator[tuple[str, FieldValue]]:
    """The field that one step changes, where it has a value."""
    op = next(name for name in ("counted", "add", "raise") if name in step)
    given = values.get(step[op], FieldValue(status=3))
    if given.status:
        return
    if op == "counted":
        yield step[op], FieldValue(given.value, kind=KINDS["counted"])
    else:
        yield step[op], FieldValue(((int(given.value or 0) if op == "add" else 0) + step["value"]) & MASK)


def restarted(record: bytes, calls: int) -> bytes:
    """The bytes of a device's record whose injector begins after ``calls`` guarded calls."""
    ffi, made = structs(), bytearray(record)
    fields = ffi.cast("struct nvp_field *", ffi.from_buffer("unsigned char[]", made, require_writable=True) + ffi.sizeof("struct nvp_record"))
    fields[tables.device_fields()[_STATE[0]].index].value = calls
    return bytes(made)


def _number(values: Mapping[str, FieldValue], name: str) -> int:
    """The number of a field; 0 where it has none."""
    given = values.get(name)
    return 0 if given is None or given.status else int(given.value or 0)


def _with(spec: ImageSpec, device: int, values: dict[str, FieldValue]) -> ImageSpec:
    """``spec`` with other values of ``device``."""
    return replace(spec, devices=[values if number == device else other for number, other in enumerate(spec.devices)])
