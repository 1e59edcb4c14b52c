"""check of a recording: its answers are a view of their own, compared call by call; readings in motion are set aside; contradictions are findings."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from harness.cli import guard
from harness.reports import document, junit, table
from harness.stages import derive
from harness.stages.answers import deriving, replaying, residual
from harness.stages.compare import Case, check
from harness.stores import captures, golden_reader, goldens
from harness.stores.sidecars import VIEW_ANSWERS, Taken, View
from harness.stores.workspace import Workspace
from harness.tables import drivers
from harness.text import answers
from mocklib.answers import Asked, Recording
from mocklib.binding import Answer
from tests.parity.mutations_board import SPACE

pytestmark = pytest.mark.usefixtures("served_library")
T4 = "t4-x1_595.91.07"
TEMPERATURE = Asked("nvmlDeviceGetTemperature", 0, (("sensorType", 0),))
PATH = "gpu[0]/temperature/gpu_temp"
READERS = {'nvmlDeviceGetTemperature {"sensorType":0}', 'nvmlDeviceGetThermalSettings {"sensorIndex":0}',
           'nvmlDeviceGetThermalSettings {"sensorIndex":15}',
           'nvmlDeviceGetTemperatureV {"temperature.version":1,"temperature.sensorType":0}'}  # fmt: skip
Made = Callable[..., Workspace]


@pytest.fixture(scope="module")
def t4() -> tuple[captures.Capture, Recording]:
    return captures.load(SPACE.captures, T4), replaying.record_mock(SPACE.profile_path(T4), SPACE)


@pytest.fixture
def made(tmp_path: Path, t4: tuple[captures.Capture, Recording]) -> Made:
    """``made(recording, moved, alone, profile_of)``: a workspace with the T4 as a recording; ``profile_of``: whose profile it has."""
    capture, answered = t4

    def build(
        recording: Recording = answered,
        moved: tuple[str, ...] = (),
        *,
        alone: bool = False,
        profile_of: Recording | None = None,
        name: str = T4,
    ) -> Workspace:
        space = Workspace(tmp_path)
        texts = {} if alone else dict(capture.texts)
        bare = captures.Capture(replace(capture.sidecar, id=name), texts, recording)
        views = {view: View(golden_reader.sha256(data), golden_reader.sha256(data), len(data)) for view, data in bare.bytes().items()}
        sidecar = replace(bare.sidecar, views=views, taken=Taken("2026-01-31T12:00:00Z", moved, "0.1.0", None, root=False))
        captures.write(space.captures, replace(bare, sidecar=sidecar))
        for folder in (space.profiles, space.golden / "baselines"):
            folder.mkdir(parents=True, exist_ok=True)
        goldens.write(space.golden, goldens.make(name, "own", bare.bytes(), bare.bytes(), "record", "taken", recorded=True))
        if not alone:
            shutil.copy(SPACE.golden / "baselines" / f"{T4}.yaml", space.golden / "baselines" / f"{name}.yaml")
        query = None if alone else capture.query
        text = None if query is None else derive.derive(query, drivers.load().resolve("595.91.07"), name)
        source = recording if profile_of is None else profile_of
        settled = residual.settle(deriving.derive(source, drivers.load(), text=text, capture=name).text, source, space)
        space.profile_path(name).write_text(settled.text)
        return space

    return build


def warmer(recording: Recording, by: int = 3) -> Recording:
    """The recording with another temperature in every call that says it."""

    def moved(value: object) -> object:
        if isinstance(value, dict):
            return {key: number + by if key == "currentTemp" and number else number for key, number in value.items()}
        return [moved(item) for item in value] if isinstance(value, list) else value

    found = dict(recording)
    for asked, answer in recording.items():
        if asked.gpu is not None and answers.call(asked) in READERS and not answer.code:
            out = {key: number + by if key in ("temp", "temperature.temperature") else moved(number) for key, number in answer.out.items()}
            found[asked] = Answer(0, out)
    return found


def cases(space: Workspace, name: str = T4) -> dict[str, Case]:
    return {case.view: case for case in check.check(space, [name])}


def told(case: Case) -> list[tuple[str, str]]:
    return [(finding.kind, finding.path) for finding in case.findings]


def equation(case: Case) -> bool:
    counts = case.counts
    apart = counts.volatile + counts.tolerated + counts.gaps + counts.redacted + counts.unmodelled + counts.deferred + counts.moved
    return counts.elements == counts.exact + apart + sum(1 for finding in case.findings if finding.kind not in ("invented", "contradiction"))


def test_the_answers_of_a_recording_are_a_row_of_their_own(made: Made, t4: tuple[captures.Capture, Recording]) -> None:
    found = cases(made())
    assert list(found) == ["q-x", VIEW_ANSWERS]
    case = found[VIEW_ANSWERS]
    assert (case.findings, case.bytes, case.renderer, case.driver) == ([], "equal", "mock", "595.91.07")
    assert (case.counts.elements, case.counts.exact) == (len(t4[1]), len(t4[1]))
    assert found["q-x"].findings == []


def test_a_recording_without_texts_has_the_one_row(made: Made) -> None:
    found = cases(made(alone=True))
    assert list(found) == [VIEW_ANSWERS]
    assert (found[VIEW_ANSWERS].findings, found[VIEW_ANSWERS].layout) == ([], "595.91.07")


def test_each_answer_that_the_mock_gives_otherwise_is_one_finding(made: Made, t4: tuple[captures.Capture, Recording]) -> None:
    found = cases(made(profile_of=warmer(t4[1])))
    assert set(told(found[VIEW_ANSWERS])) == {("changed", f"gpu[0]/{call}") for call in READERS}
    assert found[VIEW_ANSWERS].bytes == "differs"
    assert told(found["q-x"]) == [("changed", PATH)]
    assert equation(found[VIEW_ANSWERS])


def test_another_code_is_another_state_and_a_symbol_that_one_side_lacks_too(made: Made, t4: tuple[captures.Capture, Recording]) -> None:
    recording = {**t4[1], TEMPERATURE: Answer(15)}
    (finding,) = cases(made(recording, profile_of=t4[1]))[VIEW_ANSWERS].findings[:1]
    assert (finding.kind, finding.gpu, finding.expected) == ("state", "0", "GPU_IS_LOST")
    assert finding.actual is not None
    assert finding.actual.startswith("SUCCESS ")


def test_readings_in_motion_are_set_aside_and_counted(made: Made, t4: tuple[captures.Capture, Recording]) -> None:
    found = cases(made(warmer(t4[1]), (PATH,)))
    assert (told(found["q-x"]), found["q-x"].counts.moved, found["q-x"].rows.moved) == ([], 1, 1)
    assert told(found[VIEW_ANSWERS]) == []
    assert equation(found["q-x"])
    stream = io.StringIO()
    table.check(found.values(), Console(file=stream, width=300))
    heads, row = (line.split() for line in stream.getvalue().splitlines()[:2])
    assert row[heads.index("moved")] == "1"
    assert document.check(found.values())["totals"]["moved"] == 1


def test_nothing_is_set_aside_without_that_evidence(made: Made, t4: tuple[captures.Capture, Recording]) -> None:
    found = cases(made(warmer(t4[1]), ("gpu[0]/fan_speed",)))
    assert (told(found["q-x"]), found["q-x"].counts.moved) == ([("changed", PATH)], 0)


def test_a_contradiction_fails_the_gate_and_is_told_in_every_report(
    made: Made, t4: tuple[captures.Capture, Recording], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = made(warmer(t4[1]))
    case = cases(space)[VIEW_ANSWERS]
    (finding,) = case.findings
    assert (finding.kind, finding.path, finding.row, finding.gpu) == ("contradiction", PATH, "thermal.temperature_gpu_c", "0")
    assert finding.call is not None
    assert finding.call.startswith('nvmlDeviceGetTemperature {"sensorType":0} = SUCCESS {"temp":')
    assert equation(case)
    assert guard.run(["check", "--root", str(space.root), "--json", str(tmp_path / "out.json"), "--junit", str(tmp_path / "out.xml")]) == 1
    line = table.line_of(finding)
    assert line in capsys.readouterr().out
    assert "contradiction" in line
    listed = {case["view"]: case["findings"] for case in json.loads((tmp_path / "out.json").read_text())["cases"]}
    assert [(entry["kind"], entry["row"], entry["call"]) for entry in listed[VIEW_ANSWERS]] == [(finding.kind, finding.row, finding.call)]
    assert "row" not in listed["q-x"][0]
    assert f"view {VIEW_ANSWERS}" in (tmp_path / "out.xml").read_text()
    assert "contradiction" in junit.check([case]).decode()


def test_two_recordings_are_compared_call_by_call(
    made: Made, t4: tuple[captures.Capture, Recording], capsys: pytest.CaptureFixture[str]
) -> None:
    made(alone=True, name="first")
    space = made(warmer(t4[1]), alone=True, name="second")
    assert guard.run(["diff", "first", "second", "--root", str(space.root)]) == 1
    said = capsys.readouterr().out
    assert all(call in said for call in READERS)
    assert "nvmlDeviceGetName" not in said
    assert guard.run(["diff", "first", "first", "--root", str(space.root)]) == 0
    assert guard.run(["diff", "first", "render:first", "--root", str(space.root)]) == 0
