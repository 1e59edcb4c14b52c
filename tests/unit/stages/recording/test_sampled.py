"""A recording with a time line: in the bundle, scrubbed with the answers, played by its mock."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli import guard
from harness.stages.answers import replaying
from harness.stages.compare import check
from harness.stages.importing import bundle, folder
from harness.stages.recording import cleaning, pipeline
from harness.stages.recording.following import Followed
from harness.stages.render import serving
from harness.stages.timeline import file as timeline_file
from harness.stores import captures, profiles
from harness.stores.workspace import Workspace
from harness.tables import views
from harness.text import timeline
from harness.text.timeline_model import Code, Reading, TimeLine, answer_at, readings_of, same
from harness.words.errors import EXIT_USAGE, InputError
from mocklib import binding, state
from mocklib.answers import Asked, Recording
from mocklib.asking import Asker
from mocklib.binding import Answer
from mocklib.spec import Clock
from tests.unit.stages.recording.conftest import SPACE, T4, node_of

NOWHERE = captures.Source()
POWER, SERIAL = Asked("nvmlDeviceGetPowerUsage", 0), Asked("nvmlDeviceGetSerial", 0)
STATE = Asked("nvmlDeviceGetPerformanceState", 0)
PIDS = Asked("nvmlSystemGetProcessName", None, (("pid", 4711),))
FIRST, SECOND = "1320716012345", "1320716099999"
START = 1_769_860_800_000_000_000


def line_of(answers: Recording) -> TimeLine:
    """Power that moves and is lost for a while, and a serial that does, from what the node answered."""
    power = answers[POWER].out["power"]
    serials = [Answer(0, {"serial": text}) for text in (FIRST, SECOND, FIRST)]
    return TimeLine(10**9, START, 3, (Reading(POWER, "power", (power, Code(15), power + 7)), *readings_of(SERIAL, serials)))


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    (tmp_path / "space").mkdir()
    return Workspace(tmp_path / "space")


@pytest.fixture
def record(space: Workspace, t4_answers: Recording) -> Callable[..., pipeline.Recording]:
    """``record(mode, line)``: the node's answers into ``space``, with a time line where one is given."""

    def run(mode: str = "new", line: TimeLine | None = None, answers: Recording | None = None) -> pipeline.Recording:
        node = node_of(None, answers or t4_answers)
        if line is not None:
            node = replace(node, follow=lambda _: Followed(line, "time line: 3 of 3 samples"))
        return pipeline.run(space, node, views.select("none"), None, mode, NOWHERE)

    return run


@pytest.fixture
def named(t4_answers: Recording) -> Recording:
    """The node's answers with an identifier in them."""
    return {**t4_answers, SERIAL: Answer(0, {"serial": FIRST})}


def test_a_time_line_is_in_the_bundle_and_its_mock_stands_at_the_first_sample(
    record: Callable[..., pipeline.Recording], space: Workspace, named: Recording
) -> None:
    done = record(line=line_of(named), answers=named)
    assert done.made is not None
    assert done.made.parity
    capture = captures.load(space.captures, T4)
    assert capture.timeline is not None
    assert capture.sidecar.taken is not None
    assert capture.sidecar.taken.timeline
    assert "timeline: {loop: false}\n" in space.profile_path(T4).read_text()
    assert all(case.parity for case in check.check(space, [T4]))
    path = timeline_file.found(profiles.load(space.profile_path(T4)))
    assert path == space.captures / T4 / "timeline.txt"
    moved = [line for line in path.read_text().splitlines() if line.startswith("recorded")]
    assert moved == ["recorded: 2026-01-31T12:00:00.000000000Z"]


def test_what_moves_is_scrubbed_with_the_answers(record: Callable[..., pipeline.Recording], space: Workspace, named: Recording) -> None:
    record(line=line_of(named), answers=named)
    capture = captures.load(space.captures, T4)
    assert capture.timeline is not None
    assert capture.answers is not None
    serials = next(reading.samples for reading in capture.timeline.readings if reading.member == "serial")
    assert serials[0] == serials[2] == capture.answers[SERIAL].out["serial"] != serials[1]
    kept = b"".join(path.read_bytes() for path in space.root.rglob("*") if path.is_file())
    assert FIRST.encode() not in kept
    assert SECOND.encode() not in kept


def test_names_in_lists_and_whole_answers_are_scrubbed_too() -> None:
    names = [Answer(6), Answer(0, {"name": "/home/ann/train"}), Answer(0, {"other": "/home/ann/train"})]
    line = TimeLine(1, 1, 3, readings_of(PIDS, names))
    assert line.readings[0].member is None
    cleaned = cleaning.clean({}, {}, line).timeline
    assert cleaned is not None
    assert "ann" not in timeline.dump(cleaned)
    assert cleaned.readings[0].samples[0] == Answer(6)
    assert cleaning.clean({}, {}, cleaned).timeline == cleaned


def test_a_refresh_of_the_same_samples_changes_nothing_and_of_others_proposes(
    record: Callable[..., pipeline.Recording], named: Recording
) -> None:
    line = line_of(named)
    record(line=line, answers=named)
    later = replace(line, start_ns=START + 5, late=(2,))
    assert record("refresh", later, named).outcome == "same"
    other = replace(line, readings=line.readings[1:])
    assert record("refresh", other, named).outcome == "proposed"


def test_a_bundle_is_taken_over_with_its_time_line(
    record: Callable[..., pipeline.Recording], space: Workspace, named: Recording, tmp_path: Path
) -> None:
    record(line=line_of(named), answers=named)
    (tmp_path / "there").mkdir()
    there = Workspace(tmp_path / "there")
    outcomes = list(folder.recordings(there, space.root, bundle.find(space.root)))
    assert [one.outcome for one in outcomes] == ["imported"]
    files = [path.relative_to(space.root) for path in (space.captures / T4).iterdir()]
    assert all((there.root / file).read_bytes() == (space.root / file).read_bytes() for file in files)
    assert Path("captures", T4, "timeline.txt") in files


def test_a_bundle_whose_time_line_holds_an_identifier_is_refused(
    record: Callable[..., pipeline.Recording], space: Workspace, named: Recording
) -> None:
    record(line=line_of(named), answers=named)
    path = space.captures / T4 / "timeline.txt"
    text = path.read_text()
    placeholder = next(word for word in text.split() if word.startswith('="'))
    path.write_text(text.replace(placeholder, f'="{SECOND}"'))
    with pytest.raises(InputError, match=r"timeline\.txt:8: holds what looks like a real identifier \(serial\)"):
        bundle.read(space.root, T4)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--interval", "1"], "--count is missing"),
        (["--count", "5"], "--interval is missing"),
        (["--interval", "0", "--count", "5"], "--interval 0: samples stand 0.001 to 86400 seconds apart"),
        (["--interval", "x", "--count", "5"], "'x' is not a valid float"),
        (["--interval", "1", "--count", "1"], "--count 1: a time line has 2 to"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_before_anything_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    (tmp_path / "node").mkdir()
    arguments = ["record", "--root", str(tmp_path / "node"), "--views", "none", "--library", str(tmp_path / "gone.so"), *options]
    assert guard.run(arguments) == EXIT_USAGE
    assert said in capsys.readouterr().err
    assert list((tmp_path / "node").iterdir()) == []


@pytest.fixture
def moving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library that moves by itself: the mock of a time line of milliseconds that starts over for ever, played."""
    power = tuple(20_000 + 137 * number for number in range(400))
    states = [Answer(0, {"pState": number % 9}) if number % 3 else Answer(15) for number in range(401)]
    readings = (Reading(POWER, "power", (27_220, *power)), *readings_of(STATE, states))
    (tmp_path / "moving").mkdir()
    (tmp_path / "moving" / "t.txt").write_text(timeline.dump(TimeLine(10**6, 1, 401, readings)))
    profile = tmp_path / "moving" / "p.yaml"
    profile.write_text(SPACE.profile_path(T4).read_text() + "timeline: {file: t.txt, loop: true}\n")
    serving.write_image(profile, SPACE, tmp_path / "moving" / "p.nvpimg")
    serving.make_state(tmp_path / "moving" / "p.nvpimg", tmp_path / "moving" / "state", Clock("scaled", 1_800_000_000 * 10**9, 1.0, 0))
    monkeypatch.setenv("NVPARITY_IMAGE", str(tmp_path / "moving" / "p.nvpimg"))
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "moving" / "state"))
    return serving.library_of(profile, SPACE)


def test_a_node_that_moves_by_itself_is_recorded_and_its_mock_gives_every_sample(
    moving: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "node").mkdir()
    options = ["--views", "none", "--library", str(moving), "--interval", "0.003", "--count", "9", "--id", "x"]
    assert guard.run(["record", "--root", str(tmp_path / "node"), *options]) == 0
    assert "time line: 9 of 9 samples, one every 0.003 s; " in capsys.readouterr().out
    space = Workspace(tmp_path / "node")
    capture = captures.load(space.captures, "x")
    assert capture.timeline is not None
    assert capture.answers is not None
    assert POWER in dict(capture.timeline.calls())
    assert replaying.record_mock(space.profile_path("x"), space) == capture.answers
    image, held = tmp_path / "x.nvpimg", tmp_path / "x.state"
    serving.write_image(space.profile_path("x"), space, image)
    serving.make_state(image, held)
    start = state.read(held).node.clock.at_ns
    monkeypatch.setenv("NVPARITY_IMAGE", str(image))
    monkeypatch.setenv("MOCK_NVML_STATE", str(held))
    (tmp_path / "own").mkdir()
    nvml = binding.open_library(shutil.copy(moving, tmp_path / "own" / "libnvidia-ml.so.1"))
    assert nvml.init() == 0
    asker = Asker(nvml)
    for number in range(9):
        state.set_clock(held, Clock("frozen", start + number * 3 * 10**6))
        due = {asked: answer_at(readings, number) for asked, readings in capture.timeline.calls()}
        wrong = [asked for asked, answer in {**capture.answers, **due}.items() if not answer.missing and not same(asker.answer(asked), answer)]
        assert (number, wrong) == (number, [])
    nvml.shutdown()
