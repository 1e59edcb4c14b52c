"""The recording of a library that is not ours, the profile made of it, its mock, and the recording of that: the two are equal, answer for answer.

The stubs share no code with the mock and none of its tables: any function answers anything nvml.h lets it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import guard
from harness.stages.answers import deriving, replaying, residual
from harness.stores.workspace import Workspace
from harness.tables import drivers
from harness.text import answers
from mocklib import fields
from mocklib.answers import Asked, Gpu, Recording
from mocklib.binding import Answer
from tests.parity.fixed_point import STILL
from tests.parity.proved import FULL
from tests.stubs import building

STUBS = [(2, 3, "580.105.08"), (3, 1, "470.74"), (6, 1, "595.91.07"), *([(1, 1, "580.105.08"), (5, 1, "535.274.02")] if FULL else [])]

@pytest.fixture(scope="module")
def space(repository: Path) -> Workspace:
    return Workspace.find(repository)


@pytest.fixture(autouse=True)
def _library(library_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVPARITY_LIBRARY", str(library_path))


def replayed(recording: Recording, space: Workspace) -> tuple[Recording, residual.Settled]:
    """What the mock of the recording's profile answers at an instant (energy and counters move on otherwise), and that profile."""
    assert answers.load(answers.dump(recording), "answers.txt") == recording
    derived = deriving.derive(recording, drivers.load(space.root))
    settled = residual.settle(derived.text, recording, space)
    return replaying.record_mock(settled.text + STILL, space), settled


def differing(one: Recording, other: Recording) -> dict[Asked, tuple[Answer | None, Answer | None]]:
    return {asked: (one.get(asked), other.get(asked)) for asked in {**one, **other} if one.get(asked) != other.get(asked)}


def lacking(driver: str) -> frozenset[str]:
    """Functions that the library of ``driver`` does not export."""
    return frozenset(fields.since()) - drivers.load().resolve(driver).exports


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "gpus", "driver"), STUBS)
def test_the_mock_of_a_recording_answers_as_the_library_did(
    nvml_stub: Callable[..., Path], space: Workspace, tmp_path: Path, seed: int, gpus: int, driver: str
) -> None:
    log = tmp_path / "calls"
    without = lacking(driver)
    recording = replaying.record_library(nvml_stub(seed=seed, gpus=gpus, driver=driver, without=without, log=log))
    codes = {answer.code for answer in recording.values()}
    assert {0, 2, 3, 4, 15, 25, 26, 999} <= codes
    assert {asked.gpu for asked in recording} == {None, *range(gpus)}
    assert {asked.function for asked, answer in recording.items() if answer.missing} <= without
    assert ("slot" in log.read_text("ascii").split()) is False
    again, settled = replayed(recording, space)
    assert differing(recording, again) == {}
    assert list(again) == list(recording)
    assert settled.kept > 0 < settled.explained


def test_a_hand_written_library_is_recorded_as_it_was_written(space: Workspace, tmp_path: Path) -> None:
    recording = replaying.record_library(building.sensible(tmp_path))
    written = answers.load((Path(building.__file__).parent / "two_gpus.answers.txt").read_text("utf-8"), "two_gpus.answers.txt")
    assert {asked: answer for asked, answer in recording.items() if asked in written} == written
    rest = {asked: answer for asked, answer in recording.items() if asked not in written}
    entries = [answer for asked, answer in rest.items() if asked.function == "nvmlDeviceGetFieldValues"]
    assert len(entries) > 300
    assert set(map(repr, entries)) == {repr(Answer(3))}
    assert all(answer.missing for asked, answer in rest.items() if asked.function != "nvmlDeviceGetFieldValues")
    again, settled = replayed(recording, space)
    assert differing(recording, again) == {}
    assert settled.explained > settled.kept
    assert again[Asked("nvmlDeviceGetHandleByIndex_v2", None, (("index", 1),))].out == {"device": Gpu(1)}


def test_the_recording_of_a_library_that_is_not_ours_reaches_parity_by_the_commands(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    for folder in ("captures", "profiles", "golden"):
        (root / folder).mkdir(parents=True)
    library = building.sensible(tmp_path / "library")
    assert guard.run(["record", "--views", "none", "--id", "two", "--library", str(library), "--root", str(root)]) == 0
    said = (root / "captures" / "two" / "answers.txt").read_text("utf-8")
    assert 'gpu1 nvmlDeviceGetPowerUsage = SUCCESS {"power":12870}\n' in said
    assert guard.run(["check", "--root", str(root)]) == 0
    (root / "profiles" / "two.yaml").write_text((root / "profiles" / "two.yaml").read_text("utf-8").replace("12870", "12871"), "utf-8")
    assert guard.run(["check", "--root", str(root)]) == 1
