"""Packing and reading images: what goes in comes out, and what cannot go in is named."""

from __future__ import annotations

import random
import zlib
from pathlib import Path
from typing import Any

import pytest

from mocklib import fields, image, state, structs
from mocklib.image import Accounted, Clock, FieldId, FieldValue, ImageError, ImageSpec, Pages, Process, Slot, Source, Track
from mocklib.state import StateError

VALUES: dict[str, Any] = {
    "u64": [0, 1, 0xFFFFFFFFFFFFFFFF],
    "i64": [0, -8, 1 << 62],
    "string": ["", "Tesla T4", "raw \udcff\udc80", "<&>"],
    "bytes": [b"", bytes(range(16))],
    "accounted": [(), (Accounted(1, 2, 3, 1 << 40, 1 << 50, True), Accounted(0xFFFFFFFF))],
    "pages": [Pages(0), Pages(3), Pages(2, (0x1000, 1 << 40)), Pages(2, (1, 2), (3, 1 << 40)), Pages(2, (1, 2), (3,))],
    "clocktable": [(), ((5001, (1590, 300)), (405, ()))],
    "processes": [(), (Process(7, 1 << 40, 1, 2, 3, "a b"), Process(8, 0xFFFFFFFFFFFFFFFF, name="\udcff"))],
}
FIRST = {kind: next(name for name, definition in fields.device_fields().items() if definition.type == kind) for kind in VALUES}


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, values in VALUES.items() for value in values])
def test_a_value_of_any_type_comes_out_as_it_went_in(kind: str, value: Any) -> None:
    data = image.pack(ImageSpec(devices=[{FIRST[kind]: FieldValue(value)}, {}]))
    assert image.read(data).devices[0][FIRST[kind]] == FieldValue(value)
    assert image.read(data).devices[1][FIRST[kind]] == FieldValue(status=3)


@pytest.mark.parametrize("status", [3, 4, 6, 13, 15, 16, 26, 27, 999])
def test_a_status_comes_out_as_it_went_in(status: int) -> None:
    data = image.pack(ImageSpec(devices=[{"name": FieldValue(status=status)}]))
    assert image.read(data).devices[0]["name"] == FieldValue(status=status)


def test_a_whole_spec_comes_out_as_it_went_in() -> None:
    clock = Clock("scaled", 5, 2.5, 7)
    moving = {"pcie.replay_counter": FieldValue(9, kind=1, rate=-4), "utilization.gpu": FieldValue(0, kind=2, rate=0)}
    spec = ImageSpec(
        system={"system.driver_version": FieldValue("1.2")},
        devices=[moving],
        modes=[frozenset({"ecc"})],
        clock=clock,
        tracks=(Track((1, 2), 10),),
        source=Source("/p", 1, 2, 3, bytes(32)),
    )
    view = image.read(image.pack(spec))
    assert view.system["system.driver_version"] == FieldValue("1.2")
    assert {name: view.devices[0][name] for name in moving} == moving
    assert (view.modes, view.clock) == ([frozenset({"ecc"})], clock)


def test_packing_is_deterministic_and_sealed_with_zlibs_crc() -> None:
    spec = ImageSpec(devices=[{"name": FieldValue("x")}], slots=[Slot(240, "i32", "thermal.tlimit.margin_c"), Slot(26, "ok")])
    data = image.pack(spec)
    assert data == image.pack(spec) == image.seal(data)
    assert zlib.crc32(data[:12] + bytes(4) + data[16:]) == int.from_bytes(data[12:16], "little")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (ImageSpec(devices=[{"nam": FieldValue("x")}]), r"device 0: no field 'nam' \(did you mean 'name'\?\)"),
        (ImageSpec(devices=[{}, {"name": FieldValue()}]), "device 1: name .string.: has neither a value nor a status"),
        (ImageSpec(devices=[{"name": FieldValue("a\0b")}]), "cannot hold NUL"),
        (ImageSpec(devices=[{"name": FieldValue("a", kind=1)}]), "only numbers move"),
        (ImageSpec(devices=[{"brand": FieldValue("tesla")}]), "device 0: brand .u64."),
        (ImageSpec(devices=[{"brand": FieldValue(1 << 64)}]), "no 64-bit number"),
        (ImageSpec(devices=[{"brand": FieldValue(True)}]), "no 64-bit number"),
        (ImageSpec(devices=[{"fabric.cluster_uuid": FieldValue(5)}]), "is no bytes"),
        (ImageSpec(devices=[{"accounting.processes": FieldValue((Accounted(1 << 32),))}]), "accounting.processes"),
        (ImageSpec(system={"system.driver": FieldValue("x")}), "system: no field 'system.driver'"),
        (ImageSpec(devices=[{}], modes=[frozenset({"mig"})]), "no mode mig"),
        (ImageSpec(gates={"nvmlDeviceGetNme": 3}), r"gates: no function 'nvmlDeviceGetNme' \(did you mean 'nvmlDeviceGetName'\?\)"),
        (ImageSpec(field_ids=[FieldId(1, None, "nothing")]), "field id 1: no field 'nothing'"),
        (ImageSpec(slots=[Slot(3, "word", "name")]), "slot 3: no shape 'word'"),
        (ImageSpec(slots=[Slot(600, "ok")]), "slots are 1 to 511"),
        (ImageSpec(entries={"nvmlDeviceGetNme": "nvmlProcessInfo_v1_t"}), "entries: nvmlDeviceGetNme"),
        (ImageSpec(entries={"nvmlDeviceGetComputeRunningProcesses": "nvmlMemory_t"}), "entries: .*nvmlMemory_t: .* nvmlProcessInfo_v2_t"),
        (ImageSpec(programs={"power_limit": [{"frob": "name"}]}), "program power_limit: no step"),
        (ImageSpec(clock=Clock("sundial")), "clock mode 'sundial'"),
        (ImageSpec(devices=[{}] * 4001), "4001 devices"),
    ],
)
def test_what_cannot_be_packed_is_named(spec: ImageSpec, said: str) -> None:
    with pytest.raises((ImageError, ValueError), match=said):
        image.pack(spec)


SPOILED = [lambda data: data[:50], lambda data: b"x" + data[1:], lambda data: data[:-1], lambda data: data[:500] + b"!" + data[501:]]


@pytest.mark.parametrize("spoil", SPOILED)
def test_bytes_that_are_no_sound_image_are_refused(spoil: Any) -> None:
    with pytest.raises(ImageError):
        image.read(spoil(image.pack(ImageSpec(devices=[{}]))))


def test_an_image_is_put_in_place_whole(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "x.nvpimg"
    image.write(path, b"one")
    image.write(path, b"two")
    assert path.read_bytes() == b"two"
    assert [item.name for item in path.parent.iterdir()] == ["x.nvpimg"]


def spoiled(data: bytes, chosen: random.Random, words: range) -> bytes:
    """``data`` with one to three random 32-bit words at ``words``, small ones as likely as any."""
    made = bytearray(data)
    for _ in range(chosen.randrange(1, 4)):
        place = chosen.choice(words)
        made[place : place + 4] = chosen.randrange(1 << chosen.choice((4, 12, 31, 32))).to_bytes(4, "little")
    return bytes(made)


def full() -> bytes:
    """An image with every kind of value, and with fields that move."""
    device = {FIRST[kind]: FieldValue(values[-1]) for kind, values in VALUES.items()}
    moving = {"pcie.replay_counter": FieldValue(4, kind=1, rate=3), "utilization.gpu": FieldValue(0, kind=2, rate=0)}
    return image.pack(ImageSpec(devices=[device | moving] * 2, tracks=(Track((1, 2, 3), 10, loop=True),)))


def test_random_words_in_an_image_are_read_or_refused() -> None:
    chosen, sound, refused = random.Random(5), full(), 0
    for _ in range(400):
        try:
            image.read(image.seal(spoiled(sound, chosen, range(0, len(sound) - 4, 4))))
        except ImageError:
            refused += 1
    assert 10 < refused < 390


@pytest.mark.parametrize("kept", [0, 8, 100, 176, 200, 1000, 5000])
def test_a_sealed_image_that_was_cut_is_refused(kept: int) -> None:
    with pytest.raises(ImageError):
        image.read(image.seal(full()[:kept].ljust(64, b"\0")))


def test_random_words_in_a_state_are_read_or_refused(tmp_path: Path) -> None:
    chosen, path = random.Random(6), tmp_path / "state"
    state.create(path, full())
    fresh, refused = path.read_bytes(), 0
    record = fresh.index(structs.constants()["NVP_RECORD_MAGIC"].to_bytes(4, "little"))
    for round_ in range(300):
        words = range(0, len(fresh) - 4, 4) if round_ % 2 else range(record, record + 200, 4)  # anywhere; the head and the first fields of the node
        path.write_bytes(spoiled(fresh, chosen, words))
        try:
            state.read(path)
            state.override(path, 0, {FIRST["string"]: FieldValue("x")})
        except StateError:
            refused += 1
    assert refused > 3
