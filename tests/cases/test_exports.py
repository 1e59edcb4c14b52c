"""What can be looked up in the library that ``run`` gives a command: that of the profile's own driver, under the names that clients load."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import guard
from harness.stages.render import serving
from harness.tables import drivers
from mocklib import fields, missing
from tests.cases.boards import ROOT, T4

V3 = tuple(f"nvmlDeviceGet{kind}RunningProcesses_v3" for kind in ("Compute", "Graphics", "MPSCompute"))
CLIENT = """
import ctypes, pathlib, re
plain, named = ctypes.CDLL("libnvidia-ml.so"), ctypes.CDLL("libnvidia-ml.so.1")
text = ctypes.create_string_buffer(80)
assert named.nvmlInit_v2() == 0
named.nvmlSystemGetDriverVersion(text, 80)
mapped = set(re.findall(r"\\S*libnvidia-ml\\S*", pathlib.Path("/proc/self/maps").read_text()))
print(text.value.decode(), *(pathlib.Path(path).name for path in mapped), plain._handle == named._handle)
print(*(name for name in ("nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses") if hasattr(named, name)))
"""


@pytest.fixture
def names(served_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], frozenset[str]]:
    """``names("440.59")``: what that driver's branch library exports."""
    monkeypatch.setenv("NVPARITY_CACHE", str(tmp_path / "cache"))
    return lambda version: missing.exported(serving.library(version).read_bytes())


@pytest.mark.parametrize(
    ("driver", "absent", "present"),
    [
        ("340.108", ("nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetTotalEnergyConsumption"), ("nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo")),
        ("440.59", ("nvmlDeviceGetComputeRunningProcesses_v2",), ("nvmlDeviceGetComputeRunningProcesses",)),
        ("450.36", V3, ("nvmlDeviceGetComputeRunningProcesses_v2",)),
        ("470.161", ("nvmlDeviceGetMemoryInfo_v2", *V3), ("nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMPSComputeRunningProcesses_v2")),
        ("535.86.05", (), V3),
        ("535.98", V3, ("nvmlDeviceGetComputeRunningProcesses_v2",)),
        ("535.104.05", (), V3),
    ],
)
def test_a_driver_has_the_generations_of_a_call_that_its_releases_had(
    names: Callable[[str], frozenset[str]], driver: str, absent: tuple[str, ...], present: tuple[str, ...]
):
    """BL-008, and of the process lists BL-007, of the second memory call BL-011: the drivers of the reports, and the call that each has instead."""
    found = names(driver)
    assert found == drivers.load().resolve(driver).exports
    assert [name for name in absent if name in found] == []
    assert [name for name in present if name not in found] == []


def test_a_branch_library_exports_plain_names_of_nvml_and_nothing_else(names: Callable[[str], frozenset[str]]):
    """BL-064; that they have no versions is tested of the library that each is made from."""
    found = names("550.163.01")
    assert found < set(fields.since())
    assert all(name.startswith("nvml") for name in found)


def test_a_command_finds_the_library_of_the_profiles_driver_under_each_name(
    served_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    """BL-063 and BL-008: both names, one mapped file called by the version, and a symbol that the driver lacks cannot be looked up."""
    monkeypatch.setenv("NVPARITY_CACHE", str(tmp_path / "cache"))
    text = (ROOT / "profiles" / f"{T4}.yaml").read_text("utf-8")
    profile = tmp_path / "old.yaml"
    profile.write_text(text.replace('driver_version: "595.91.07"', 'driver_version: "440.59"'), "utf-8")
    assert guard.run(["run", str(profile), "--", sys.executable, "-c", CLIENT]) == 0
    assert capfd.readouterr().out.splitlines() == ["440.59 libnvidia-ml.so.440.59 True", "nvmlDeviceGetComputeRunningProcesses"]
