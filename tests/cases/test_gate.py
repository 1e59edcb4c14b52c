"""The gate: what may move is listed, what is frozen does not, and files say which format they are of."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.cli import guard
from harness.stages.compare import rules
from harness.stages.compare.case import Case
from harness.stages.compare.judge import Actual, Expected, compare
from harness.stages.importing import source
from harness.stores import golden_reader
from mocklib.binding import Nvml
from tests.cases.boards import A100, ROOT, T4, put, text_of
from tests.cases.conftest import Ask, Take

VOLATILE = "format: 1\nrules:\n  - {path: timestamp, kind: volatile, reason: the host's clock}\n"
TOLERANCE = VOLATILE + "  - {path: 'gpu[*]/temperature/gpu_temp', kind: tolerance, within: 1 C, reason: a sensor}\n"


def compared(listed: str, folder: Path) -> Case:
    """Two texts of one board that differ in the time and in one degree, under these rules."""
    first = text_of(T4)
    second = put(put(first, "timestamp", "Fri Aug 21 09:23:11 2026"), "gpu_temp", "34 C")
    (folder / "rules.yaml").write_text(listed)

    def leaves(data: bytes) -> list[tuple[str, str]]:
        return source.leaves(source.read(data, "text"))

    data = first.encode()
    expected = Expected("t4", "own", leaves(data), data, golden_reader.sha256(data), golden_reader.read(data).whole)
    actual = Actual("builtin", "595.91.07", "595.91.07", second.encode(), leaves, lambda text: golden_reader.read(text).whole)
    return compare(expected, actual, {"N/A"}, rules.load(folder / "rules.yaml"), (0, 1))


def test_a_moving_time_is_listed_and_a_temperature_is_not_unless_it_is_too(tmp_path: Path):
    """BL-079: ignored leaves are counted; a change beside them fails."""
    case = compared(VOLATILE, tmp_path)
    assert (case.counts.volatile, [finding.path for finding in case.findings]) == (1, ["gpu[0]/temperature/gpu_temp"])
    case = compared(TOLERANCE, tmp_path)
    assert (case.counts.volatile, case.counts.tolerated, case.findings) == (1, 1, [])


def test_a_tolerance_has_a_unit_and_an_end(tmp_path: Path):
    """BL-079: half a degree does not cover one, a watt no degree."""
    for within in ("0.5 C", "1 W", "1"):
        case = compared(TOLERANCE.replace("1 C", within), tmp_path)
        assert [finding.path for finding in case.findings] == ["gpu[0]/temperature/gpu_temp"], within


@pytest.mark.parametrize(("pattern", "kind"), [("gpu[*]/no_such_element", "volatile"), ("timestamp", "volatile")])
def test_a_rule_without_work_fails_the_gate(pattern: str, kind: str, take: Take, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """BL-079: one that matches nothing, and one that matches an element which never differs: a replay's clock stands still."""
    space = tmp_path / "work"
    shutil.copytree(take(text_of(T4)).space.root, space)
    (tmp_path / "rules.yaml").write_text(f"format: 1\nrules:\n  - {{path: '{pattern}', kind: {kind}, reason: because}}\n")
    assert guard.run(["check", "--root", str(space), "--rules", str(tmp_path / "rules.yaml")]) == 1
    assert f"{tmp_path / 'rules.yaml'}:3" in capsys.readouterr().out
    assert guard.run(["check", "--root", str(space)]) == 0


def everything(nvml: Nvml, device: int) -> list[object]:
    calls = ("nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetPowerUsage",
             "nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetPerformanceState")  # fmt: skip
    answers: list[object] = [nvml.call(name, device) for name in calls]
    return [*answers, *nvml.field_values(device, [(number, 0) for number in (74, 82, 83, 185, 186)])]


def test_a_replay_is_frozen(ask: Ask):
    """BL-066: two reads of everything that moves on hardware are equal, timestamps of fields included, in this init and in the next."""
    first = everything(*ask(A100))
    assert everything(*ask(A100)) == first


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ("format: 1", "format: 3", ["format 3 needs a newer nvparity"]),
        ("format: 1", "format: one", ["'one'"]),
        ("system:\n", "future_block: {x: 1}\nsystem:\n", ["future_block"]),
        ("    gpu: 0\n", "    gpu: 0\n    gpuu: 0\n", ["gpuu", "gpu"]),
    ],
)
def test_a_profile_of_another_format_or_with_unknown_keys_is_refused_by_its_line(was: str, now: str, told: list[str], tmp_path: Path, capsys):
    """BL-073, BL-014: a newer major needs a newer reader, none is an error with a hint.

    The entry would keep an unknown block and warn; an unknown key that is taken and then dropped is what BL-014 tells of, so it is refused with the
    nearest known one, and the format's number says when a file is newer.  A profile that says none is one of the configuration reference, which has
    no such key; every other file must say it.
    """
    profile = (ROOT / "profiles" / f"{T4}.yaml").read_text()
    assert was in profile
    (tmp_path / "p.yaml").write_text(profile.replace(was, now, 1))
    assert guard.run(["compile", str(tmp_path / "p.yaml"), "-o", str(tmp_path / "p.nvpimg")]) == 3
    said = capsys.readouterr().err
    assert f"{tmp_path / 'p.yaml'}:" in said
    assert all(word in said for word in told)
    assert not (tmp_path / "p.nvpimg").exists()


def test_a_profile_says_what_it_was_made_from(take: Take):
    """BL-073: driver, layout and capture are in the file."""
    origin = take(text_of(T4)).profile.origin
    assert (origin["capture"], origin["driver"], origin["layout"]) == ("x", "595.91.07", "595.91.07")


def test_every_call_of_a_render_is_told_with_its_code(take: Take):
    """BL-059, BL-071: a stray N/A can be traced to its call; what no call answered is N/A in the text, and nothing else is."""
    rendered = take(text_of(T4)).trace
    leaves = dict(source.leaves(source.read(text_of(T4).encode(), "text")))
    told = {traced.path: traced for traced in rendered}
    assert told["gpu[0]/temperature/gpu_temp"].route == "call nvmlDeviceGetTemperature(sensorType=0) temp"
    refused = {path for path, traced in told.items() if traced.code == 3}
    assert refused
    assert {leaves[path] for path in refused if path in leaves} == {"N/A"}
