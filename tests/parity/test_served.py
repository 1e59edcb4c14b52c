"""Readings that once stood verbatim beside the library: a stranger's capture that has them is served whole, but for what is named here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.reports import imported
from harness.stages.importing import pipeline
from harness.stores.workspace import Workspace

WHOLE = (
    "qx/tesla-v100s-pcie-32gb_460.73.01_dataflux-cn-datakit_1.xml",
    "qx/l40s_595.91.07_nvidia-k8s-test-infra_1.xml",
    "qx/gb200_580.173.02_nvidia-k8s-test-infra_1.xml",
    "qx/l4_555.42.06_datarhei-core_1.xml",
    "qx/geforce-rtx-3090_525.147.05_influxdata-telegraf_1.xml",
    "qx/geforce-gtx-1070_384.66_microsoft-pai_2.xml",
    "qx/geforce-rtx-2080-ti_410.73_microsoft-pai_1.xml",
)
"""Accounted processes, terminated and running; inactive row remappings of a driver with a node and of one without; one draw of the memory's power;
members of a struct that the giver hid; retired pages as a list of addresses, and a driver that spells an address as no older one."""


@pytest.fixture(autouse=True)
def library(library_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NVPARITY_LIBRARY", str(library_path))
    monkeypatch.setenv("NVPARITY_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", WHOLE)
def test_a_strangers_capture_is_at_parity_with_nothing_printed_verbatim(name: str, raw_capture, tmp_path: Path):
    root = tmp_path / "work"
    root.mkdir()
    made = pipeline.run(Workspace(root), [raw_capture(name)], "stranger")
    assert made.parity
    assert made.unmodelled == {}


LEFT = {
    "gpu/clocks_throttle_reasons/clocks_throttle_reason_unknown": "no header has the bit of a reason that is not known",
    "gpu/utilization/gpu_util": "10.3 % is no text of any driver",
    "gpu/utilization/memory_util": "a member of the same struct",
}


def test_of_the_oldest_driver_only_what_is_named_here_is_printed_verbatim(raw_capture, tmp_path: Path):
    root = tmp_path / "work"
    root.mkdir()
    made = pipeline.run(Workspace(root), [raw_capture("qx/tesla-p100-pcie-12gb_375.66_linkedin-tony_1.xml")], "stranger")
    assert made.parity
    assert {re.sub(r"\[[0-9]+\]", "", path) for path in made.unmodelled} == set(LEFT)
    assert made.reasons.keys() == made.unmodelled.keys()
    assert made.reasons["gpu[0]/utilization/memory_util"] == "nvmlDeviceGetUtilizationRates answers nothing without utilization.gpu"
    assert "(no row explains this text)" in next(line for line in imported.lines(made, root) if "gpu_util" in line)
