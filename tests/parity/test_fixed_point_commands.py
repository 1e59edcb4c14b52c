"""The fixed point by the commands alone: ``nvparity run PROFILE -- nvparity record``, and again on the profile that it wrote."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.parity import proved
from tests.parity.mutations_board import ROOT, SPACE

MOVING = ("id", "recorded", "sha256")
"""How the lines start that differ from one recording to the next."""
CHOSEN = ("a100-sxm4-80gb-x1_535.54.03", "quadro-p400-x1_418.43")
"""A node with GPUs that were left out, and a driver without half of the functions."""
LACKING = """format: 1
version: "1.0"
system:
  driver_version: "550.54.14"
  num_devices: 2
device_defaults:
  answers:
    'nvmlDeviceGetNvLinkState {"link":0}': 'SUCCESS {"isActive":1}'
    nvmlDeviceGetMinorNumber: UNKNOWN
devices:
- index: 0
  uuid: GPU-00000001-0000-0000-0000-000000000001
- index: 1
  uuid: GPU-00000002-0000-0000-0000-000000000002
answers:
  nvmlSystemGetHicVersion: missing
  nvmlDeviceGetSerial: missing
"""


def recorded(profile: Path, folder: Path, library: Path) -> dict[str, str]:
    """The files that a recording of the mock of ``profile`` writes, without their lines that move."""
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NVPARITY_LIBRARY": str(library), "NVPARITY_CACHE": str(folder.parent / "cache")}
    nvparity = [sys.executable, "-m", "harness.cli"]
    command = [*nvparity, "run", str(profile), "--", *nvparity, "record", "--views", "none", "--root", str(folder), "--id", "fixed-point"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {str(path.relative_to(folder)): path.read_text("utf-8").splitlines(keepends=True) for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: "".join(line for line in lines if not line.startswith(MOVING)) for name, lines in found.items()}


def twice(profile: Path, folder: Path, library: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The bundle of a profile's mock, and that of the mock of the bundle."""
    first = recorded(profile, folder / "first", library)
    return first, recorded(folder / "first" / "profiles" / "fixed-point.yaml", folder / "second", library)


@pytest.mark.parametrize("name", sorted(SPACE.profile_ids()) if proved.FULL else CHOSEN)
def test_the_second_bundle_is_the_first(name: str, tmp_path: Path, library_path: Path) -> None:
    first, second = twice(SPACE.profile_path(name), tmp_path, library_path)
    assert {"captures/fixed-point/answers.txt", "captures/fixed-point/sidecar.yaml", "profiles/fixed-point.yaml"} <= first.keys()
    assert second == first


def test_residual_answers_and_missing_symbols_are_recorded_as_they_are_served(tmp_path: Path, library_path: Path) -> None:
    profile = tmp_path / "lacking.yaml"
    profile.write_text(LACKING, "utf-8")
    first, second = twice(profile, tmp_path, library_path)
    assert second == first
    assert LACKING[LACKING.index("answers:\n  nvmlSystem") :] in first["profiles/fixed-point.yaml"]
    answers = first["captures/fixed-point/answers.txt"].splitlines()
    assert {"node nvmlDeviceGetSerial = missing", 'gpu1 nvmlDeviceGetNvLinkState {"link":0} = SUCCESS {"isActive":1}'} <= set(answers)
    assert "gpu0 nvmlDeviceGetMinorNumber = UNKNOWN" in answers
