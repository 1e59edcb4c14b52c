"""``nvparity diff`` on the repository's own boards and on files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import guard

pytestmark = pytest.mark.usefixtures("served_library")
ROOT = Path(__file__).resolve().parents[3]
T4 = "t4-x1_595.91.07"


def diff(*arguments: str) -> int:
    return guard.run(["diff", *arguments, "--root", str(ROOT)])


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


@pytest.mark.parametrize("other", ["t4", T4, "render:t4", f"render:{T4}"])
def test_a_capture_equals_itself_and_its_render(other: str, capsys: pytest.CaptureFixture[str]):
    assert diff("t4", other) == 0
    assert capsys.readouterr().out.splitlines()[2:] == ["equal of 309 elements"]


def test_a_render_may_stand_first(capsys: pytest.CaptureFixture[str]):
    assert diff("render:t4", "t4") == 0
    assert capsys.readouterr().out.startswith("a: render:t4 (render, driver 595.91.07)\nb: t4 (capture")


def test_a_file_is_compared_with_a_capture_and_only_what_was_changed_is_told(query: Path, capsys: pytest.CaptureFixture[str]):
    assert diff("t4", str(query)) == 0
    edit(query, "<gpu_temp>33 C</gpu_temp>", "<gpu_temp>34 C</gpu_temp>")
    edit(query, "09:23:10 2026", "09:23:11 2026")
    capsys.readouterr()
    assert diff("t4", str(query)) == 1
    assert capsys.readouterr().out.splitlines()[2:] == [
        "changed  gpu[0]/temperature/gpu_temp (thermal.temperature_gpu_c): '33 C' -> '34 C'",
        "1 changed of 309 elements; 1 volatile not shown",
    ]
    assert diff("t4", str(query), "--volatile") == 1
    assert "changed  timestamp (timestamp): 'Fri Aug 21 09:23:10 2026' -> 'Fri Aug 21 09:23:11 2026'" in capsys.readouterr().out


def test_not_supported_and_deprecated_are_different_states(query: Path, capsys: pytest.CaptureFixture[str]):
    edit(query, "<display_mode>Requested functionality has been deprecated<", "<display_mode>N/A<")
    assert diff("t4", str(query)) == 1
    assert "state    gpu[0]/display_mode (display.mode): 'Requested functionality has been deprecated' -> 'N/A'" in capsys.readouterr().out


def test_rules_of_a_file_hide_what_they_name(query: Path, tmp_path: Path):
    edit(query, "<gpu_temp>33 C</gpu_temp>", "<gpu_temp>34 C</gpu_temp>")
    (tmp_path / "rules.yaml").write_text("format: 1\nrules: [{path: gpu/temperature/gpu_temp, kind: tolerance, within: 1 C, reason: x}]\n")
    assert diff("t4", str(query), "--rules", str(tmp_path / "rules.yaml")) == 0
    assert diff("t4", str(query), "--rules", str(tmp_path / "none.yaml")) == 3


def test_two_profiles_are_compared_key_by_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    mine = tmp_path / "mine.yaml"
    mine.write_bytes((ROOT / "profiles" / f"{T4}.yaml").read_bytes())
    assert diff("profile:t4", str(mine)) == 0
    edit(mine, "temperature_gpu_c: 33", "temperature_gpu_c: 34")
    edit(mine, "persistence_mode: enabled", "num_gpu_cores: 2560")
    capsys.readouterr()
    assert diff("profile:t4", str(mine)) == 1
    assert capsys.readouterr().out.splitlines()[2:] == [
        'missing  gpu[0]/persistence_mode: "enabled" -> nothing',
        "changed  gpu[0]/thermal.temperature_gpu_c: 33 -> 34",
        "invented gpu[0]/num_gpu_cores: nothing -> 2560",
        "1 changed, 1 missing, 1 invented of 126 keys",
    ]


def test_a_profile_of_ones_own_is_rendered_beside_the_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    mine = tmp_path / "mine.yaml"
    mine.write_bytes((ROOT / "profiles" / f"{T4}.yaml").read_bytes())
    edit(mine, "temperature_gpu_c: 33", "temperature_gpu_c: 34")
    assert diff("t4", f"render:{mine}") == 1
    assert "changed  gpu[0]/temperature/gpu_temp (thermal.temperature_gpu_c): '33 C' -> '34 C'" in capsys.readouterr().out


def test_the_json_goes_to_standard_output_alone(capsys: pytest.CaptureFixture[str]):
    assert diff("t4", "a100", "--json", "-") == 1
    made = json.loads(capsys.readouterr().out)
    assert (made["a"]["name"], made["b"]["name"], made["equal"]) == ("t4", "a100", False)
    kinds = {entry["kind"] for entry in made["views"][0]["differences"]}
    assert kinds == {"changed", "missing", "invented", "state"}
    label = next(entry["label"] for entry in made["views"][0]["differences"] if entry["row"] == "memory.total_bytes")
    assert label == "Total"


@pytest.mark.parametrize(
    ("one", "other", "status", "said"),
    [
        ("t44", "t4", 3, "'t44' is no capture (did you mean 't4'"),
        ("t4", "nothing.xml", 3, "'nothing.xml' is no capture"),
        ("t4", "profile:t4", 3, "compare t4 with render:t4"),
        ("t4", "render:t44", 3, "no profile 't44'"),
        ("t4", str(ROOT / "README.md"), 3, "README.md"),
        ("t4", "", 3, "is no capture"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(one: str, other: str, status: int, said: str, capsys: pytest.CaptureFixture[str]):
    assert diff(one, other) == status
    told = capsys.readouterr()
    assert (told.out, len(told.err.splitlines())) == ("", 1)
    assert said in told.err


def test_a_diff_without_a_second_side_is_a_usage_error(capsys: pytest.CaptureFixture[str]):
    assert diff("t4") == 2


def test_standard_input_is_a_side(query: Path):
    command = [sys.executable, "-m", "harness.cli", "diff", "-", "t4", "--root", str(ROOT)]
    done = subprocess.run(command, input=query.read_bytes(), capture_output=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, b"a: <stdin> (file, driver 595.91.07)")


def test_a_gpu_that_one_profile_leaves_out_is_told_by_its_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    paths = [tmp_path / name for name in ("a.yaml", "b.yaml")]
    for path, state in zip(paths, ("uncaptured", "gpu_lost"), strict=True):
        devices = f"devices: [{{index: 0, state: {state}}}, {{index: 1}}]"
        path.write_text(f"format: 1\nversion: '1.0'\nsystem: {{driver_version: '470.74', num_devices: 2}}\ndevice_defaults: {{name: x}}\n{devices}\n")
    assert diff(str(paths[0]), str(paths[0])) == 0
    capsys.readouterr()
    assert diff(*map(str, paths)) == 1
    assert capsys.readouterr().out.splitlines()[2] == "state    devices[0].state: uncaptured -> gpu_lost"
