"""Images: what Python decided, packed for the C library.  The structs are those of ``include/nvp_image.h``, read here by cffi.

``pack`` is the only packer, ``read`` takes an image apart again (values, statuses, modes, clock), ``write`` puts one in place by rename.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mocklib import fields as tables
from mocklib import packing, recorded
from mocklib.records import RecordWriter, array, part, read_record
from mocklib.spec import (
    LOST,
    Absence,
    Accounted,
    Clock,
    FieldId,
    FieldValue,
    Head,
    ImageError,
    ImageSpec,
    LinkId,
    Pages,
    Process,
    Recorded,
    Slot,
    Source,
    Track,
)  # fmt: skip
from mocklib.structs import as_bytes, constants, structs

__all__ = [
    "Absence", "Accounted", "Clock", "FieldId", "FieldValue", "Head", "ImageError", "ImageSpec", "ImageView", "LinkId", "Pages", "Process",
    "Recorded", "Slot", "Source", "Track", "head_of", "pack", "read", "record", "replaceable", "seal", "write",
]  # fmt: skip


def record(spec: ImageSpec, device: int | None, head: Head | None = None, marked: Iterable[str] = ()) -> bytes:
    """The record of device ``device`` (None: of the node) as the image of ``spec`` has it; ImageError names the field that cannot be packed.

    ``head`` says what else stands in its head (None: what the spec says); ``marked`` are the fields that are marked as set.
    """
    known = tables.system_fields() if device is None else tables.device_fields()
    values = spec.system if device is None else spec.devices[device]
    modes = spec.modes[device] if device is not None and device < len(spec.modes) else frozenset({"present"})
    absence = spec.absences[device] if device is not None and device < len(spec.absences) else LOST
    where = "system" if device is None else f"device {device}"
    for name in values:
        if name not in known:
            raise ImageError(f"{where}: no field {name!r}{packing.nearest(name, known)}")
    if unknown := modes - {*tables.MODES, "armed"}:
        raise ImageError(f"{where}: no mode {', '.join(sorted(unknown))}; modes are {', '.join(tables.MODES)}")
    writer = RecordWriter(len(known), tables.mode_bits(modes), spec.clock, absence, head or head_of(spec, device))
    for definition in known.values():
        given = values.get(definition.name, FieldValue(status=3))
        try:
            writer.put(definition, given, spec)
        except (TypeError, ValueError, OverflowError, AttributeError) as error:
            raise ImageError(f"{where}: {definition.name} ({definition.type}): {error}") from error
    writer.mark(known[name].index for name in marked)
    return writer.finish()


def head_of(spec: ImageSpec, device: int | None) -> Head:
    """What a spec says of a whole record: a clock that names an instant began there, and so did all that adds up."""
    if device is None:
        return Head(epoch_ns=spec.clock.at_ns, seed=spec.seed)
    return Head(marks=spec.marks[device] if device < len(spec.marks) else frozenset())


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
    head.node.record = layout.add(node := record(spec, None), 64)
    head.node.size = len(node)
    entries = ffi.new("struct nvp_device_entry[]", len(spec.devices))
    for number in range(len(spec.devices)):
        packed_record = record(spec, number)
        entries[number].record, entries[number].size = layout.add(packed_record, 64), len(packed_record)
    ids, index, limit = packing.field_ids(spec)
    programs, steps, program_count, step_count = packing.programs(spec.programs)
    source = packing.source(spec.source)
    answers = recorded.pack(spec)
    for name, packed, count in (
        ("devices", as_bytes(entries), len(spec.devices)),
        ("gates", packing.gates(spec.gates | recorded.missing(spec.answers)), len(tables.function_index())),
        ("field_ids", ids, len(spec.field_ids)),
        ("field_index", index, len(index) // 2),
        ("link_ids", packing.link_ids(spec.link_ids), len(spec.link_ids)),
        ("slots", packing.slots(spec.slots), len(spec.slots)),
        ("entries", packing.entries(spec.entries), len(spec.entries)),
        ("programs", programs, program_count),
        ("steps", steps, step_count),
        ("source", source, len(source)),
        *((name, *table) for name, table in answers.items()),
    ):
        table = getattr(head, name)
        table.offset, table.count = layout.add(packed), count
    head.magic, head.format, head.layout = constants()["NVP_IMAGE_MAGIC"], constants()["NVP_FORMAT"], tables.layout_word()
    head.device_count, head.field_id_limit, head.size = len(spec.devices), limit, len(layout.data)
    layout.data[: ffi.sizeof("struct nvp_image")] = as_bytes(head)
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
    absences: list[Absence]
    source: Source | None = None


def read(data: bytes, *, devices: bool = True) -> ImageView:
    """The view of an image, without its ``devices``' records where those are not asked for; ImageError says what is wrong with the bytes."""
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
    entries = array(data, "nvp_device_entry", head.devices.offset, head.device_count)
    places = [(int(entry.record), int(entry.size)) for entry in (head.node, *entries)]
    node = read_record(part(data, *places[0]), tables.system_fields())
    found = [read_record(part(data, *place), tables.device_fields()) for place in places[1:]] if devices else []
    return ImageView(
        system=node.values,
        devices=[item.values for item in found],
        modes=[item.modes for item in found],
        clock=node.clock,
        crc=int(head.crc),
        size=len(data),
        records=places,
        absences=[item.absence for item in found],
        source=_source(data, head.source),
    )


def _source(data: bytes, table: Any) -> Source | None:
    """The profile that an image was compiled from."""
    found = array(data, "nvp_source", table.offset, 1)  # keeps the bytes that known points to
    known = found[0]
    if not known.present:
        return None
    path = part(data, table.offset + structs().sizeof("struct nvp_source"), int(known.path_size))
    return Source(os.fsdecode(path), int(known.size), int(known.mtime_ns), int(known.inode), bytes(known.sha256))


def known_by(path: Path) -> tuple[int, int] | None:
    """What a state says of the image it is of, checksum and size, from the head of the file at ``path``; None where that is no image."""
    ffi = structs()
    try:
        if not path.is_file():  # to open a pipe is to wait for who writes it
            return None
        with path.open("rb") as file:
            data = file.read(ffi.sizeof("struct nvp_image"))
    except OSError:
        return None
    if len(data) < ffi.sizeof("struct nvp_image"):
        return None
    head = ffi.from_buffer("struct nvp_image *", data)
    if head.magic != constants()["NVP_IMAGE_MAGIC"] or head.layout != tables.layout_word():
        return None
    return int(head.crc), int(head.size)


def replaceable(path: Path) -> bool:
    """Whether a regular file may make room for an image: it is one, of whatever version, or empty."""
    with path.open("rb") as file:
        return file.read(8) in (b"", constants()["NVP_IMAGE_MAGIC"].to_bytes(8, "little"))


def write(path: Path, data: bytes) -> None:
    """Put an image in place whole, by rename; an older one stays mapped where it is in use."""
    aside = path.with_name(f"{path.name}.new.{os.getpid()}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        aside.write_bytes(data)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
