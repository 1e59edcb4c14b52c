"""An image that is not sound is refused whole: one line, DRIVER_NOT_LOADED, nothing served."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mocklib import image
from mocklib.answers import Asked, Gpu
from mocklib.binding import Answer, Nvml
from mocklib.image import Recorded
from mocklib.structs import structs
from tests.contract import boards

DRIVER_NOT_LOADED = 9
DIFFERENT_LINES = 64
"""How many different lines a process is told (trace.c)."""
ANSWERS = (
    Recorded(Asked("nvmlDeviceGetClockInfo", 0, (("type", 1),)), Answer(0, {"clock": 5})),
    Recorded(Asked("nvmlDeviceGetClockInfo", 0, (("type", 2),)), Answer(3)),
    Recorded(Asked("nvmlDeviceGetPlatformInfo", 1, (("platformInfo.version", 2),)), Answer(0, {"platformInfo.moduleId": 7})),
    Recorded(Asked("nvmlDeviceGetTopologyNearestGpus", 1, (("level", 20),)), Answer(0, {"count": 1, "deviceArray": [Gpu(0)]})),
)
"""Kinds of keys and writes: a number; a struct of a version; a list with a handle.  Functions are numbered by name."""


@pytest.fixture(scope="module")
def sound() -> bytes:
    """A good image to spoil."""
    return image.pack(boards.spec(2, answers=ANSWERS))


@pytest.fixture
def refusal(nvml: Nvml, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> object:
    """``refusal(bytes)``: the one line the library says about an image.  Each has a name of its own: a process is told one thing once."""
    numbers = itertools.count()

    def offer(data: bytes) -> str:
        path = tmp_path / f"bad{next(numbers)}.nvpimg"
        path.write_bytes(data)
        monkeypatch.setenv("NVPARITY_IMAGE", str(path))
        capfd.readouterr()
        assert nvml.init() == DRIVER_NOT_LOADED
        assert nvml.call("nvmlDeviceGetCount_v2").code == 1
        said = capfd.readouterr().err
        assert said.count("\n") == 1
        assert str(path) in said
        assert "nvparity compile" in said
        return said

    return offer


def spoiled(data: bytes, member: str, value: int, size: int = 4) -> bytes:
    """The image with one word of its head changed and the checksum made right."""
    ffi = structs()
    place = sum(ffi.offsetof(kind, part) for kind, part in zip(("struct nvp_image", "struct nvp_table"), member.split("."), strict=False))
    return image.seal(data[:place] + value.to_bytes(size, "little") + data[place + size :])


def test_the_sound_image_is_served(nvml: Nvml, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sound: bytes) -> None:
    (tmp_path / "good.nvpimg").write_bytes(sound)
    monkeypatch.setenv("NVPARITY_IMAGE", str(tmp_path / "good.nvpimg"))
    assert nvml.init() == 0


def test_a_missing_image_is_named_with_the_command_that_makes_one(
    nvml: Nvml, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NVPARITY_IMAGE", str(tmp_path / "none.nvpimg"))
    assert nvml.init() == DRIVER_NOT_LOADED
    assert "none.nvpimg: No such file" in capfd.readouterr().err


@pytest.mark.parametrize("kept", [0, 1, 7, 8, 100, 176, 1000, -1])
def test_a_truncated_image_is_refused(refusal: object, sound: bytes, kept: int) -> None:
    assert "refused" in refusal(sound[:kept])  # type: ignore[operator]


def test_a_longer_image_is_refused(refusal: object, sound: bytes) -> None:
    assert "longer" in refusal(sound + b"\0" * 64)  # type: ignore[operator]


def test_another_layout_is_refused(refusal: object, sound: bytes) -> None:
    assert "another version" in refusal(spoiled(sound, "layout", 1, 8))  # type: ignore[operator]


def test_what_is_no_image_is_refused(refusal: object) -> None:
    assert "no image" in refusal(b"%YAML 1.2\n---\n" * 100)  # type: ignore[operator]


def test_any_flipped_bit_is_refused(refusal: object, sound: bytes) -> None:
    chosen = random.Random(7)
    places = [*range(0, 176, 8), *(chosen.randrange(len(sound)) for _ in range(38))]
    assert len(places) < DIFFERENT_LINES
    for place in places:
        flipped = sound[:place] + bytes([sound[place] ^ 1 << chosen.randrange(8)]) + sound[place + 1 :]
        refusal(flipped)  # type: ignore[operator]


HEAD_WORDS = [
    ("device_count", 5000),
    ("device_count", 3),
    ("devices.offset", 1 << 31),
    ("devices.count", 1),
    ("gates.count", 3),
    ("gates.offset", 0xFFFFFFF8),
    ("field_ids.count", 1 << 28),
    ("field_index.count", 1 << 30),
    ("slots.count", 1 << 20),
    ("entries.count", 1 << 20),
    ("entries.offset", 0xFFFFFFF8),
    ("entries.count", 200),
    ("programs.count", 0),
    ("steps.offset", 4),
    ("source.count", 8),
    ("source.offset", 0xFFFFFFF0),
    ("forms.count", 1 << 20),
    ("forms.offset", 0xFFFFFFF8),
    ("parts.count", 0),
    ("recorded.count", 1),
    ("answers.count", 2),
    ("writes.count", 3),
    ("answer_data.count", 8),
    ("answer_data.offset", 4),
]


@pytest.mark.parametrize(("member", "value"), HEAD_WORDS)
def test_a_table_out_of_bounds_is_refused_although_the_checksum_is_right(refusal: object, sound: bytes, member: str, value: int) -> None:
    refusal(spoiled(sound, member, value))  # type: ignore[operator]


def row(table: str, number: int, member: str) -> Callable[[bytes], tuple[int, int]]:
    """Place and size of a member of a row of one of the tables of recorded answers."""

    def place(data: bytes) -> tuple[int, int]:
        ffi = structs()
        kind = f"struct nvp_{table.removesuffix('s') if table != 'recorded' else table}"
        head = ffi.from_buffer("struct nvp_image *", data)
        found = dict(ffi.typeof(kind).fields)[member]
        return getattr(head, table).offset + number * ffi.sizeof(kind) + found.offset, ffi.sizeof(found.type)

    return place


WILD_ROWS = [
    ("forms", 0, "function", 5000),
    ("forms", 2, "function", 0),
    ("forms", 0, "parts", 1),
    ("forms", 0, "part_count", 65),
    ("forms", 0, "key_size", 5),
    ("forms", 0, "recorded_count", 1),
    ("forms", 0, "recorded_count", 1 << 31),
    ("forms", 0, "keys", 0xFFFFFFFF),
    ("parts", 0, "position", 3),
    ("parts", 0, "position", 2),
    ("parts", 0, "kind", 9),
    ("parts", 0, "kind", 2),
    ("parts", 0, "width", 9),
    ("parts", 1, "word", 8),
    ("parts", 1, "kind", 1),
    ("recorded", 0, "device", 2),
    ("recorded", 0, "device", 1),
    ("recorded", 0, "steps", 1),
    ("recorded", 0, "step_count", 0),
    ("recorded", 0, "step_count", 0xFFFFFFFF),
    ("answers", 0, "writes", 1),
    ("answers", 0, "write_count", 0xFFFFFFFF),
    ("answers", 3, "count", 0),
    ("writes", 0, "position", 0),
    ("writes", 0, "position", 200),
    ("writes", 0, "kind", 4),
    ("writes", 0, "kind", 2),
    ("writes", 0, "kind", 3),
    ("writes", 0, "offset", 1),
    ("writes", 0, "offset", 0xFFFFFFFF),
    ("writes", 0, "size", 5),
    ("writes", 0, "size", 0xFFFFFFFF),
    ("writes", 0, "data", 0xFFFFFFFF),
    ("writes", 1, "size", 1 << 20),
    ("writes", 2, "offset", 1),
    ("writes", 3, "data", 2),
    ("writes", 3, "offset", 1),
]


@pytest.mark.parametrize(("table", "number", "member", "value"), WILD_ROWS)
def test_a_recorded_answer_that_reaches_out_of_its_place_is_refused_although_the_checksum_is_right(
    refusal: Callable[[bytes], str], sound: bytes, table: str, number: int, member: str, value: int
) -> None:
    place, size = row(table, number, member)(sound)
    assert int.from_bytes(sound[place : place + size], "little") != value
    assert "recorded answers" in refusal(image.seal(sound[:place] + value.to_bytes(size, "little") + sound[place + size :]))


def test_a_record_with_wild_offsets_is_refused_although_the_checksum_is_right(refusal: object, sound: bytes) -> None:
    ffi = structs()
    start, _ = image.read(sound).records[1]
    fields = start + ffi.sizeof("struct nvp_record")
    name = fields + 0 * ffi.sizeof("struct nvp_field")  # the first device field is the name, a text
    head = [(start, 4, 1), (start + 4, 4, 64), (start + 8, 4, 9999), (start + 12, 4, 1 << 31), (start + 16, 4, 1 << 30)]
    for place, size, value in [(name, 8, 1 << 40), (name + 12, 4, 1 << 31), *head]:
        refusal(image.seal(sound[:place] + value.to_bytes(size, "little") + sound[place + size :]))  # type: ignore[operator]
