"""Readings that once stood verbatim beside the library: a stranger's capture that has them is served whole, but for what is named here."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.stages.importing import pipeline
from harness.stores.workspace import Workspace

WHOLE = (
    "qx/tesla-v100s-pcie-32gb_460.73.01_dataflux-cn-datakit_1.xml",
    "qx/l40s_595.91.07_nvidia-k8s-test-infra_1.xml",
    "qx/gb200_580.173.02_nvidia-k8s-test-infra_1.xml",
    "qx/l4_555.42.06_datarhei-core_1.xml",
    "qx/geforce-rtx-3090_525.147.05_influxdata-telegraf_1.xml",
)
"""Accounted processes, terminated and running; inactive row remappings of a driver with a node and of one without; one draw of the memory's power;
members of a struct that the giver hid."""


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
