"""State files: what changes at run time, in two halves per record, shared by every process of a node or run.

The rule of a writer is that of src/state.c: under the lock, copy the current half to the other, edit that, then move the generation.  A reader
takes the half that the generation names and looks again.  A writer may die at any store.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mocklib import fields as tables
from mocklib import image
from mocklib.fields import FieldDef
from mocklib.records import RecordView, RecordWriter, read_record
from mocklib.spec import CLOCKS, Clock, FieldValue, ImageError, ImageSpec
from mocklib.structs import as_bytes, constants, structs

LOCK_WAIT_S = 1.0
ROOM = 4096
"""Bytes a record may grow by while the state is in use."""


class StateError(RuntimeError):
    """A state file cannot be used; the message names it and says what is wrong."""


@dataclass(frozen=True)
class StateView:
    """A state taken apart: the generation and current record of the node and of each device."""

    generations: tuple[int, ...]
    node: RecordView
    devices: tuple[RecordView, ...]


def create(path: Path, image_bytes: bytes, room: int = ROOM) -> None:
    """Write a fresh state of ``image_bytes`` to ``path``, whole, by rename; processes that use an older one keep it."""
    view = image.read(image_bytes)
    largest = max(size for _, size in view.records)
    capacity = (largest + room + 63) // 64 * 64
    ffi = structs()
    head = ffi.new("struct nvp_state *")
    head.magic, head.format, head.layout = constants()["NVP_STATE_MAGIC"], constants()["NVP_FORMAT"], tables.layout_word()
    head.image_crc, head.image_size, head.record_count, head.capacity = view.crc, view.size, len(view.records), capacity
    head.first = (ffi.sizeof("struct nvp_state") + 63) // 64 * 64
    head.stride = ffi.sizeof("struct nvp_state_record") + 2 * capacity
    head.size = head.first + head.record_count * head.stride
    data = bytearray(as_bytes(head)).ljust(head.first, b"\0")
    for start, size in view.records:
        data += bytes(ffi.sizeof("struct nvp_state_record")) + image_bytes[start : start + size].ljust(capacity, b"\0") + bytes(capacity)
    aside = path.with_name(f"{path.name}.new.{os.getpid()}")
    try:
        aside.write_bytes(data)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


class _Open:
    """A mapped state, checked."""

    def __init__(self, path: Path, *, write: bool) -> None:
        self.ffi = structs()
        self.path = path
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise StateError(f"{path}: cannot be opened as state: it is no regular file")
        try:
            with path.open("r+b" if write else "rb") as file:
                self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_WRITE if write else mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise StateError(f"{path}: cannot be opened as state: {error}") from error
        self.size = len(self.map)
        self.base = self.ffi.from_buffer("unsigned char[]", self.map, require_writable=write)
        self.head = self.ffi.cast("struct nvp_state *", self.base)
        if not self.sound():
            self.close()
            raise StateError(f"{path}: is no state of this version of nvparity; remove it, it is made again")

    def sound(self) -> bool:
        """Whether the head is that of a state whose records lie within the file."""
        head, known = self.head, constants()
        if self.size < self.ffi.sizeof("struct nvp_state") or head.magic != known["NVP_STATE_MAGIC"] or head.layout != tables.layout_word():
            return False
        stride = self.ffi.sizeof("struct nvp_state_record") + 2 * head.capacity
        inside = bool(head.first + head.record_count * stride <= self.size)
        return inside and head.stride == stride and head.first >= self.ffi.sizeof("struct nvp_state") and head.record_count >= 1

    def record(self, number: int) -> Any:
        """The head of record ``number``."""
        return self.ffi.cast("struct nvp_state_record *", self.base + (self.head.first + number * self.head.stride))

    def half(self, number: int, generation: int) -> bytes:
        """The bytes of the half that ``generation`` names."""
        start = self.head.first + number * self.head.stride + self.ffi.sizeof("struct nvp_state_record") + (generation & 1) * self.head.capacity
        return bytes(self.map[start : start + self.head.capacity])

    def current(self, number: int) -> tuple[int, bytes]:
        """Generation and bytes of a record, read as the library reads them."""
        while True:
            generation = int(self.record(number).generation)
            data = self.half(number, generation)
            if generation == self.record(number).generation:
                return generation, data

    def publish(self, number: int, data: bytes) -> None:
        """Make ``data`` the record: into the other half, then the generation."""
        if len(data) > self.head.capacity:
            raise StateError(f"{self.path}: a record of {len(data)} bytes does not fit its {self.head.capacity}; make the state again with more room")
        generation = int(self.record(number).generation)
        start = self.head.first + number * self.head.stride + self.ffi.sizeof("struct nvp_state_record") + (~generation & 1) * self.head.capacity
        self.map[start : start + self.head.capacity] = data.ljust(self.head.capacity, b"\0")
        self.record(number).generation = generation + 1

    def close(self) -> None:
        """Let the mapping go."""
        self.ffi.release(self.base)
        self.map.close()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """The writer's lock of a state; StateError after a second."""
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        end = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise StateError(f"{path}: another writer holds its lock") from None
                time.sleep(0.001)
        yield
    finally:
        fcntl.flock(lock, fcntl.LOCK_UN)  # a forked child may hold a copy of the descriptor
        os.close(lock)


def read(path: Path) -> StateView:
    """The state as it is now."""
    opened = _Open(path, write=False)
    try:
        found = [opened.current(number) for number in range(opened.head.record_count)]
    finally:
        opened.close()
    node = _taken(path, found[0][1], tables.system_fields())
    devices = tuple(_taken(path, data, tables.device_fields()) for _, data in found[1:])
    return StateView(tuple(generation for generation, _ in found), node, devices)


def _taken(path: Path, data: bytes, known: dict[str, FieldDef]) -> RecordView:
    """The view of a record of the state at ``path``; StateError where it is not sound."""
    try:
        return read_record(data, known)
    except ImageError as error:
        raise StateError(f"{path}: {error}; remove it, it is made again from the image") from error


def overrides(path: Path) -> list[dict[str, FieldValue]]:
    """Per device, what a setter or an override changed: field name -> value in force."""
    return [{name: device.values[name] for name in sorted(device.overridden)} for device in read(path).devices]


def override(path: Path, device: int, values: dict[str, FieldValue]) -> None:
    """Put ``values`` in force on ``device`` (0, 1, ...) as one change; every other field keeps its value."""
    known = tables.device_fields()
    if unknown := set(values) - set(known):
        raise StateError(f"no field {', '.join(sorted(unknown))}")
    with _locked(path):
        opened = _Open(path, write=True)
        try:
            if not 0 <= device < opened.head.record_count - 1:
                raise StateError(f"{path}: no device {device}; it has {opened.head.record_count - 1}")
            now = _taken(path, opened.current(device + 1)[1], known)
            opened.publish(device + 1, _merged(now, values))
        finally:
            opened.close()


def _merged(now: RecordView, values: dict[str, FieldValue]) -> bytes:
    """The record ``now`` with ``values`` put over it and marked."""
    known = tables.device_fields()
    bits = sum(1 << number for number, mode in enumerate(tables.MODES) if mode in now.modes)
    writer = RecordWriter(len(known), bits, now.clock, now.absence)
    spec = ImageSpec(clock=now.clock, tracks=now.tracks)
    for name, definition in known.items():
        try:
            writer.put(definition, values.get(name, now.values[name]), spec)
        except (TypeError, ValueError, OverflowError, AttributeError) as error:
            raise StateError(f"{name} ({definition.type}): {error}") from error
    writer.mark(definition.index for name, definition in known.items() if name in values or name in now.overridden)
    return writer.finish()


def set_clock(path: Path, clock: Clock) -> None:
    """Make ``clock`` the time of every process that uses the state, as one change."""
    with _locked(path):
        opened = _Open(path, write=True)
        try:
            data = opened.current(0)[1]
            _taken(path, data, tables.system_fields())
            opened.publish(0, _clocked(data, clock))
        finally:
            opened.close()


def _clocked(record: bytes, clock: Clock) -> bytes:
    """The node's record with another clock."""
    ffi, made = structs(), bytearray(record)
    head = ffi.cast("struct nvp_record *", ffi.from_buffer("unsigned char[]", made, require_writable=True))
    head.clock_mode, head.clock_at_ns, head.clock_start_ns = CLOCKS[clock.mode], clock.at_ns, clock.start_ns
    head.clock_scale_ppm = round(clock.scale * 1_000_000)
    return bytes(made)


def reset(path: Path, image_bytes: bytes, device: int | None = None) -> None:
    """Drop every override of ``device`` (None: of the node and all devices): the records of the image come back, each as one change.

    The clock is no override: it goes on.
    """
    view = image.read(image_bytes)
    with _locked(path):
        opened = _Open(path, write=True)
        try:
            if opened.head.image_crc != view.crc:
                raise StateError(f"{path}: belongs to another image")
            for number in range(len(view.records)) if device is None else [device + 1]:
                start, size = view.records[number]
                data = image_bytes[start : start + size]
                opened.publish(number, data if number else _clocked(data, _taken(path, opened.current(0)[1], tables.system_fields()).clock))
        finally:
            opened.close()
