"""State files: what changes at run time, in two halves per record, shared by every process of a node or run.

The rule of a writer is that of src/writing.c: under the lock, the half that is not in force is made, then the generation moves.  A reader takes the
half that the generation names and looks again.  A writer may die at any store.  ``writing`` is the lock for as long as one change takes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mocklib import carrying, failing, image, ring
from mocklib import fields as tables
from mocklib.fields import FieldDef
from mocklib.records import RecordView, read_record
from mocklib.spec import BARE, CLOCKS, Clock, FieldValue, Head, ImageError, ImageSpec
from mocklib.statefile import StateError, StateFile, create, grown, locked, made_of, there
from mocklib.structs import constants, structs

__all__ = [
    "Event", "StateError", "StateView", "Writing", "add_event", "change_clock", "create", "events", "locked", "made_of", "of_image", "override",
    "overrides", "publish", "read", "reset", "set_clock", "set_marks", "set_privilege", "set_seed", "there", "writing",
]  # fmt: skip
ALIGN = 64


@dataclass(frozen=True)
class StateView:
    """A state taken apart: the generation and current record of the node and of each device."""

    generations: tuple[int, ...]
    node: RecordView
    devices: tuple[RecordView, ...]


@dataclass(frozen=True)
class Event:
    """One event of the ring: ``time_ns`` since 1970 by the state's clock, device (None: the node), NVML event type, data, instances."""

    sequence: int
    time_ns: int
    device: int | None
    type: int
    data: int
    gpu_instance: int = 0xFFFFFFFF
    compute_instance: int = 0xFFFFFFFF


def _known(number: int) -> dict[str, FieldDef]:
    """The fields of record ``number`` (0: the node)."""
    return tables.device_fields() if number else tables.system_fields()


def _taken(path: Path, number: int, data: bytes) -> RecordView:
    """The view of a record of the state at ``path``; StateError where it is not sound."""
    try:
        return read_record(data, _known(number))
    except ImageError as error:
        raise StateError(f"{path}: {error}; remove it, it is made again from the image") from error


def read(path: Path) -> StateView:
    """The state as it is now."""
    opened = StateFile(path, write=False)
    try:
        found = [opened.current(number) for number in range(opened.head.record_count)]
    finally:
        opened.close()
    views = [_taken(path, number, data) for number, (_, data) in enumerate(found)]
    return StateView(tuple(generation for generation, _ in found), views[0], tuple(views[1:]))


def of_image(image_bytes: bytes) -> StateView:
    """What a fresh state of an image says; ImageError where it is none."""
    view = image.read(image_bytes, devices=False)
    node, *devices = [read_record(image_bytes[start : start + size], _known(number)) for number, (start, size) in enumerate(view.records)]
    return StateView((0,) * len(view.records), node, tuple(devices))


def overrides(path: Path) -> list[dict[str, FieldValue]]:
    """Per device, what a setter or an override changed: field name -> value in force."""
    return [{name: device.values[name] for name in sorted(device.overridden)} for device in read(path).devices]


class Writing:
    """A state whose lock is held: what is in force, and changes, each in force as soon as it is made.

    Devices are numbered from 0; None is the node.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.opened = StateFile(path, write=True)
        ring.settle(self.opened)

    def _number(self, device: int | None) -> int:
        if device is not None and not 0 <= device < self.opened.head.record_count - 1:
            raise StateError(f"{self.path}: no device {device}; it has {self.opened.head.record_count - 1}")
        return 0 if device is None else device + 1

    def bytes_of(self, device: int | None) -> bytes:
        """The bytes of a record in force."""
        return self.opened.current(self._number(device))[1]

    def size_of(self, device: int | None) -> int:
        """Bytes of a record in force without the reset record behind it."""
        head = structs().from_buffer("struct nvp_record *", self.bytes_of(device))
        return int(head.size)

    def record(self, device: int | None) -> RecordView:
        """A record in force."""
        return _taken(self.path, self._number(device), self.bytes_of(device))

    def now_ns(self) -> int:
        """The state's time, nanoseconds since 1970."""
        return carrying.now_ns(self.record(None).clock)

    def put(self, device: int | None, data: bytes, back: bytes | None = None) -> None:
        """Publish a record, with ``back`` behind it as what a reset goes back to (None: the image's).

        A state with too little room for that, or for the reset to it, is made again larger; so that it may be, nothing else holds it open here.
        """
        number = self._number(device)
        self.opened = grown(self.opened, 2 * _aligned(max(len(data), len(back or b""))))
        self.opened.publish(number, _joined(data, back))

    def calls(self, device: int) -> int:
        """How many guarded calls were made on a device."""
        counts = self.opened.ffi.cast("uint64_t *", self.opened.base + int(self.opened.head.counters))
        return int(counts[device + 1])


@contextlib.contextmanager
def writing(path: Path) -> Iterator[Writing]:
    """The state at ``path`` with its lock held; StateError where it is none, or somebody else held the lock for a second."""
    with locked(path):
        found = Writing(path)
        try:
            yield found
        finally:
            found.opened.close()


def _aligned(size: int) -> int:
    return -(-size // ALIGN) * ALIGN


def _joined(data: bytes, back: bytes | None) -> bytes:
    """A record and the reset record behind it, as one half holds them."""
    if back is None:
        return data
    ffi, made = structs(), bytearray(data.ljust(_aligned(len(data)), b"\0") + back)
    head = ffi.cast("struct nvp_record *", ffi.from_buffer("unsigned char[]", made, require_writable=True))
    head.reset, head.total = _aligned(len(data)), len(made)
    return bytes(made)


def publish(
    path: Path | Writing, device: int | None, spec: ImageSpec, base: ImageSpec | None = None, *, text: bytes = b"", all_text: bytes = b"",
    fresh: Iterable[str] = (), marked: Iterable[str] = (),
) -> None:  # fmt: skip
    """Make what ``spec`` says of ``device`` (0, 1, ...; None: the node) its record, as one change, in every process at once.

    ``base`` is the spec whose record a reset of the device goes back to: its profile with the overrides of all devices, ``all_text`` (None: the
    image's record).  ``text`` is the document of the device's own overrides.  What moves goes on: a ramp or track that is the same keeps its start
    and base, a ramp with another rate rises from its value now; those named in ``fresh`` begin as the spec says.  ``marked`` are fields that stay
    marked as set by a setter.  The node keeps clock, privilege, epoch and seed.  StateError, ImageError.
    """
    if not isinstance(path, Writing):
        with writing(path) as held:
            publish(held, device, spec, base, text=text, all_text=all_text, fresh=fresh, marked=marked)
        return
    now = path.record(device)
    made = carrying.carried(now, spec, device, path.now_ns(), carrying.epoch_ns(path.record(None).head.epoch_ns), frozenset(fresh))
    if device is not None:
        made = failing.carried(now, made, device, path.calls(device))
    head = replace(image.head_of(made, device), text=text, all_text=all_text)
    back_head = replace(image.head_of(base, device), all_text=all_text) if base else BARE
    if device is None:
        made, head, back_head = replace(made, clock=now.clock), _kept(head, now.head), _kept(back_head, now.head)
    path.put(device, image.record(made, device, head, marked), image.record(base, device, back_head) if base else None)


def _kept(head: Head, now: Head) -> Head:
    """A node's head with what no override says of it."""
    return replace(head, privilege=now.privilege, epoch_ns=now.epoch_ns, seed=now.seed)


def override(path: Path, device: int, values: dict[str, FieldValue]) -> None:
    """Put ``values`` in force on ``device`` (0, 1, ...) as one change, marked; every other field keeps its value."""
    known = tables.device_fields()
    if unknown := set(values) - set(known):
        raise StateError(f"no field {', '.join(sorted(unknown))}")
    with writing(path) as held:
        now = held.record(device)
        spec = carrying.spec_of(now, now.values | values, device)
        try:
            data = image.record(spec, device, now.head, {*values, *now.overridden})
        except ImageError as error:
            raise StateError(str(error)) from error
        held.put(device, data, now.reset)


def _edited(record: bytes, **members: int) -> bytes:
    """A record with other numbers in its head."""
    ffi, made = structs(), bytearray(record)
    head = ffi.cast("struct nvp_record *", ffi.from_buffer("unsigned char[]", made, require_writable=True))
    for name, value in members.items():
        setattr(head, name, value)
    return bytes(made)


def _clock_members(clock: Clock) -> dict[str, int]:
    return {"clock_mode": CLOCKS[clock.mode], "clock_at_ns": clock.at_ns, "clock_start_ns": clock.start_ns,
            "clock_scale_ppm": round(clock.scale * 1_000_000)}  # fmt: skip


def _edit_node(path: Path | Writing, **members: int) -> None:
    """Change numbers in the head of the node's record, as one change."""
    if not isinstance(path, Writing):
        with writing(path) as held:
            _edit_node(held, **members)
        return
    path.record(None)
    path.opened.publish(0, _edited(path.bytes_of(None), **members))


def set_clock(path: Path, clock: Clock, epoch_ns: int | None = None) -> None:
    """Make ``clock`` the time of every process that uses the state, as one change; ``epoch_ns`` moves what adds up from there (None: it stays)."""
    _edit_node(path, **_clock_members(clock), **({} if epoch_ns is None else {"epoch_ns": epoch_ns}))


def change_clock(path: Path, change: Callable[[Clock], Clock]) -> Clock:
    """Make what ``change`` makes of the state's clock its clock, as one change under the lock, so that none is lost; the clock there is then."""
    with writing(path) as held:
        made = change(held.record(None).clock)
        held.opened.publish(0, _edited(held.bytes_of(None), **_clock_members(made)))
    return made


def set_marks(path: Path, device: int, marks: Iterable[str]) -> None:
    """Make ``marks`` (fields.MARKS) all that hides ``device`` from an nvmlInit, as one change."""
    held = set(marks)
    if unknown := held - set(tables.MARKS):
        raise StateError(f"no mark {', '.join(sorted(unknown))}; marks are {', '.join(tables.MARKS)}")
    bits = sum(1 << number for number, mark in enumerate(tables.MARKS) if mark in held)
    with writing(path) as opened:
        now = opened.record(device)
        opened.put(device, _edited(opened.bytes_of(device)[: opened.size_of(device)], marks=bits, reset=0, total=0), now.reset)


def set_privilege(path: Path, user: bool) -> None:
    """Whether functions that need root answer NO_PERMISSION in every process that uses the state."""
    _edit_node(path, privilege=constants()["NVP_USER" if user else "NVP_ROOT"])


def set_seed(path: Path | Writing, seed: int) -> None:
    """What numbers are drawn from when a record of the state is compiled anew."""
    _edit_node(path, seed=seed & 0xFFFFFFFFFFFFFFFF)


def add_event(path: Path, event: Event) -> int:
    """Append an event to the ring, with the next sequence and (where ``time_ns`` is 0) the state's time; its sequence."""
    device = constants()["NVP_NODE"] if event.device is None else event.device
    with writing(path) as held:
        return ring.append(held.opened, time_ns=event.time_ns or held.now_ns(), type=event.type, data=event.data, device=device,
                           gpu_instance=event.gpu_instance, compute_instance=event.compute_instance)  # fmt: skip


def events(path: Path) -> list[Event]:
    """The newest events, the oldest first."""
    opened = StateFile(path, write=False)
    try:
        return [_event(entry) for entry in ring.entries(opened)]
    finally:
        opened.close()


def _event(entry: Any) -> Event:
    device = None if entry.device == constants()["NVP_NODE"] else int(entry.device)
    figures = (int(entry.type), int(entry.data), int(entry.gpu_instance), int(entry.compute_instance))
    return Event(int(entry.sequence), int(entry.time_ns), device, *figures)


def reset(path: Path, image_bytes: bytes, device: int | None = None) -> None:
    """Drop every override of ``device`` (None: of the node and all devices): the records of the image come back, each as one change.

    Clock, privilege, epoch and seed are no overrides: they go on.
    """
    view = image.read(image_bytes)
    with writing(path) as held:
        if held.opened.head.image_crc != view.crc:
            raise StateError(f"{path}: belongs to another image")
        node = held.record(None)
        kept = {**_clock_members(node.clock), "privilege": node.head.privilege, "epoch_ns": node.head.epoch_ns, "seed": node.head.seed}
        held.record(device)
        for number in range(len(view.records)) if device is None else [device + 1]:
            start, size = view.records[number]
            data = image_bytes[start : start + size]
            held.opened.publish(number, failing.restarted(data, held.calls(number - 1)) if number else _edited(data, **kept))
