"""Kinds of capture, from real files: trimmed ones, one with MIG on, redacted elements, and what only the giver can say: edited."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli import guard
from harness.stages.render import serving
from harness.stores import captures, goldens
from harness.stores.workspace import Workspace
from mocklib import binding

NOT_FOUND = 6
TRIMMED = {
    "a100-sxm4-80gb_535.54.03_influxdata-telegraf_1": (4, (1,)),
    "geforce-gtx-1070_384.66_microsoft-pai_1": (6, (0, 1)),
    "geforce-gtx-1070_384.66_microsoft-pai_4": (6, (0, 1)),
    "geforce-gtx-1070_384.66_microsoft-pai_5": (6, (0, 1)),
    "geforce-gtx-1070_384.66_microsoft-pai_6": (6, (0, 1)),
    "tesla-v100-sxm3-32gb_410.104_microsoft-pai_1": (16, (0,)),
}
"""Name -> GPUs of the node, and the indices of those that the file has a block of (by their minor numbers)."""
EDITED = "geforce-gtx-1070-ti_nodrv_influxdata-telegraf_1"


@pytest.fixture
def space(tmp_path: Path, library_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("NVPARITY_LIBRARY", str(library_path))
    (tmp_path / "work").mkdir()
    return Workspace(tmp_path / "work")


def imported(space: Workspace, capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert guard.run(["import", *map(str, arguments), "--root", str(space.root), "--id", "x", "--json"]) == 0
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    return made


@pytest.mark.parametrize("name", TRIMMED)
def test_the_blocks_of_a_trimmed_capture_are_rendered_at_their_indices_and_the_other_gpus_are_uncaptured(
    name: str, space: Workspace, raw_capture: Callable[[str], Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    count, held = TRIMMED[name]
    made = imported(space, capsys, raw_capture(f"qx/{name}.xml"))
    assert made["kind"] == "trimmed"
    assert "attached_gpus" not in made["unmodelled"]
    assert [note for note in made["notes"] if f"attached_gpus says {count}, the capture holds {len(held)}" in note]
    (case,) = made["check"]["cases"]
    assert (case["view"], case["gpus"], case["findings"]) == ("q-x", len(held), [])
    monkeypatch.setenv("NVPARITY_IMAGE", str(serving.image_of(space.profile_path("x"), space)))
    nvml = binding.open_library(serving.library())
    assert (nvml.init(), nvml.count()) == (0, count)
    try:
        codes = {index: nvml.call("nvmlDeviceGetName", nvml.device(index)).code for index in range(count)}
    finally:
        nvml.shutdown()
    assert codes == {index: 0 if index in held else NOT_FOUND for index in range(count)}
    listed = serving.render(space.profile_path("x"), space, "L").data.decode()
    assert [line.partition(":")[0] for line in listed.splitlines()] == [f"GPU {index}" for index in held]


def test_mig_elements_are_deferred_in_every_report(
    space: Workspace, raw_capture: Callable[[str], Path], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "240")
    made = imported(space, capsys, raw_capture("qx/a100-sxm4-80gb_535.54.03_influxdata-telegraf_1.xml"))
    deferred = made["readings"]["deferred"]
    assert deferred > 60
    assert made["deferrals"] == {"mig": deferred}
    assert made["unmodelled"] == {}
    assert guard.run(["check", "--root", str(space.root), "--json", str(tmp_path / "check.json")]) == 0
    assert f"mig: {deferred}" in capsys.readouterr().out
    case = json.loads((tmp_path / "check.json").read_bytes())["cases"][0]
    assert (case["deferred"], case["deferrals"], case["unmodelled"]) == (deferred, {"mig": deferred}, 0)
    assert case["elements"] == case["exact"] + case["deferred"]
    assert guard.run(["show", "x", "--root", str(space.root)]) == 0
    assert f"printed verbatim, not served yet (mig): {deferred} elements" in capsys.readouterr().out


def test_redacted_elements_are_neither_exact_nor_unmodelled(space: Workspace, raw_capture: Callable[[str], Path], capsys: pytest.CaptureFixture[str]):
    made = imported(space, capsys, raw_capture("qx/geforce-rtx-3080_595.58.03_influxdata-telegraf_1.xml"))
    assert (made["readings"]["redacted"], made["unmodelled"]) == (1, {})
    case = made["check"]["cases"][0]
    assert (case["redacted"], case["exact"]) == (1, case["elements"] - 1)


def test_without_a_driver_version_a_capture_is_refused_unless_it_is_said_to_be_edited(
    space: Workspace, raw_capture: Callable[[str], Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    given = raw_capture(f"qx/{EDITED}.xml")
    assert guard.run(["import", str(given), "--root", str(space.root)]) == 3
    assert "no driver_version" in (said := capsys.readouterr().err)
    assert "--kind edited" in said
    assert not list(space.root.iterdir())
    made = imported(space, capsys, given, "--kind", "edited")
    assert (made["kind"], made["driver"]) == ("edited", None)
    assert any(note.startswith("no profile: ") for note in made["notes"])
    stored = captures.load(space.captures, "x")
    golden = goldens.load(space.golden / "x.yaml")
    assert stored.query is not None
    assert (stored.sidecar.kind, golden.kind) == ("edited", "edited")
    assert goldens.hashes(given.read_bytes(), stored.query.to_bytes()) == golden.views["q-x"]
    assert not space.profile_path("x").exists()
    assert guard.run(["check", "--root", str(space.root), "--json", str(tmp_path / "check.json")]) == 0
    said = capsys.readouterr().out
    assert "edited: not compared" in said
    assert "parity: 0 of 0 captures, 0 elements, 0 findings, 1 edited: not compared" in said
    totals = json.loads((tmp_path / "check.json").read_bytes())["totals"]
    assert (totals["captures"], totals["parity"], totals["edited"]) == (0, 0, 1)
    for command in (["derive"], ["list"], ["show", "x"]):
        assert guard.run([*command, "--root", str(space.root)]) == 0, capsys.readouterr().err


def test_an_edited_capture_that_makes_sense_has_a_profile_and_is_not_compared(
    space: Workspace, raw_capture: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
):
    made = imported(space, capsys, raw_capture("qx/geforce-gt-730_384.111_microsoft-pai_1.xml"), "--kind", "edited")
    assert (made["kind"], made["check"]["totals"]["elements"]) == ("edited", 0)
    assert space.profile_path("x").is_file()
    assert guard.run(["check", "--root", str(space.root)]) == 0
    assert guard.run(["render", "x", "--root", str(space.root)]) == 0


def test_a_changed_byte_of_an_edited_capture_is_drift(space: Workspace, raw_capture: Callable[[str], Path], capsys: pytest.CaptureFixture[str]):
    imported(space, capsys, raw_capture(f"qx/{EDITED}.xml"), "--kind", "edited")
    transcript = space.captures / "x" / "transcript.txt"
    assert "P8" in transcript.read_text()
    transcript.write_text(transcript.read_text().replace("P8", "P0"))
    assert guard.run(["check", "--root", str(space.root)]) == 1
    assert "drift: x: " in capsys.readouterr().out


def test_a_check_counts_captures_and_a_case_names_its_view(
    space: Workspace, raw_capture: Callable[[str], Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    query = raw_capture("qx/a100-sxm4-40gb_570.148.08_nvidia-k8s-test-infra_1.xml")
    uuid = query.read_text().split("<uuid>")[1].split("<")[0]
    (tmp_path / "list.txt").write_text(f"GPU 0: NVIDIA A100-SXM4-40GB (UUID: {uuid})\n")
    made = imported(space, capsys, query, tmp_path / "list.txt")
    assert [case["view"] for case in made["check"]["cases"]] == ["q-x", "L"]
    assert (made["check"]["totals"]["cases"], made["check"]["totals"]["captures"], made["check"]["totals"]["parity"]) == (2, 1, 1)
    assert guard.run(["check", "--root", str(space.root)]) == 0
    assert "parity: 1 of 1 captures" in capsys.readouterr().out
