"""One record of an image or state, written and read: the fields, how they move, and their variable data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mocklib import fields as tables
from mocklib.fields import FieldDef
from mocklib.spec import (
    BARE,
    CLOCKS,
    KINDS,
    LOST,
    Absence,
    Accounted,
    Clock,
    FieldValue,
    Head,
    ImageError,
    ImageSpec,
    Pages,
    Process,
    Track,
)  # fmt: skip
from mocklib.structs import constants, structs

MASK = 0xFFFFFFFFFFFFFFFF
MOVING = (KINDS["ramp"], KINDS["track"])
ALIGN = 64


def text_bytes(value: Any) -> bytes:
    """A text as bytes; lone surrogates are the raw bytes they stand for."""
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise ValueError("a text cannot hold NUL")
    return data


class RecordWriter:
    """Collects the fields of one record in order and packs it."""

    def __init__(self, field_count: int, modes: int, clock: Clock, absence: Absence = LOST, given: Head = BARE) -> None:
        self.ffi = structs()
        if clock.mode not in CLOCKS:
            raise ValueError(f"clock mode {clock.mode!r} is none of {', '.join(CLOCKS)}")
        self.clock = clock
        self.head = self.ffi.new("struct nvp_record *")
        self.head.field_count = field_count
        self.head.modes = modes
        self.head.odd = ~(modes << 24) & 0xFFFFFFFF
        self.given = given
        self.head.marks = sum(1 << number for number, mark in enumerate(tables.MARKS) if mark in given.marks)
        self.head.privilege, self.head.epoch_ns, self.head.seed = given.privilege, given.epoch_ns, given.seed
        self.head.handle_code, self.head.reading_code = absence.handle, absence.reading
        self.head.clock_mode = CLOCKS[clock.mode]
        self.head.clock_at_ns = clock.at_ns
        self.head.clock_start_ns = clock.start_ns
        self.head.clock_scale_ppm = round(clock.scale * 1_000_000)
        self.fields = self.ffi.new("struct nvp_field[]", field_count)
        self.motions: list[dict[str, int]] = []
        self.data = bytearray()
        self.inner: list[int] = []  # places in data of 32-bit offsets that count from the start of the record
        self.variable: list[int] = []  # fields whose value is an offset in data
        self.marked: list[int] = []  # fields that are overridden

    def put(self, definition: FieldDef, given: FieldValue, spec: ImageSpec) -> None:
        """Take one field; ValueError or TypeError where the value is not of the field's type."""
        place = self.fields[definition.index]
        place.status = given.status
        needed = {"present", definition.need} if definition.scope == "device" else set()  # one that is not present answers so for every field
        if definition.scope == "device" and definition.name in tables.guarded():
            needed.add("unarmed")
        place.need = sum(1 << number for number, mode in enumerate(tables.MODES) if mode in needed)
        if given.status and (definition.room or definition.moves):
            self._keep(place, definition)
        if given.status:
            return
        if given.value is None and given.kind == 0:
            raise ValueError("has neither a value nor a status")
        if definition.type in tables.NUMBERS:
            self._number(place, given, spec, moves=definition.moves)
            return
        if given.kind:
            raise ValueError("only numbers move")
        start = len(self.data)
        place.value, place.extra = getattr(self, f"_{definition.type}")(given.value)
        self.data += bytes(max(0, definition.room - (len(self.data) - start)))
        self.variable.append(definition.index)

    def _keep(self, place: Any, definition: FieldDef) -> None:
        """Room for what a field that has a status now may be set to."""
        if definition.moves:
            place.extra = len(self.motions)
            self.motions.append({})
        else:
            place.value, place.extra = self._add(b"", bytes(definition.room))[0], 0
            self.variable.append(definition.index)

    def _number(self, place: Any, given: FieldValue, spec: ImageSpec, *, moves: bool) -> None:
        value = int(given.value or 0)
        if isinstance(given.value, bool) or not -(1 << 63) <= value <= MASK:
            raise ValueError(f"{given.value!r} is no 64-bit number")
        place.value, place.kind = value & MASK, given.kind
        if given.kind in MOVING or moves:
            place.extra = len(self.motions)
        if moves and given.kind not in MOVING:
            self.motions.append({})
        if given.kind == 1:
            start = spec.ramp_start_ns if given.start_ns is None else given.start_ns
            self.motions.append({"start_ns": start or 0, "rate": given.rate})
        elif given.kind == 2:
            track = spec.tracks[given.rate]
            offset, _ = self._add(b"".join((sample & MASK).to_bytes(8, "little") for sample in track.samples))
            head = {"start_ns": track.start_ns, "period_ns": track.period_ns, "loop": int(track.loop)}
            self.motions.append({**head, "samples": offset, "sample_count": len(track.samples)})

    def _add(self, own: bytes, tail: bytes = b"") -> tuple[int, int]:
        """Variable data at a multiple of 8, ``tail`` right behind it; offset in the data part and size of ``own``."""
        self.data += bytes(-len(self.data) % 8)
        offset = len(self.data)
        self.data += own + tail
        return offset, len(own)

    def _string(self, value: Any) -> tuple[int, int]:
        return self._add(text_bytes(value))

    def _bytes(self, value: Any) -> tuple[int, int]:
        if not isinstance(value, (bytes, bytearray)):
            raise TypeError(f"{value!r} is no bytes")
        return self._add(bytes(value))

    def _words(self, value: Any) -> bytes:
        return bytes(self.ffi.buffer(self.ffi.new("uint32_t[]", [int(item) for item in value])))

    def _u32list(self, value: Any) -> tuple[int, int]:
        return self._add(self._words(value))

    def _accounted(self, value: Any) -> tuple[int, int]:
        packed = self.ffi.new("struct nvp_accounted[]", [{**vars(process), "running": int(process.running)} for process in value])
        return self._add(bytes(self.ffi.buffer(packed)))

    def _pages(self, value: Any) -> tuple[int, int]:
        head = self.ffi.new("struct nvp_pages *", {"count": value.count, "known": len(value.addresses), "dated": len(value.timestamps)})
        return self._add(bytes(self.ffi.buffer(head)) + b"".join(int(word).to_bytes(8, "little") for word in (*value.addresses, *value.timestamps)))

    def _entries(self, packed: Any, tails: list[bytes], member: str) -> tuple[int, int]:
        """An array of structs with one tail each; ``member`` of a struct becomes the offset of its tail in the record."""
        size = self.ffi.sizeof(packed)
        base = len(self.data) + (-len(self.data) % 8)
        each = size // len(tails) if tails else 0
        offset = base + size
        for number, tail in enumerate(tails):
            setattr(packed[number], member, offset)
            self.inner.append(base + number * each + self.ffi.offsetof(self.ffi.typeof(packed).item, member))
            offset += len(tail)
        return self._add(bytes(self.ffi.buffer(packed)), b"".join(tails))

    def _clocktable(self, value: Any) -> tuple[int, int]:
        packed = self.ffi.new("struct nvp_memory_clock[]", len(value))
        for number, (mhz, clocks) in enumerate(value):
            packed[number].mhz, packed[number].graphics_count = mhz, len(clocks)
        return self._entries(packed, [self._words(clocks) for _, clocks in value], "graphics")

    def _processes(self, value: Any) -> tuple[int, int]:
        packed = self.ffi.new("struct nvp_process[]", len(value))
        names = [text_bytes(process.name) for process in value]
        for number, process in enumerate(value):
            entry = packed[number]
            entry.pid, entry.gpu_instance, entry.compute_instance = process.pid, process.gpu_instance, process.compute_instance
            entry.used_bytes, entry.protected_bytes, entry.name_size = process.used_bytes, process.protected_bytes, len(names[number])
        return self._entries(packed, names, "name")

    def mark(self, fields: Iterable[int]) -> None:
        """Mark fields as overridden, so that a reset knows what to put back."""
        self.marked += fields

    def finish(self) -> bytes:
        """The record: head, fields, motions, marks of what is overridden, variable data."""
        ffi, head = self.ffi, self.head
        texts = [self._add(text) for text in (self.given.text, self.given.all_text)]
        motions = bytes(ffi.buffer(ffi.new("struct nvp_motion[]", self.motions)))
        marks = bytearray((len(self.fields) + 63) // 64 * 8)
        for index in self.marked:
            marks[index // 8] |= 1 << index % 8
        head.motions = ffi.sizeof("struct nvp_record") + ffi.sizeof(self.fields)
        head.motion_count = len(self.motions)
        head.overridden = head.motions + len(motions)
        head.data = head.overridden + len(marks)
        for index in self.variable:
            self.fields[index].value += head.data
        for motion in self.motions:
            motion["samples"] = motion.get("samples", 0) + head.data
        motions = bytes(ffi.buffer(ffi.new("struct nvp_motion[]", self.motions)))
        for place in self.inner:
            moved = int.from_bytes(self.data[place : place + 4], "little") + head.data
            self.data[place : place + 4] = moved.to_bytes(4, "little")
        size = head.data + len(self.data)
        head.size = size + (-size % ALIGN)
        placed = [(place + head.data if length else 0, length) for place, length in texts]
        (head.text, head.text_size), (head.all_text, head.all_text_size) = placed
        head.magic = constants()["NVP_RECORD_MAGIC"]
        return bytes(ffi.buffer(head)) + bytes(ffi.buffer(self.fields)) + motions + bytes(marks) + bytes(self.data) + bytes(-size % ALIGN)


@dataclass(frozen=True)
class RecordView:
    """A record taken apart; ``overridden`` names the fields a setter or an override changed; ``reset``: the bytes of the record that a reset goes
    back to, None for the image's.
    """

    values: dict[str, FieldValue]
    modes: frozenset[str]
    clock: Clock
    overridden: frozenset[str]
    tracks: tuple[Track, ...] = ()
    absence: Absence = LOST
    head: Head = BARE
    reset: bytes | None = None


def part(data: bytes, start: int, size: int) -> bytes:
    """``size`` bytes from ``start`` on; ImageError where they do not lie within ``data``, which may be anything."""
    if start + size > len(data):
        raise ImageError("an offset or a count in it is out of range")
    return data[start : start + size]


def array(data: bytes, struct: str, start: int, count: int) -> Any:
    """``count`` structs from ``start`` on, as a cffi array over a copy; ImageError where they do not lie within ``data``."""
    ffi = structs()
    return ffi.from_buffer(f"struct {struct}[]", part(data, start, count * ffi.sizeof(f"struct {struct}")))


def read_record(data: bytes, known: dict[str, FieldDef]) -> RecordView:
    """The view of one record's bytes; ImageError where they are no sound record."""
    ffi = structs()
    heads = array(data, "nvp_record", 0, 1)  # keeps the bytes that head points to
    head = heads[0]
    if head.magic != constants()["NVP_RECORD_MAGIC"] or head.field_count != len(known) or head.size > len(data):
        raise ImageError("a record is not sound")
    if head.clock_mode not in CLOCKS.values():
        raise ImageError(f"a record has clock mode {head.clock_mode}")
    fields = array(data, "nvp_field", ffi.sizeof("struct nvp_record"), len(known))
    motions = array(data, "nvp_motion", head.motions, head.motion_count)
    tracks: list[Track] = []
    values = {name: _value(data, fields[definition.index], definition, motions, tracks) for name, definition in known.items()}
    modes = tables.mode_names(int(head.modes))
    name = next(name for name, number in CLOCKS.items() if number == head.clock_mode)
    clock = Clock(name, int(head.clock_at_ns), head.clock_scale_ppm / 1_000_000, int(head.clock_start_ns))
    marks = part(data, head.overridden, (len(known) + 7) // 8)
    overridden = frozenset(name for name, definition in known.items() if marks[definition.index // 8] >> definition.index % 8 & 1)
    absence = Absence(int(head.handle_code), int(head.reading_code))
    return RecordView(values, modes, clock, overridden, tuple(tracks), absence, _head(data, head), _reset(data, head))


def _head(data: bytes, head: Any) -> Head:
    """What a record says of the whole."""
    marks = frozenset(mark for number, mark in enumerate(tables.MARKS) if head.marks >> number & 1)
    texts = part(data, head.text, head.text_size), part(data, head.all_text, head.all_text_size)
    return Head(marks, *texts, int(head.privilege), int(head.epoch_ns), int(head.seed))


def _reset(data: bytes, head: Any) -> bytes | None:
    """The bytes of the reset record behind a record."""
    if not head.reset:
        return None
    inner = array(data, "nvp_record", head.reset, 1)
    if inner[0].reset or inner[0].magic != constants()["NVP_RECORD_MAGIC"] or head.reset < head.size:
        raise ImageError("a reset record is not sound")
    return part(data, head.reset, inner[0].size)


def _value(data: bytes, field: Any, definition: FieldDef, motions: Any, tracks: list[Track]) -> FieldValue:
    """One field as FieldValue; a track it steps through is added to ``tracks``."""
    if field.status:
        return FieldValue(status=int(field.status))
    if definition.type in tables.NUMBERS:
        value = int(field.value)
        rate, start = 0, None
        if field.kind not in KINDS.values() or (field.kind in MOVING and field.extra >= len(motions)):
            raise ImageError(f"{definition.name}: does not say how it moves")
        if field.kind == 1:
            rate, start = int(motions[field.extra].rate), int(motions[field.extra].start_ns) or None
        elif field.kind == 2:
            rate = len(tracks)
            tracks.append(_track(data, motions[field.extra]))
        return FieldValue(value - (1 << 64) if definition.type == "i64" and value >> 63 else value, kind=int(field.kind), rate=rate, start_ns=start)
    own = part(data, field.value, field.extra)
    return FieldValue(_variable(data, own, definition.type))


def _track(data: bytes, motion: Any) -> Track:
    """The samples of a motion."""
    samples = part(data, motion.samples, 8 * motion.sample_count)
    numbers = tuple(int.from_bytes(samples[place : place + 8], "little") for place in range(0, len(samples), 8))
    return Track(numbers, int(motion.period_ns), int(motion.start_ns), bool(motion.loop))


def _variable(data: bytes, own: bytes, kind: str) -> Any:
    """Variable data by the field's type, in the form that FieldValue takes."""
    ffi = structs()
    if kind == "string":
        return own.decode("utf-8", "surrogateescape")
    if kind == "bytes":
        return own
    if kind == "u32list":
        return tuple(int.from_bytes(own[place : place + 4], "little") for place in range(0, len(own) - 3, 4))
    if kind == "pages":
        count, known, dated = (int.from_bytes(part(own, start, 8), "little") for start in (0, 8, 16))
        words = part(own, 24, 8 * (known + dated))
        numbers = tuple(int.from_bytes(words[place : place + 8], "little") for place in range(0, len(words), 8))
        return Pages(count, numbers[:known], numbers[known:])
    if kind == "accounted":
        return tuple(_accounted(entry) for entry in array(own, "nvp_accounted", 0, len(own) // ffi.sizeof("struct nvp_accounted")))
    if kind == "clocktable":
        clocks = array(own, "nvp_memory_clock", 0, len(own) // ffi.sizeof("struct nvp_memory_clock"))
        tails = [part(data, clock.graphics, 4 * clock.graphics_count) for clock in clocks]
        return tuple((int(clock.mhz), _variable(data, tail, "u32list")) for clock, tail in zip(clocks, tails, strict=True))
    return tuple(_process(data, entry) for entry in array(own, "nvp_process", 0, len(own) // ffi.sizeof("struct nvp_process")))


def _accounted(entry: Any) -> Accounted:
    """One process of the accounting buffer."""
    figures = (int(entry.gpu_utilization), int(entry.memory_utilization), int(entry.max_memory), int(entry.time_ms))
    return Accounted(int(entry.pid), *figures, bool(entry.running))


def _process(data: bytes, entry: Any) -> Process:
    """One process of a record."""
    name = part(data, entry.name, entry.name_size).decode("utf-8", "surrogateescape")
    pid, used, protected = int(entry.pid), int(entry.used_bytes), int(entry.protected_bytes)
    return Process(pid, used, int(entry.gpu_instance), int(entry.compute_instance), protected, name)
