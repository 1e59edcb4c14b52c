"""``nvparity discover`` and ``nvparity doctor mig``."""

from __future__ import annotations

import ctypes.util
import json
from pathlib import Path

import pytest

from harness.cli import guard
from tests.unit.discovery.nodes import card, devices, memory, mig, modes, named, report

ROOT = Path(__file__).resolve().parents[3]
LIBC = ctypes.util.find_library("c") or "libc.so.6"
LIST = b"""GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-0)
  MIG 3g.40gb     Device  0: (UUID: MIG-a)
  MIG 1g.10gb+me  Device  1: (UUID: MIG-GPU-0/9/0)
GPU 1: Tesla T4 (UUID: GPU-1)
GPU 2: NVIDIA A100-SXM4-80GB (UUID: GPU-2)
"""
REPORT = report(
    card(named("NVIDIA A100-SXM4-80GB", "GPU-0"), memory("81920 MiB", "50 MiB"), modes("Enabled"), devices(mig(0, 1, 0, "40192 MiB"), mig(1, 9, 0))),
    card(named("Tesla T4", "GPU-1"), memory("15360 MiB", "0 MiB"), modes("N/A"), devices(), identity="00000000:02:00.0"),
    card(named("NVIDIA A100-SXM4-80GB", "GPU-2"), memory("81920 MiB", "0 MiB"), modes("Enabled"), devices(), identity="00000000:03:00.0"),
)
LGI = b"| GPU instances:  |\n|   0  MIG 3g.40gb  9   1   0:4  |\n|   2  MIG 3g.40gb  9   2   4:4  |\n"
LCI = b"| Compute instances: |\n|   0   1  MIG 3g.40gb  2   0   0:3  |\n"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    for name, data in (("L", LIST), ("qx", REPORT), ("lgi", LGI), ("lci", LCI)):
        (tmp_path / name).write_bytes(data)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = guard.run(list(arguments))
    said = capsys.readouterr()
    return status, said.out, said.err


def test_people_get_a_table_with_the_reasons(capsys: pytest.CaptureFixture[str], node: Path) -> None:
    status, out, _ = run(capsys, "discover", str(node))
    assert status == 0
    head, first, second, third, fourth, reason, total = out.splitlines()
    assert head.split() == ["index", "label", "class", "memory", "gi", "ci", "uuid", "name"]
    assert first.split()[:8] == ["1000", "0/mig0", "a100-80g-mig-3g.40gb", "40192", "MiB", "1", "0", "MIG-a"]
    assert second.split()[:8] == ["1001", "0/mig1", "a100-80g-mig-1g.10gb.me", "9856", "MiB", "9", "0", "MIG-GPU-0/9/0"]
    assert third.split()[:8] == ["1", "1", "t4-15g", "15360", "MiB", "-", "-", "GPU-1"]
    assert fourth.split()[:2] == ["2", "2"]
    assert reason.strip().startswith("MIG is on and GPU instance 2 has no compute instance")
    assert total == "3 of 4 devices can be placed: 1 x a100-80g-mig-3g.40gb, 1 x a100-80g-mig-1g.10gb.me, 1 x t4-15g"


@pytest.mark.spec("DM07", "DM18")
def test_programs_get_json(capsys: pytest.CaptureFixture[str], node: Path) -> None:
    status, out, err = run(capsys, "discover", "--json", str(node / "L"), str(node / "qx"))
    made = json.loads(out)
    assert (status, err, made["version"], made["classes"]["t4-15g"]) == (0, "", 1, 1)
    first, _, third, _ = made["gpus"]
    assert first["mig"] == {
        "parent_index": 0, "parent_uuid": "GPU-0", "parent_memory_total_mb": 81920, "device": 0, "profile": "3g.40gb", "gpu_instance": 1,
        "compute_instance": 0,
    }  # fmt: skip
    assert "utilization_percent" not in first
    assert third["utilization_percent"] is None
    assert "mig" not in third


def test_compatible_mode_is_the_sources(capsys: pytest.CaptureFixture[str], node: Path) -> None:
    _, out, _ = run(capsys, "discover", "--json", "--compatible", str(node / "L"))
    made = json.loads(out)
    assert [gpu["class"] for gpu in made["gpus"]][:2] == ["a100-80g-mig-3g.40gb", "a100-80g-mig-1g.10gb-me"]
    assert (made["gpus"][0]["memory_used_mb"], made["problems"]) == (0, [])


def test_nothing_to_place_is_status_1(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "L").write_bytes(b"No devices were found\n")
    status, out, _ = run(capsys, "discover", str(tmp_path / "L"))
    assert (status, out.splitlines()[0]) == (1, "0 of 0 devices can be placed")


def test_a_capture_is_discovered(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["h100-sxm5-x8_580.105.08"], ["--from", "capture", "h100-sxm5-x8_580.105.08"]):
        status, out, _ = run(capsys, "discover", "--root", str(ROOT), *arguments)
        assert (status, out.splitlines()[9]) == (0, "8 of 8 devices can be placed: 8 x h100-80g")


@pytest.mark.spec("DM17")
@pytest.mark.parametrize(("index", "value"), [("1000", "MIG-a"), ("0/mig1", "MIG-GPU-0/9/0"), ("1001", "MIG-GPU-0/9/0"), ("1", "GPU-1")])
def test_the_environment_of_a_device_is_printed(capsys: pytest.CaptureFixture[str], node: Path, index: str, value: str) -> None:
    assert run(capsys, "discover", "--env", index, str(node)) == (0, f"CUDA_VISIBLE_DEVICES={value}\n", "")


@pytest.mark.spec("DM15")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--env", "1000", "--env", "1001"], "0/mig0, 0/mig1 cannot be one group: a process opens one MIG instance"),
        (["--env", "1000", "--env", "1"], "0/mig0, 1 cannot be one group"),
        (["--env", "2"], "2 cannot be used: MIG is on and GPU instance 2 has no compute instance"),
        (["--env", "0/mig7"], "no device '0/mig7' (did you mean"),
        (["--env", "77"], "there are 0/mig0, 0/mig1, 1, 2"),
    ],
)
def test_what_cannot_be_given_is_refused_with_the_reason(capsys: pytest.CaptureFixture[str], node: Path, arguments: list[str], message: str) -> None:
    status, out, err = run(capsys, "discover", *arguments, str(node))
    assert (status, out) == (3, "")
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["discover", ""], 2, "an empty name"),
        (["discover", "--from", "nvml", "--library", LIBC], 4, "is no NVML library: it has no nvmlInit_v2"),
        (["discover", "nosuch"], 3, "'nosuch' is no capture, file or folder"),
        (["discover", "h100-sxm5-x8_580.105.0"], 3, "h100-sxm5-x8_580.105.08"),
        (["discover", "--from", "nvml", "x"], 2, "leave out REF"),
        (["discover", "--from", "capture"], 2, "needs the id of one"),
        (["discover", "--smi", "x", "y"], 2, "are for the node at hand"),
        (["discover", "--from", "text", "h100-sxm5-x8_580.105.08"], 3, "is no file"),
        (["discover", "a", "b"], 3, "'a' is no file"),
        (["discover", "--from", "nvml", "--library", "/nonexistent.so"], 4, "is this a node with a driver?"),
        (["doctor", "mgi"], 2, "did you mean 'mig'?"),
        (["doctor", "mig", "nosuch"], 3, "'nosuch' is no capture, file or folder"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], status: int, message: str
) -> None:
    monkeypatch.chdir(ROOT)
    got, out, err = run(capsys, *arguments)
    assert (got, out, err.count("\n")) == (status, "", 1)
    assert message in err


@pytest.mark.spec("DM98", "DM92")
def test_the_doctor_lists_modes_and_instances_and_warns(capsys: pytest.CaptureFixture[str], node: Path) -> None:
    status, out, _ = run(capsys, "doctor", "mig", str(node))
    assert status == 1
    assert out.splitlines() == [
        "card 0  NVIDIA A100-SXM4-80GB: MIG on, after the next reset on",
        "    device 0  3g.40gb  MIG-a",
        "    device 1  1g.10gb+me  MIG-GPU-0/9/0",
        "    GPU instance 1  3g.40gb  profile 9  placement 0:4",
        "    compute instance 0 of GPU instance 1  3g.40gb  profile 2  placement 0:3",
        "card 2  NVIDIA A100-SXM4-80GB: MIG on, after the next reset on",
        "    GPU instance 2  3g.40gb  profile 9  placement 4:4",
        "    warning: MIG is on and GPU instance 2 has no compute instance: create one (nvidia-smi mig -cci -gi 2)",
    ]
    status, out, _ = run(capsys, "doctor", "mig", "--json", str(node))
    first, second = json.loads(out)["cards"]
    assert (status, first["instances"][0], "warnings" in first) == (1, {"device": 0, "profile": "3g.40gb", "uuid": "MIG-a"}, False)
    assert (second["index"], len(second["warnings"])) == (2, 1)


@pytest.mark.spec("DM87")
def test_the_doctor_needs_a_report(capsys: pytest.CaptureFixture[str], node: Path) -> None:
    status, out, err = run(capsys, "doctor", "mig", str(node / "L"))
    assert (status, out, err.count("\n")) == (3, "", 1)
    assert "nvidia-smi -q -x: no file holds a text of -q -x" in err


def test_a_node_without_mig_is_sound(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "doctor", "mig", "--root", str(ROOT), "t4-x1_595.91.07") == (0, "no card has a MIG mode\n", "")
