"""An image that is not sound is refused whole: one line, DRIVER_NOT_LOADED, nothing served."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from mocklib import image
from mocklib.binding import Nvml
from mocklib.structs import structs
from tests.contract import boards

DRIVER_NOT_LOADED = 9


@pytest.fixture(scope="module")
def sound() -> bytes:
    """A good image to spoil."""
    return image.pack(boards.spec(2))


@pytest.fixture
def refusal(nvml: Nvml, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> object:
    """``refusal(bytes)``: the one line the library says about an image."""

    def offer(data: bytes) -> str:
        path = tmp_path / "bad.nvpimg"
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
    for place in [*range(0, 176, 5), *(chosen.randrange(len(sound)) for _ in range(60))]:
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
    ("programs.count", 0),
    ("steps.offset", 4),
    ("source.count", 8),
    ("source.offset", 0xFFFFFFF0),
]


@pytest.mark.parametrize(("member", "value"), HEAD_WORDS)
def test_a_table_out_of_bounds_is_refused_although_the_checksum_is_right(refusal: object, sound: bytes, member: str, value: int) -> None:
    refusal(spoiled(sound, member, value))  # type: ignore[operator]


def test_a_record_with_wild_offsets_is_refused_although_the_checksum_is_right(refusal: object, sound: bytes) -> None:
    ffi = structs()
    start, _ = image.read(sound).records[1]
    fields = start + ffi.sizeof("struct nvp_record")
    name = fields + 0 * ffi.sizeof("struct nvp_field")  # the first device field is the name, a text
    head = [(start, 4, 1), (start + 4, 4, 64), (start + 8, 4, 9999), (start + 12, 4, 1 << 31), (start + 16, 4, 1 << 30)]
    for place, size, value in [(name, 8, 1 << 40), (name + 12, 4, 1 << 31), *head]:
        refusal(image.seal(sound[:place] + value.to_bytes(size, "little") + sound[place + size :]))  # type: ignore[operator]
