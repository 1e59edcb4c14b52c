"""Images: what Python decided, packed for the C library.  The structs are those of ``include/nvp_image.h``, read here by cffi.

``pack`` is the only packer, ``read`` takes an image apart again (values, statuses, tables), ``write`` puts one in place by rename.
"""

from __future__ import annotations

import functools
import os
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cffi

from mocklib import fields as tables
from mocklib.fields import FieldDef
from mocklib.records import RecordWriter, read_record

KINDS = {"constant": 0, "ramp": 1, "track": 2}
CLOCKS = {"real": 0, "frozen": 1, "scaled": 2}
SHAPES = {"u32": 0, "i32": 1, "string": 2, "processes": 3, "keyed": 4, "handle": 5, "ok": 6}
ANY_SCOPE = 0xFFFFFFFF
NO_FIELD = 0xFFFF
OPS = {"status": 0, "range": 1, "list": 2, "mode": 3, "set": 4, "copy": 5, "zero": 6, "clamp": 7, "set_mode": 8, "rebase": 9}
NO_ARGUMENT = 0xFF


class ImageError(ValueError):
    """A spec cannot be packed or bytes are no sound image; the message names the device and field, or what is wrong with the bytes."""


@dataclass(frozen=True)
class FieldValue:
    """One field of the image.

    ``value`` is by the field's type: int (u64, i64), str or bytes (string; str keeps raw bytes by surrogateescape), bytes, tuple of int (u32list, pids),
    tuple of (MHz, tuple of MHz) (clocktable), tuple of Process (processes), Pages (pages).  ``status`` is the nvmlReturn_t answered instead of it.
    ``kind`` is 0 constant, 1 ramp (``rate`` units per second from the clock's instant on), 2 track (``rate`` is the index in ``ImageSpec.tracks``).
    """

    value: Any = None
    status: int = 0
    kind: int = 0
    rate: int = 0


@dataclass(frozen=True)
class Process:
    """One process: bytes used (0xFFFFFFFFFFFFFFFF where the driver does not say), instance ids (0xFFFFFFFF outside MIG), name as NVML gives it."""

    pid: int
    used_bytes: int
    gpu_instance: int = 0xFFFFFFFF
    compute_instance: int = 0xFFFFFFFF
    protected_bytes: int = 0
    name: str | bytes = ""


@dataclass(frozen=True)
class Pages:
    """Retired pages of one cause: their count, and the addresses that are known (fewer than ``count``: the call answers the count alone)."""

    count: int
    addresses: tuple[int, ...] = ()


@dataclass(frozen=True)
class Track:
    """Samples a field steps through from ``start_ns`` on, one each ``period_ns``; the last is held, or the track is looped."""

    samples: tuple[int, ...]
    period_ns: int
    start_ns: int = 0
    loop: bool = False


@dataclass(frozen=True)
class FieldId:
    """One answer of nvmlDeviceGetFieldValues: id and scope (None: whatever is asked) -> a field, given as ``value_type`` (nvmlValueType_t)."""

    id: int
    scope: int | None
    field: str
    value_type: int = 1


@dataclass(frozen=True)
class Slot:
    """One row of the private table: ``shape`` is one of SHAPES; ``key`` is the second argument of a keyed slot; handle and ok have no field."""

    number: int
    shape: str
    field: str | None = None
    key: int = 0


@dataclass(frozen=True)
class Clock:
    """The library's time: ``real``; ``frozen`` at ``at_ns``; ``scaled``: at_ns + (real - start_ns) x scale.  Nanoseconds since 1970."""

    mode: str = "real"
    at_ns: int = 0
    scale: float = 1.0
    start_ns: int = 0


@dataclass(frozen=True)
class Source:
    """The profile an image is compiled from, as the library recognises it: path, size, mtime, inode, and SHA-256 of its bytes."""

    path: str
    size: int
    mtime_ns: int
    inode: int
    sha256: bytes


@dataclass(frozen=True)
class ImageSpec:
    """Everything an image holds.

    ``devices`` name their fields; one that is missing is NOT_SUPPORTED.  ``modes`` holds per device the mode bits in force (fields.MODES).
    ``gates`` answer a code before any check; ``field_id_limit`` is the largest field id the driver knows (default: the largest listed);
    ``programs`` are setter programs in the form of tables/programs.yaml (None: those).
    """

    system: dict[str, FieldValue] = field(default_factory=dict)
    devices: list[dict[str, FieldValue]] = field(default_factory=list)
    modes: list[frozenset[str]] = field(default_factory=list)
    field_ids: list[FieldId] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    gates: dict[str, int] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    source: Source | None = None
    programs: dict[str, list[dict[str, Any]]] | None = None
    tracks: tuple[Track, ...] = ()
    field_id_limit: int | None = None
    links: tuple[Any, ...] = ()


@functools.cache
def structs() -> cffi.FFI:
    """The structs of nvp_image.h."""
    text = (tables.INCLUDE / "nvp_image.h").read_text(encoding="ascii")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    ffi = cffi.FFI()
    ffi.cdef("\n".join(line for line in text.splitlines() if not line.startswith("#")))
    return ffi


@functools.cache
def constants() -> dict[str, int]:
    """The numeric macros of nvp_image.h."""
    text = (tables.INCLUDE / "nvp_image.h").read_text(encoding="ascii")
    return {name: int(number.rstrip("UL"), 0) for name, number in re.findall(r"#define (NVP_\w+) (0x[0-9a-f]+U?L*|\d+)\b", text)}


def _bytes(value: Any) -> bytes:
    """The bytes of a cffi struct or array."""
    return bytes(structs().buffer(value))


def _field_index(name: str, where: str) -> int:
    known = tables.device_fields()
    if name not in known:
        raise ImageError(f"{where}: no field {name!r}{_nearest(name, known)}")
    return known[name].index


def _nearest(name: str, known: Any) -> str:
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _record(values: dict[str, FieldValue], known: dict[str, FieldDef], spec: ImageSpec, modes: frozenset[str], where: str) -> bytes:
    """One record: every field in order, then its variable data."""
    for name in values:
        if name not in known:
            raise ImageError(f"{where}: no field {name!r}{_nearest(name, known)}")
    if unknown := modes - set(tables.MODES):
        raise ImageError(f"{where}: no mode {', '.join(sorted(unknown))}; modes are {', '.join(tables.MODES)}")
    bits = sum(1 << number for number, mode in enumerate(tables.MODES) if mode in modes)
    writer = RecordWriter(len(known), bits, spec.clock)
    for definition in known.values():
        given = values.get(definition.name, FieldValue(status=3))
        try:
            writer.put(definition, given, spec)
        except (TypeError, ValueError, OverflowError, AttributeError) as error:
            raise ImageError(f"{where}: {definition.name} ({definition.type}): {error}") from error
    return writer.finish()


def _gates(gates: dict[str, int]) -> bytes:
    """The code of each function, 0 for none."""
    codes = [0] * len(tables.function_index())
    for name, code in gates.items():
        if name not in tables.function_index():
            raise ImageError(f"gates: no function {name!r}{_nearest(name, tables.function_index())}")
        codes[tables.function_index()[name]] = code
    return _bytes(structs().new("uint16_t[]", codes))


def _field_ids(spec: ImageSpec) -> tuple[bytes, bytes, int]:
    """The field-id table sorted by id and scope, the index into it by id, and the largest id known."""
    rows = sorted(spec.field_ids, key=lambda row: (row.id, ANY_SCOPE if row.scope is None else row.scope))
    index = [NO_FIELD] * (rows[-1].id + 1 if rows else 0)
    packed = structs().new("struct nvp_field_id[]", len(rows))
    for number, row in enumerate(rows):
        if index[row.id] == NO_FIELD:
            index[row.id] = number
        packed[number].id = row.id
        packed[number].scope = ANY_SCOPE if row.scope is None else row.scope
        packed[number].field = _field_index(row.field, f"field id {row.id}")
        packed[number].value_type = row.value_type
    limit = spec.field_id_limit if spec.field_id_limit is not None else len(index) - 1
    return _bytes(packed), _bytes(structs().new("uint16_t[]", index)), max(limit, 0)


def _slots(slots: list[Slot]) -> bytes:
    """The private table sorted by number and key."""
    rows = sorted(slots, key=lambda slot: (slot.number, slot.key))
    packed = structs().new("struct nvp_slot[]", len(rows))
    for number, row in enumerate(rows):
        if row.shape not in SHAPES:
            raise ImageError(f"slot {row.number}: no shape {row.shape!r}; shapes are {', '.join(SHAPES)}")
        if not 0 < row.number < constants()["NVP_SLOT_COUNT"]:
            raise ImageError(f"slot {row.number}: slots are 1 to {constants()['NVP_SLOT_COUNT'] - 1}")
        packed[number].number = row.number
        packed[number].shape = SHAPES[row.shape]
        packed[number].key = row.key
        plain = row.shape in {"handle", "ok"}
        packed[number].field = NO_FIELD if plain else _field_index(row.field or "", f"slot {row.number}")
    return _bytes(packed)


def _step(program: str, entry: dict[str, Any]) -> dict[str, int]:
    """One step of a setter program as the members of nvp_step."""
    where = f"program {program}"
    op = str(entry["check"]) if "check" in entry else next((name for name in ("set", "copy", "zero", "clamp", "set_mode", "rebase") if name in entry), "")
    if op not in OPS:
        raise ImageError(f"{where}: no step {entry!r}; steps are {', '.join(OPS)}")
    named = entry.get("field") if "check" in entry else entry.get(op) if op not in {"mode", "set_mode"} else None
    low = entry.get("from") if op == "copy" else entry.get("low")
    mode = entry.get("mode") if op == "mode" else entry.get("set_mode")
    return {
        "op": OPS[op],
        "argument": int(entry.get("argument", NO_ARGUMENT)),
        "field": _field_index(named, where) if named is not None else 0,
        "low": _field_index(low, where) if low is not None else NO_FIELD,
        "high": _field_index(entry["high"], where) if "high" in entry else NO_FIELD,
        "code": int(entry.get("code", 0)),
        "mode": 1 << tables.MODES.index(mode) if mode is not None else 0,
        "value": int(entry.get("value", 0)),
    }


def _programs(given: dict[str, list[dict[str, Any]]] | None) -> tuple[bytes, bytes, int, int]:
    """The setter programs and all their steps, in the order of tables/programs.yaml; one that is not given is empty and answers NOT_SUPPORTED."""
    programs = tables.program_steps() if given is None else given
    steps: list[dict[str, int]] = []
    packed = structs().new("struct nvp_program[]", len(tables.program_steps()))
    for number, name in enumerate(tables.program_steps()):
        own = [_step(name, entry) for entry in programs.get(name, [])]
        packed[number].first, packed[number].count = len(steps), len(own)
        steps += own
    return _bytes(packed), _bytes(structs().new("struct nvp_step[]", steps)), len(tables.program_steps()), len(steps)


def _source(source: Source | None) -> bytes:
    """The profile's identity, then its path."""
    path = os.fsencode(source.path) if source else b""
    packed = structs().new("struct nvp_source *")
    packed.path_size = len(path)
    if source:
        packed.present, packed.size, packed.mtime_ns, packed.inode = 1, source.size, source.mtime_ns, source.inode
        packed.sha256 = list(source.sha256)
    return _bytes(packed) + path


class _Layout:
    """Places parts one behind the other, each at a multiple of 64 bytes (records) or 8 (tables)."""

    def __init__(self, start: int) -> None:
        self.data = bytearray(start)

    def add(self, part: bytes, align: int = 8) -> int:
        """Append ``part``; its offset."""
        self.data += bytes(-len(self.data) % align)
        offset = len(self.data)
        self.data += part
        return offset


def pack(spec: ImageSpec) -> bytes:
    """The image of a spec; ImageError names the device and field that cannot be packed."""
    ffi = structs()
    head = ffi.new("struct nvp_image *")
    layout = _Layout(ffi.sizeof("struct nvp_image"))
    if len(spec.devices) > constants()["NVP_MAX_DEVICES"]:
        raise ImageError(f"{len(spec.devices)} devices; an image holds {constants()['NVP_MAX_DEVICES']}")
    head.node.record = layout.add(node := _record(spec.system, tables.system_fields(), spec, frozenset({"present"}), "system"), 64)
    head.node.size = len(node)
    entries = ffi.new("struct nvp_device_entry[]", len(spec.devices))
    for number, values in enumerate(spec.devices):
        modes = spec.modes[number] if number < len(spec.modes) else frozenset({"present"})
        record = _record(values, tables.device_fields(), spec, modes, f"device {number}")
        entries[number].record, entries[number].size = layout.add(record, 64), len(record)
    ids, index, limit = _field_ids(spec)
    programs, steps, program_count, step_count = _programs(spec.programs)
    source = _source(spec.source)
    for name, part, count in (
        ("devices", _bytes(entries), len(spec.devices)),
        ("gates", _gates(spec.gates), len(tables.function_index())),
        ("field_ids", ids, len(spec.field_ids)),
        ("field_index", index, len(index) // 2),
        ("slots", _slots(spec.slots), len(spec.slots)),
        ("programs", programs, program_count),
        ("steps", steps, step_count),
        ("source", source, len(source)),
    ):
        table = getattr(head, name)
        table.offset, table.count = layout.add(part), count
    head.magic, head.format, head.layout = constants()["NVP_IMAGE_MAGIC"], constants()["NVP_FORMAT"], tables.layout_word()
    head.device_count, head.field_id_limit, head.size = len(spec.devices), limit, len(layout.data)
    layout.data[: ffi.sizeof("struct nvp_image")] = _bytes(head)
    return seal(bytes(layout.data))


def seal(data: bytes) -> bytes:
    """``data`` with its checksum made right: what a test calls after it changed a byte on purpose."""
    place = structs().offsetof("struct nvp_image", "crc")
    cleared = data[:place] + bytes(4) + data[place + 4 :]
    return data[:place] + zlib.crc32(cleared).to_bytes(4, "little") + data[place + 4 :]


@dataclass(frozen=True)
class ImageView:
    """An image taken apart: values by field name (FieldValue), modes, clock, and where each record lies."""

    system: dict[str, FieldValue]
    devices: list[dict[str, FieldValue]]
    modes: list[frozenset[str]]
    clock: Clock
    crc: int
    size: int
    records: list[tuple[int, int]]


def read(data: bytes) -> ImageView:
    """The view of an image; ImageError says what is wrong with the bytes."""
    ffi = structs()
    if len(data) < ffi.sizeof("struct nvp_image"):
        raise ImageError("too short to be an image")
    head = ffi.from_buffer("struct nvp_image *", data)
    if head.magic != constants()["NVP_IMAGE_MAGIC"]:
        raise ImageError("no image")
    if head.layout != tables.layout_word():
        raise ImageError("compiled for another version of the library")
    if head.size != len(data) or seal(data) != data:
        raise ImageError("truncated or changed: size or checksum is wrong")
    entries = ffi.cast("struct nvp_device_entry *", ffi.from_buffer(data) + head.devices.offset)
    places = [(int(head.node.record), int(head.node.size))] + [(int(entries[n].record), int(entries[n].size)) for n in range(head.device_count)]
    node = read_record(data[places[0][0] : sum(places[0])], tables.system_fields())
    found = [read_record(data[start : start + size], tables.device_fields()) for start, size in places[1:]]
    return ImageView(node.values, [item.values for item in found], [item.modes for item in found], node.clock, int(head.crc), len(data), places)


def write(path: Path, data: bytes) -> None:
    """Put an image in place whole, by rename; an older one stays mapped where it is in use."""
    aside = path.with_name(f"{path.name}.new.{os.getpid()}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        aside.write_bytes(data)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
