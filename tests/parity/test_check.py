"""The gate itself: every committed capture through the built library, and what the command says of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from junitparser import JUnitXml, TestCase

from harness.cli import guard
from harness.stages.compare import check
from harness.stages.compare.case import Case
from harness.stores.workspace import Workspace
from tests.parity import proved

ROOT = Path(__file__).resolve().parents[2]
BOARDS = ("a100-sxm4-40gb-x1_570.148.08", "geforce-gt-1030-x1_470.74", "h100-sxm5-x8_580.105.08", "t4-x1_595.91.07")


@pytest.fixture(autouse=True)
def library(library_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVPARITY_LIBRARY", str(library_path))


@pytest.fixture
def copied(tmp_path: Path) -> Workspace:
    """A workspace of its own with the T4 in it."""
    for folder in ("captures", "golden", "profiles"):
        (tmp_path / folder).mkdir()
    name = "t4-x1_595.91.07"
    shutil.copytree(ROOT / "captures" / name, tmp_path / "captures" / name)
    (tmp_path / "golden" / "baselines").mkdir()
    for part in (f"golden/{name}.yaml", f"golden/baselines/{name}.yaml", f"profiles/{name}.yaml", "profiles/boards.yaml"):
        shutil.copy2(ROOT / part, tmp_path / part)
    return Workspace(tmp_path)


@pytest.mark.parametrize("name", BOARDS)
def test_a_board_is_byte_equal_with_nothing_ruled_out_and_nothing_unmodelled(name: str):
    (case,) = check.check(Workspace(ROOT), [name])
    assert (case.bytes, case.findings, case.drift) == ("equal", [], [])
    counts = case.counts
    assert counts.exact == counts.elements > 0
    assert (counts.volatile, counts.tolerated, counts.gaps, counts.deferred) == (0, 0, 0, 0)
    assert (counts.redacted, counts.unmodelled, counts.invented) == (0, 0, 0)
    assert case.baselines == {"L": "equal"}


@pytest.mark.gate
def test_every_committed_capture_reaches_parity():
    """Of texts the newest here; every one in ``nox -s parity`` and in a full run."""
    space = Workspace(ROOT)
    left = set(space.profile_ids()) - set(proved.boards(space))
    names = [name for name in space.ids() if name not in left]
    assert set(names) >= set(BOARDS)
    assert [case.id for case in check.check(space, names) if not case.parity] == []


def test_a_check_tells_each_capture_as_it_comes():
    told: list[str] = []

    def watch(done: Iterable[list[Case]]) -> Iterator[list[Case]]:
        for cases in done:
            told.append(cases[0].id)
            yield cases

    names = ["t4-x1_595.91.07", "a100-sxm4-40gb-x1_570.148.08"]
    assert [case.id for case in check.check(Workspace(ROOT), names, watch=watch)] == names
    assert told == names


def test_the_command_writes_version_1_and_exits_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    made = tmp_path / "deep" / "check.json"
    assert guard.run(["check", "t4", "--root", str(ROOT), "--json", str(made)]) == 0
    document = json.loads(made.read_text())
    assert (document["version"], document["totals"]["parity"], document["cases"][0]["id"]) == (1, 1, "t4-x1_595.91.07")
    assert "parity: 1 of 1 captures, 309 elements, 0 findings" in capsys.readouterr().out


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_a_profile_that_says_otherwise_fails_with_the_readings_it_feeds(copied: Workspace, capsys: pytest.CaptureFixture[str]):
    edit(copied.profile_path("t4-x1_595.91.07"), "temperature_gpu_c: 33", "temperature_gpu_c: 34")
    assert guard.run(["check", "--root", str(copied.root), "--json", "-"]) == 1
    (case,) = json.loads(capsys.readouterr().out)["cases"]
    found = [(finding["path"], finding["kind"], finding["expected"], finding["actual"]) for finding in case["findings"]]
    assert found == [("gpu[0]/temperature/gpu_temp", "changed", "33 C", "34 C")]
    assert case["elements"] == case["exact"] + 1


def test_a_transcript_that_was_touched_is_drift_though_the_render_equals_the_golden(copied: Workspace, capsys: pytest.CaptureFixture[str]):
    edit(copied.captures / "t4-x1_595.91.07" / "transcript.txt", "gpu_temp: 33 C", "gpu_temp: 34 C")
    assert guard.run(["check", "--root", str(copied.root)]) == 1
    assert "drift: t4-x1_595.91.07: the transcript no longer gives the bytes" in capsys.readouterr().out


def test_a_golden_that_was_touched_fails(copied: Workspace):
    path = copied.golden / "t4-x1_595.91.07.yaml"
    (scrubbed,) = {line.split()[1] for line in path.read_text().splitlines() if line.strip().startswith("scrubbed:")}
    edit(path, scrubbed, "0" * 64)
    assert guard.run(["check", "--root", str(copied.root)]) == 1


def test_a_baseline_that_no_longer_holds_fails(copied: Workspace, capsys: pytest.CaptureFixture[str]):
    text = f"format: 1\nid: t4-x1_595.91.07\nviews: {{L: '{'0' * 64}'}}\naccepted: {{by: me, why: test}}\n"
    (copied.golden / "baselines" / "t4-x1_595.91.07.yaml").write_text(text)
    assert guard.run(["check", "--root", str(copied.root)]) == 1
    assert "its baseline 0000" in capsys.readouterr().out


def test_files_of_no_capture_fail_the_gate_and_are_named(copied: Workspace, capsys: pytest.CaptureFixture[str]):
    shutil.copy2(copied.profile_path("t4-x1_595.91.07"), copied.profile_path("t4-x1_595.91.70"))
    assert guard.run(["check", "--root", str(copied.root), "--json", "-"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["drift"][0].startswith("profiles/t4-x1_595.91.70.yaml: no capture of that id")
    assert said.err.endswith("parity: 1 of 1 captures, 309 elements, 0 findings, 1 drifted\n")
    assert guard.run(["check", "t4", "--root", str(copied.root)]) == 0


def test_a_profile_that_drifted_is_derived_again(copied: Workspace, capsys: pytest.CaptureFixture[str]):
    path = copied.profile_path("t4-x1_595.91.07")
    before = path.read_bytes()
    edit(path, "device_defaults:\n", "device_defaults:\n  num_gpu_cores: 2560\n")
    assert guard.run(["check", "--root", str(copied.root)]) == 1
    assert "nvparity derive t4-x1_595.91.07" in capsys.readouterr().out
    assert guard.run(["derive", "t4", "--root", str(copied.root)]) == 0
    assert guard.run(["accept", "t4", "--root", str(copied.root)]) == 0
    assert path.read_bytes() == before
    assert guard.run(["derive", "--root", str(copied.root)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert (said[0], said[-1]) == ("pending t4-x1_595.91.07: profiles/t4-x1_595.91.07.yaml", "same    t4-x1_595.91.07")


HEADS = ["capture", "view", "kind", "driver", "layout", "gpus", "elements", "exact", "unmodelled", "redacted", "deferred", "moved", "assumed",
         "rules", "findings", "bytes", "baselines"]  # fmt: skip


def test_a_pipe_gets_the_whole_table(copied: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert guard.run(["check", "--root", str(copied.root)]) == 0
    heads, row, _ = capsys.readouterr().out.splitlines()
    assert heads.split() == HEADS
    assert row.startswith("t4-x1_595.91.07  q-x   own   595.91.07  595.91.07     1       309    309")


@pytest.mark.parametrize(("width", "left"), [(200, HEADS), (80, ["view", "kind", "driver", "gpus", "elements", "exact"]), (20, [])])
def test_columns_are_chosen_by_the_width(
    copied: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int, left: list[str]
):
    monkeypatch.setenv("COLUMNS", str(width))
    assert guard.run(["check", "--root", str(copied.root)]) == 0
    heads, row, *said, _ = capsys.readouterr().out.splitlines()
    shown = heads.split()
    assert [name for name in HEADS if name in {*left, "capture", "findings", "bytes"}] == shown
    assert row.startswith("t4-x1_595.91.07 ")
    assert width == 20 or max(len(heads), len(row)) <= width
    missing = ", ".join(name for name in HEADS if name not in shown)
    assert said == ([f"not shown in {width} columns: {missing} (--json FILE has them)"] if missing else [])


def test_outside_a_workspace_the_shipped_boards_are_checked_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert guard.run(["check", "t4"]) == 0
    said = capsys.readouterr()
    assert said.out.endswith("parity: 1 of 1 captures, 309 elements, 0 findings\n")
    assert "checking the boards shipped with nvparity" in said.err
    assert list(tmp_path.iterdir()) == []


RULES = "format: 1\nrules:\n  - path: {path}\n    kind: volatile\n    reason: it moves\n"


def test_a_rule_covers_what_it_names_and_the_report_counts_it(copied: Workspace, capsys: pytest.CaptureFixture[str]):
    edit(copied.profile_path("t4-x1_595.91.07"), "temperature_gpu_c: 33", "temperature_gpu_c: 34")
    (copied.golden / "rules.yaml").write_text(RULES.format(path="gpu/temperature/gpu_temp"))
    guard.run(["check", "--root", str(copied.root), "--json", "-"])
    said = capsys.readouterr()
    document = json.loads(said.out)
    (case,) = document["cases"]
    assert (case["findings"], case["volatile"], case["exact"]) == ([], 1, case["elements"] - 1)
    assert [(rule["covers"], rule["problem"]) for rule in document["rules"]] == [(1, None)]
    assert "rules.yaml:3: volatile gpu/temperature/gpu_temp covers 1 (reason: it moves)" in said.err


def test_a_rule_without_work_fails_the_gate_by_name(copied: Workspace, capsys: pytest.CaptureFixture[str]):
    (copied.golden / "rules.yaml").write_text(RULES.format(path="gpu/temperature/gpu_temp"))
    assert guard.run(["check", "--root", str(copied.root)]) == 1
    said = capsys.readouterr().out
    assert "rules.yaml:3: volatile gpu/temperature/gpu_temp covers no difference: remove it" in said
    assert said.endswith("0 findings, 1 rules fail\n")


def test_rules_are_taken_from_the_file_named(copied: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (copied.golden / "rules.yaml").write_text("format: 1\nrules: []\n")
    other = tmp_path / "mine.yaml"
    other.write_text(RULES.format(path="gpu/temperature/gpu_tmp"))
    assert guard.run(["check", "--root", str(copied.root), "--rules", str(other)]) == 1
    assert "did you mean 'gpu/temperature/gpu_temp'" in capsys.readouterr().out
    assert guard.run(["check", "--root", str(copied.root), "--rules", str(tmp_path / "none.yaml")]) == 3


def test_junit_has_a_suite_a_capture_and_fails_where_the_check_does(copied: Workspace, tmp_path: Path):
    made = tmp_path / "deep" / "check.xml"
    command = ["check", "--root", str(copied.root), "--junit", str(made)]
    assert guard.run(command) == 0
    suites = {suite.name: suite for suite in JUnitXml.fromfile(str(made))}
    assert list(suites) == ["t4-x1_595.91.07", "workspace"]
    assert [(case.name, case.is_passed) for case in suites["t4-x1_595.91.07"]] == [("view q-x", True), ("baseline L", True), ("files", True)]
    before = made.read_bytes()
    assert guard.run(command) == 0
    assert made.read_bytes() == before
    edit(copied.profile_path("t4-x1_595.91.07"), "temperature_gpu_c: 33", "temperature_gpu_c: 34")
    assert guard.run(command) == 1
    view = next(iter(JUnitXml.fromfile(str(made)))).iterchildren(TestCase).__next__()
    (failure,) = view.result
    assert (failure.message, failure.text) == ("1 findings", "changed gpu[0]/temperature/gpu_temp: expected '33 C', got '34 C'")


def test_a_check_that_fails_on_its_input_leaves_the_junit_file_as_it_was(copied: Workspace, tmp_path: Path):
    made = tmp_path / "check.xml"
    made.write_text("before")
    edit(copied.profile_path("t4-x1_595.91.07"), "temperature_gpu_c: 33", "temperature_gpu: 33")
    assert guard.run(["check", "--root", str(copied.root), "--junit", str(made)]) == 3
    assert made.read_text() == "before"


def test_nothing_to_check_is_status_5(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert guard.run(["check", "--root", str(tmp_path)]) == 5
    assert "no captures" in capsys.readouterr().err


def test_an_unknown_id_is_status_2(capsys: pytest.CaptureFixture[str]):
    assert guard.run(["check", "h101", "--root", str(ROOT)]) == 2
    assert "did you mean 'h100'" in capsys.readouterr().err


def test_a_profile_that_is_wrong_is_status_3_and_names_its_place(copied: Workspace, capsys: pytest.CaptureFixture[str]):
    edit(copied.profile_path("t4-x1_595.91.07"), "temperature_gpu_c: 33", "temperature_gpu: 33")
    assert guard.run(["check", "--root", str(copied.root)]) == 3
    assert "did you mean 'temperature_gpu_c'" in capsys.readouterr().err


def test_a_render_is_the_same_every_time_and_the_list_names_each_gpu(capfdbinary: pytest.CaptureFixture[bytes]):
    renders = []
    for _ in range(2):
        assert guard.run(["render", "h100", "--root", str(ROOT)]) == 0
        renders.append(capfdbinary.readouterr().out)
    assert renders[0] == renders[1] != b""
    assert guard.run(["render", "h100", "--view", "L", "--root", str(ROOT)]) == 0
    assert capfdbinary.readouterr().out.count(b"NVIDIA H100 80GB HBM3 (UUID: GPU-") == 8
