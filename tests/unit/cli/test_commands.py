"""Commands on the repository's own boards: list, show, render, compile, run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import guard
from mocklib import image
from tests.unit.text import samples

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def library(library_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVPARITY_LIBRARY", str(library_path))


def run(*arguments: str) -> int:
    return guard.run([*arguments, "--root", str(ROOT)])


def test_list_says_driver_gpus_kind_views_and_short_names(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert run("list") == 0
    heads, *rows = capsys.readouterr().out.splitlines()
    assert heads.split() == ["id", "short", "driver", "gpus", "kind", "views", "has"]
    told = {row.split()[0]: row.split()[1:] for row in rows}
    assert told["t4-x1_595.91.07"] == ["t4", "595.91.07", "1", "own", "q-x", "capture+profile"]
    assert told["h100-sxm5-x8_580.105.08"] == ["h100", "580.105.08", "8", "own", "q-x", "capture+profile"]


def test_list_chooses_its_columns_by_the_width(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("COLUMNS", "80")
    assert run("list") == 0
    *rows, last = capsys.readouterr().out.splitlines()
    assert rows[0].split()[:2] == ["id", "short"]
    assert "has" not in rows[0].split()
    assert max(map(len, rows)) <= 80
    assert last.startswith("not shown in 80 columns: ")


def test_show_says_that_the_driver_of_a_list_alone_is_assumed(capsys: pytest.CaptureFixture[str]):
    assert run("show", "h200-x4_nodrv") == 0
    assert capsys.readouterr().out.splitlines()[0] == "h200-x4_nodrv: driver 550.163.01, layout 550.163.01 (assumed)"


def test_a_capture_without_a_profile_is_not_called_unknown(capsys: pytest.CaptureFixture[str]):
    assert run("render", "a100-pcie-40gb-x2_nodrv") == 3
    assert "a100-pcie-40gb-x2_nodrv is a capture without a profile" in capsys.readouterr().err


def test_a_capture_in_place_of_a_profile_is_pointed_at_the_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "query.xml"
    path.write_text(samples.query(1))
    assert run("render", str(path)) == 3
    assert "nvparity import makes one" in capsys.readouterr().err


def test_the_summary_of_a_folder_fills_no_line_with_blanks(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "a.md").write_text("hello\n")
    (tmp_path / "given" / "empty.xml").write_text("")
    assert guard.run(["import", str(tmp_path / "given"), "--root", str(tmp_path)]) == 0
    *rows, _ = capsys.readouterr().out.splitlines()
    assert len(rows) == 3
    assert all(row == row.rstrip() for row in rows)
    assert len({len(row) for row in rows}) > 1


def test_list_as_json(capsys: pytest.CaptureFixture[str]):
    assert run("list", "--json", "-") == 0
    names = {entry["id"]: entry for entry in json.loads(capsys.readouterr().out)["names"]}
    assert names["t4-x1_595.91.07"] == {
        "id": "t4-x1_595.91.07",
        "capture": True,
        "profile": True,
        "short": ["t4"],
        "board": "t4",
        "driver": "595.91.07",
        "gpus": 1,
        "kind": "own",
        "views": ["q-x"],
        "problem": None,
        "pending": False,
    }


def test_list_of_nothing_says_how_to_begin(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert guard.run(["list", "--root", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert (said.out, "nvparity import makes one" in said.err) == ("", True)


def test_list_tells_a_profile_alone_and_a_file_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "profiles").mkdir()
    (tmp_path / "captures" / "bad-x1_1.2").mkdir(parents=True)
    (tmp_path / "captures" / "bad-x1_1.2" / "sidecar.yaml").write_text("format: 1\nid: other\n")
    (tmp_path / "profiles" / "mine.yaml").write_text("system: {driver_version: '470.74', num_devices: 3}\n")
    assert guard.run(["list", "--root", str(tmp_path)]) == 0
    _, bad, mine, problem = capsys.readouterr().out.splitlines()
    assert bad.split() == ["bad-x1_1.2", "-", "-", "-", "-", "-", "capture"]
    assert mine.split() == ["mine", "-", "470.74", "3", "-", "-", "profile"]
    assert "sidecar.yaml:2: id 'other' in a folder called bad-x1_1.2" in problem


def test_show_says_gpus_states_source_and_hashes(capsys: pytest.CaptureFixture[str]):
    assert run("show", "h100") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("h100-sxm5-x8_580.105.08: driver 580.105.08, layout 580.105.08\n")
    assert shown.count("NVIDIA H100 80GB HBM3 (GPU-") == 8
    for part in (
        "capture: own; q-x 3444 elements (0 redacted), 212449 bytes",
        "states: 416 x 'N/A'",
        "licence Apache-2.0",
        "golden q-x scrubbed: sha256",
        "baseline L",
    ):
        assert part in shown


def test_show_of_a_path_that_is_no_capture_has_the_profile_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "mine.yaml"
    path.write_bytes((ROOT / "profiles" / "t4-x1_595.91.07.yaml").read_bytes())
    assert run("show", str(path), "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"version", "id", "profile"}
    assert found["profile"]["gpus"][0]["name"] == "Tesla T4"


def test_render_writes_the_text_and_the_calls_behind_it(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]):
    assert run("render", "gt1030", "--trace", str(tmp_path / "trace.json")) == 0
    assert capfdbinary.readouterr().out.startswith(b'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v11.dtd">\n')
    traced = {entry["path"]: entry for entry in json.loads((tmp_path / "trace.json").read_text())}
    assert traced["gpu[0]/product_name"]["route"] == "call nvmlDeviceGetName() name"


def test_options_may_follow_the_profile(capfdbinary: pytest.CaptureFixture[bytes]):
    assert guard.run(["render", "t4", "--root", str(ROOT), "--view", "L"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"GPU 0: Tesla T4 (UUID: GPU-")


def test_compile_writes_a_sound_image_where_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    target = tmp_path / "deep" / "t4.img"
    assert run("compile", "t4", "-o", str(target)) == 0
    assert capsys.readouterr().out == f"{target}\n"
    view = image.read(target.read_bytes())
    assert [device["name"].value for device in view.devices] == ["Tesla T4"]


def test_compile_refuses_a_profile_with_every_error_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "p.yaml"
    path.write_text("version: '1.0'\nsystem: {driver_version: '470.74'}\ndevice_defaults: {nam: x, brnd: y}\n")
    assert run("compile", str(path), "-o", str(tmp_path / "x.img")) == 3
    said = capsys.readouterr().err
    assert "did you mean 'name'" in said
    assert "did you mean 'brand'" in said
    assert not (tmp_path / "x.img").exists()


@pytest.fixture
def unserved(tmp_path: Path) -> Path:
    path = tmp_path / "p.yaml"
    keys = "devices: [{index: 0, mig: {gpu_instances: [{id: 1}]}}]\nnvlink: {multi_node: true}\n"
    path.write_text("version: '1.0'\nsystem: {driver_version: '470.74'}\n" + keys)
    return path


def test_compile_and_run_name_the_keys_that_are_not_served_each_time(unserved: Path, capfd: pytest.CaptureFixture[str]):
    line = f"nvparity: {unserved}: accepted, not served yet: nvlink.multi_node, mig.gpu_instances\n"
    for _ in range(2):
        assert run("compile", str(unserved)) == 0
        assert capfd.readouterr() == (f"{unserved.with_suffix('.nvpimg')}\n", line)
        done = nvparity("run", str(unserved), "--", "echo", "served")
        assert (done.returncode, done.stdout, done.stderr) == (0, "served\n", line)


def test_schema_prints_json_schema_of_each_file(capsys: pytest.CaptureFixture[str]):
    for name in ("profile", "driver", "rules", "sidecar"):
        assert guard.run(["schema", name]) == 0
        assert json.loads(capsys.readouterr().out)["title"] == f"nvparity {name}"


def test_schema_of_something_else_is_a_usage_error_and_so_is_its_table(capsys: pytest.CaptureFixture[str]):
    assert (guard.run(["schema", "golden"]), guard.run(["schema", "rules", "--table"])) == (2, 2)
    assert guard.run(["schema", "getters"]) == 2
    assert "the list of getters is part of nvparity and has no schema; --table prints it" in capsys.readouterr().err
    assert guard.run(["schema", "getters", "--table"]) == 0
    assert "| `nvmlDeviceGetName` |" in capsys.readouterr().out
    assert guard.run(["schema", "--table"]) == 0
    assert capsys.readouterr().out.startswith("| key | what |")


@pytest.mark.parametrize("command", ["render", "compile", "show"])
def test_an_unknown_profile_is_status_3_with_the_nearest(command: str, capsys: pytest.CaptureFixture[str]):
    assert run(command, "h1000") == 3
    assert "did you mean 'h100'" in capsys.readouterr().err


ASK = """
import ctypes
library, count = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_uint()
print(library.nvmlInit_v2(), library.nvmlDeviceGetCount_v2(ctypes.byref(count)), count.value)
"""


def nvparity(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_run_serves_the_profile_to_any_program():
    done = nvparity("run", "h100", "--", sys.executable, "-c", ASK)
    assert (done.returncode, done.stdout.split()) == (0, ["0", "0", "8"])


@pytest.mark.parametrize("status", [0, 7, 255])
def test_run_passes_the_exit_status_through(status: int):
    assert nvparity("run", "t4", "--", sys.executable, "-c", f"raise SystemExit({status})").returncode == status


def test_run_passes_a_signal_through():
    assert nvparity("run", "t4", "--", "sh", "-c", "kill -TERM $$").returncode == -15


def test_run_hands_options_of_the_command_to_the_command():
    done = nvparity("run", "t4", "--root", str(ROOT), "--", "echo", "--root", "-x", "--", "y")
    assert done.stdout == "--root -x -- y\n"


def test_run_of_a_command_that_is_not_there_is_status_4():
    done = nvparity("run", "t4", "--", "no-such-command")
    assert (done.returncode, len(done.stderr.splitlines())) == (4, 1)


def test_run_without_a_command_is_a_usage_error():
    assert nvparity("run", "t4").returncode == 2


@pytest.mark.parametrize("kind", ["profile", "text"])
def test_compile_replaces_no_file_but_an_image(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str):
    profile, text = tmp_path / "mine.yaml", tmp_path / "text"
    profile.write_bytes((ROOT / "profiles" / "t4-x1_595.91.07.yaml").read_bytes())
    text.write_text("mine", encoding="utf-8")
    before = profile.read_bytes()
    target = profile if kind == "profile" else text
    assert run("compile", str(profile), "-o", str(target)) == 3
    assert f"{target}: is there and is no image" in capsys.readouterr().err
    assert (profile.read_bytes(), text.read_text("utf-8")) == (before, "mine")


def test_compile_replaces_an_image_and_an_empty_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    target = tmp_path / "served.nvpimg"
    target.touch()
    for _ in range(2):
        assert run("compile", "t4", "-o", str(target)) == 0
        assert len(image.read(target.read_bytes()).devices) == 1
    assert capsys.readouterr().err == ""
