"""``timeline`` of a profile: which file it is, what it makes of the image, one clear error for one that is missing or damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.stages import compile as compiling
from harness.stages.render import serving
from harness.stores import profiles
from harness.stores.workspace import Workspace
from harness.tables import drivers
from harness.text import timeline
from harness.text.timeline_model import Reading, TimeLine, instant
from harness.words.errors import InputError
from mocklib.answers import Asked
from mocklib.spec import Clock, FieldValue, ImageSpec, Track

POWER = Asked("nvmlDeviceGetPowerUsage", 0)
LINE = TimeLine(1_000_000_000, instant("2026-08-21T08:54:01.250000000Z"), 3, (Reading(POWER, "power", (100, 120, 90)),))
PROFILE = """format: 1
version: "1.0"
system: {driver_version: 570.148.08}
%s
device_defaults: {power: {current_draw_mw: 100}}
devices: [{index: 0}]
"""
ORIGIN = "origin: {capture: b200-x1_1, driver: 570.148.08, layout: 570.148.08}\n"


def space(folder: Path, keys: str, line: TimeLine = LINE) -> Path:
    """A profile with these keys, and a time line in captures/b200-x1_1."""
    (folder / "captures" / "b200-x1_1").mkdir(parents=True)
    (folder / "captures" / "b200-x1_1" / "timeline.txt").write_text(timeline.dump(line))
    (folder / "profiles").mkdir()
    path = folder / "profiles" / "x.yaml"
    path.write_text(PROFILE % keys)
    return path


def compiled(path: Path) -> ImageSpec:
    return compiling.compile_profile(profiles.load(path), drivers.load().resolve("570.148.08"))


@pytest.mark.parametrize(
    "keys",
    [
        "timeline: {file: ../captures/b200-x1_1/timeline.txt}",
        "timeline: {}\n" + ORIGIN,
        "timeline: {loop: false}\nrecorded: {capture: b200-x1_1}\norigin: {driver: 570.148.08, layout: 570.148.08}",
    ],
)
def test_the_file_is_the_one_named_else_that_of_the_capture(tmp_path: Path, keys: str) -> None:
    made = compiled(space(tmp_path, keys))
    assert made.devices[0]["power.current_draw_mw"] == FieldValue(100, kind=2)
    assert made.tracks == (Track((100, 120, 90), 1_000_000_000, LINE.start_ns),)
    assert made.clock == Clock("frozen", LINE.start_ns)


def test_the_first_sample_stands_at_the_instant_of_the_clock(tmp_path: Path) -> None:
    at = instant("2026-08-21T10:54:01.000000000Z")  # as nvidia-smi tells the time: in the node's own zone
    made = compiled(space(tmp_path, 'timeline: {loop: true}\nclock: {at: "2026-08-21T10:54:01Z"}\n' + ORIGIN))
    assert made.tracks == (Track((100, 120, 90), 1_000_000_000, at, loop=True),)
    assert made.clock == Clock("frozen", at)


def test_a_clock_that_is_real_stays_so(tmp_path: Path) -> None:
    made = compiled(space(tmp_path, "timeline: {}\nclock: {mode: real}\n" + ORIGIN))
    assert made.clock == Clock()
    assert made.tracks[0].start_ns == LINE.start_ns


def test_a_profile_without_the_key_does_not_move(tmp_path: Path) -> None:
    made = compiled(space(tmp_path, ORIGIN))
    assert (made.tracks, made.answers) == ((), ())


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("timeline: {file: none.txt}", r"x\.yaml: timeline: .*/profiles/none\.txt is no file; bring it, or take the key timeline out"),
        ("timeline: {file: .}", r"x\.yaml: timeline: .*/profiles is no file"),
        ("timeline: {}", r"x\.yaml: timeline names no file, nor the profile a capture"),
        ("timeline: {fil: x}", r"x\.yaml:4: unknown key 'timeline\.fil' \(did you mean 'file'\?\)"),
        ("timeline: {loop: 1}", r"x\.yaml:4: timeline\.loop: 1 should be a valid boolean"),
        ("timeline: x.txt", r"x\.yaml:4: timeline: 'x\.txt' should be a mapping"),
    ],
)
def test_a_time_line_that_cannot_be_found_is_one_clear_error(tmp_path: Path, keys: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        compiled(space(tmp_path, keys))
    assert "\n" not in str(caught.value)


def test_a_damaged_time_line_is_named_with_its_line(tmp_path: Path) -> None:
    path = space(tmp_path, "timeline: {}\n" + ORIGIN)
    file = tmp_path / "captures" / "b200-x1_1" / "timeline.txt"
    file.write_text(file.read_text().replace("+20", "+2O"))
    with pytest.raises(InputError, match=r"timeline\.txt:7: '\+2O' \(sample 2\) is no sample"):
        compiled(path)
    file.write_bytes(b"format: 1\n\xff")
    with pytest.raises(InputError, match=r"timeline\.txt: byte 10 is not UTF-8"):
        compiled(path)


def test_a_time_line_of_more_gpus_is_that_of_another_recording(tmp_path: Path) -> None:
    other = TimeLine(1, 1, 2, (Reading(Asked("nvmlDeviceGetPowerUsage", 1), "power", (1, 2)),))
    with pytest.raises(InputError, match=r"GPU 1 moves, and the profile has 1 GPUs; is it that of another recording\?"):
        compiled(space(tmp_path, "timeline: {}\n" + ORIGIN, other))


def test_a_profile_in_memory_finds_no_file() -> None:
    profile = profiles.parse((PROFILE % "timeline: {file: x.txt}").encode())
    with pytest.raises(InputError, match="give the profile as a file"):
        compiling.compile_profile(profile, drivers.load().resolve("570.148.08"))


def test_an_image_in_the_cache_is_made_again_where_its_time_line_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVPARITY_CACHE", str(tmp_path / "cache"))
    path = space(tmp_path, "timeline: {}\n" + ORIGIN)
    workspace = Workspace.nearby(str(tmp_path))
    first = serving.image_of(path, workspace)
    assert serving.image_of(path, workspace) == first
    file = tmp_path / "captures" / "b200-x1_1" / "timeline.txt"
    file.write_text(file.read_text().replace("+20", "+21"))
    assert serving.image_of(path, workspace) != first
