"""``nvparity discover`` as a client of the mock, through NVML and through a real nvidia-smi."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.clients
NVPARITY = (sys.executable, "-m", "harness.cli")


def discovered(repository: Path, profile: str, *arguments: str, overrides: Path | None = None) -> tuple[int, dict[str, Any]]:
    """Exit status and JSON of ``discover`` under a mock of ``profile``."""
    given = ["--overrides", str(overrides)] if overrides else []
    command = [*NVPARITY, "run", *given, profile, "--", *NVPARITY, "discover", "--json", *arguments]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


def compared(gpu: dict[str, Any]) -> tuple[Any, ...]:
    """What text and NVML both say of a card."""
    return (gpu["index"], gpu["uuid"], gpu["name"], gpu["class"], gpu["memory_total_mb"], gpu["driver_version"], gpu["cuda_version"], gpu["health"])


@pytest.mark.usefixtures("served_library")
@pytest.mark.parametrize("profile", ["h100-sxm5-x8_580.105.08", "t4-x1_595.91.07"])
def test_a_board_through_nvml_is_what_its_capture_says(repository: Path, profile: str) -> None:
    status, through = discovered(repository, profile, "--from", "nvml")
    said = subprocess.run([*NVPARITY, "discover", "--json", profile], cwd=repository, capture_output=True, text=True, check=False)
    assert (status, said.returncode) == (0, 0)
    assert [compared(gpu) for gpu in through["gpus"]] == [compared(gpu) for gpu in json.loads(said.stdout)["gpus"]]


def held_out(repository: Path, folder: Path, *asked: str) -> list[int]:
    """The cards that are kept out as lost, of a board of eight whose card 3 is; the others can be placed."""
    document = folder / "lost.yaml"
    document.write_text('version: 1\ndevices: {"3": {failure: {mode: lost}}}\n', "utf-8")
    status, found = discovered(repository, "h100-sxm5-x8_580.105.08", *asked, overrides=document)
    assert (status, found["classes"]) == (0, {"h100-80g": 7})
    return [gpu["index"] for gpu in found["gpus"] if gpu["health"]["problems"] == ["GPU is lost"]]


@pytest.mark.usefixtures("served_library")
def test_a_lost_gpu_is_kept_out_with_the_librarys_reason(repository: Path, tmp_path: Path) -> None:
    assert held_out(repository, tmp_path, "--from", "nvml") == [3]


def test_a_lost_gpu_is_kept_out_by_what_nvidia_smi_prints(repository: Path, tmp_path: Path, smi_binary: Any, served_library: Path) -> None:
    assert held_out(repository, tmp_path, "--smi", str(smi_binary(550)), "--library", str(served_library)) == [3]


@pytest.mark.parametrize("branch", [470, 550])
def test_a_node_is_asked_by_its_own_nvidia_smi(repository: Path, smi_binary: Any, served_library: Path, branch: int) -> None:
    asked = ("--smi", str(smi_binary(branch)), "--library", str(served_library))
    status, found = discovered(repository, "a100-sxm4-40gb-x1_570.148.08", *asked)
    assert (status, found["classes"], found["problems"]) == (0, {"a100-40g": 1}, [])
