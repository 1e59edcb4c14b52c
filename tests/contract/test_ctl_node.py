"""NVLinks and the node: errors of links by ``nvlink-error``, and what a setter of the whole node wrote as the document has it (ledger Y15)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.stages.overriding import document, nodes, places, putting, verbs_faults
from harness.stages.overriding.nodes import Node
from harness.stages.render import serving
from harness.stores.workspace import Workspace
from mocklib import binding
from mocklib.binding import Nvml

PROFILE = """format: 1
version: "1.0"
system: {driver_version: "580.105.08"}
nvlink: {version: 4, links_per_gpu: 2, bandwidth_per_link_mbps: 26562, bw_mode: {scope: system, supported: [0, 1, 3], mode: 3}}
device_defaults: {name: board, architecture: hopper, performance_state: P0}
devices: [{index: 0, pci: {bus_id: "0000:07:00.0"}}, {index: 1, pci: {bus_id: "0000:08:00.0"}}]
"""


@pytest.fixture
def served(tmp_path: Path, repository: Path, library_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Node, Nvml]]:
    """PROFILE served in this process: its node, and the library on it."""
    path, space = tmp_path / "node.yaml", Workspace(repository)
    path.write_text(PROFILE)
    serving.write_image(path, space, path.with_suffix(".nvpimg"))
    found = places.find(places.Asked(config=str(path), state=str(tmp_path / "state")), {}, space)
    node = nodes.open_node(found, space)
    monkeypatch.setenv("NVPARITY_IMAGE", str(found.image.path))
    monkeypatch.setenv("MOCK_NVML_STATE", str(node.state))
    nvml = binding.open_library(library_path)
    assert nvml.init() == 0
    yield node, nvml
    nvml.shutdown()


@pytest.mark.spec("X11", "S27")
def test_errors_of_links_rise_on_that_gpu_until_they_are_healed(served: tuple[Node, Nvml]) -> None:
    node, nvml = served

    def errors(gpu: int, link: int) -> Any:
        return nvml.call("nvmlDeviceGetNvLinkErrorCounter", nvml.device(gpu), {"link": link, "counter": 0}).out["counterValue"]

    assert [errors(gpu, link) for gpu in (0, 1) for link in (0, 1)] == [0, 0, 0, 0]
    putting.put(node, 0, lambda _: verbs_faults.nvlink_error("1000000", "1"))
    assert [errors(gpu, link) > 0 for gpu in (0, 1) for link in (0, 1)] == [False, True, False, False]
    putting.put(node, 0, lambda _: verbs_faults.nvlink_error("0"))
    assert [errors(gpu, link) for gpu in (0, 1) for link in (0, 1)] == [0, 0, 0, 0]


@pytest.mark.spec("Y15", "S24")
def test_a_node_wide_write_is_for_all_gpus_and_clears_what_each_had(served: tuple[Node, Nvml]) -> None:
    node, nvml = served

    def mode() -> Any:
        return nvml.call("nvmlSystemGetNvlinkBwMode", None, {}).out["nvlinkBwMode"]

    putting.put(node, 1, lambda _: {"nvlink.bw_mode.mode": 0, "performance_state": "P2"})
    assert mode() == 3
    assert nvml.call("nvmlSystemSetNvlinkBwMode", None, {"nvlinkBwMode": 1}).code == 0
    said = putting.overrides(node)
    assert said == document.Overrides({"nvlink": {"bw_mode": {"mode": 1}}}, {1: {"performance_state": "P2"}})
    putting.put(node, 0, lambda _: {"performance_state": "P3"})
    assert (mode(), putting.overrides(node).all) == (1, said.all)
    putting.reset(node, 0)
    assert mode() == 1, "what is of the node stays when one GPU is reset"
    putting.reset(node, None, everything=True)
    assert (mode(), putting.overrides(node)) == (3, document.Overrides())
    putting.apply(node, said, "export")
    assert mode() == 1
    assert nvml.call("nvmlSystemSetNvlinkBwMode", None, {"nvlinkBwMode": 0}).code == 0
    putting.reset(node, 1)
    assert (mode(), putting.overrides(node)) == (0, document.Overrides({"nvlink": {"bw_mode": {"mode": 0}}}))
