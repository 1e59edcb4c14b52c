"""What the library says under MOCK_NVML_DEBUG, and that it says nothing without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mocklib import image
from tests.contract import boards

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
from mocklib import binding
nvml = binding.open_library(sys.argv[1])
nvml.init()
device = nvml.device(0)
nvml.call("nvmlDeviceGetName", device)
nvml.call("nvmlDeviceGetName", 5)
nvml.field_values(device, [(82, 0), (9999, 0), (82, 1)])
nvml.slot(device, 230, "u32")
nvml.shutdown()
"""


def said(library: Path, folder: Path, environment: dict[str, str]) -> list[str]:
    """The lines the library wrote on stderr."""
    path = folder / "traced.nvpimg"
    image.write(path, image.pack(boards.spec(gates={"nvmlDeviceGetSerial": 13})))
    variables = environment | {"NVPARITY_IMAGE": str(path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(library)], cwd=ROOT, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    return done.stderr.splitlines()


@pytest.mark.spec("A06")
def test_a_trace_names_each_call_with_its_code(library_path: Path, tmp_path: Path, clean_environment: dict[str, str]) -> None:
    lines = said(library_path, tmp_path, clean_environment | {"MOCK_NVML_DEBUG": "1"})
    assert lines[0] == f"nvparity: serving 1 device(s) from {tmp_path / 'traced.nvpimg'}"
    calls = [line.removeprefix("nvparity: ") for line in lines[1:]]
    assert calls[0] == "nvmlInit_v2 -> 0"
    assert calls[1:4] == ["nvmlDeviceGetHandleByIndex_v2 -> 0", "nvmlDeviceGetName -> 0", "nvmlDeviceGetName -> 2"]
    assert calls[4:6] == ["field 9999 scope 0 -> 2", "nvmlDeviceGetFieldValues -> 0"], "what a call that succeeds declines"
    assert calls[-2].startswith("slot 230(")
    assert calls[-2].endswith(" -> 0")
    assert calls[-1] == "nvmlShutdown -> 0"


@pytest.mark.spec("A06")
def test_nothing_is_said_without_it(library_path: Path, tmp_path: Path, clean_environment: dict[str, str]) -> None:
    assert said(library_path, tmp_path, clean_environment) == []
    assert said(library_path, tmp_path, clean_environment | {"MOCK_NVML_DEBUG": ""}) == []
