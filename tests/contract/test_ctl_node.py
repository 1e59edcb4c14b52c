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


OF_EACH = PROFILE.replace("architecture: hopper", "architecture: blackwell").replace("scope: system", "scope: device")


@pytest.fixture
def served(
    request: pytest.FixtureRequest, tmp_path: Path, repository: Path, library_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Node, Nvml]]:
    """PROFILE (or the profile that a test names) served in this process: its node, and the library on it."""
    path, space = tmp_path / "node.yaml", Workspace(repository)
    path.write_text(getattr(request, "param", PROFILE))
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


@pytest.mark.spec("S17", "S25", "Y14", "Y15")
@pytest.mark.parametrize("served", [OF_EACH], indirect=True, ids=["device"])
def test_what_is_set_of_one_gpus_links_is_in_the_document_as_its_own_and_ends_with_its_reset(served: tuple[Node, Nvml]) -> None:
    node, nvml = served

    def readings() -> list[Any]:
        handles = [nvml.device(gpu) for gpu in (0, 1)]
        modes = [nvml.call("nvmlDeviceGetNvlinkBwMode", handle, {"getBwMode.version": 1}).out["getBwMode.bwMode"] for handle in handles]
        return [*modes, *(nvml.field_values(handle, [(168, 0)])[0].value for handle in handles)]

    assert readings() == [3, 3, 1000, 1000]
    assert nvml.call("nvmlDeviceSetNvlinkBwMode", nvml.device(0), {"setBwMode.version": 1, "setBwMode.bwMode": 1}).code == 0
    assert nvml.call("nvmlDeviceSetNvLinkDeviceLowPowerThreshold", nvml.device(0), {"info.lowPwrThreshold": 700}).code == 0
    assert readings() == [1, 3, 700, 1000]
    said = putting.overrides(node)
    assert said == document.Overrides({}, {0: {"nvlink": {"bw_mode": {"mode": 1}, "low_power_threshold": 700}}})
    putting.reset(node, 0)
    assert (readings(), putting.overrides(node)) == ([3, 3, 1000, 1000], document.Overrides())
    putting.apply(node, said, "export")
    assert readings() == [1, 3, 700, 1000]


@pytest.mark.spec("S26")
@pytest.mark.parametrize(("served", "scope"), [(PROFILE, "System"), (OF_EACH, "Device")], indirect=["served"], ids=["node", "device"])
def test_a_mode_in_a_document_that_the_board_does_not_offer_gives_way_to_the_best_and_is_told(served: tuple[Node, Nvml], scope: str) -> None:
    node, nvml = served

    def read() -> Any:
        if scope == "System":
            return nvml.call("nvmlSystemGetNvlinkBwMode", None, {}).out["nvlinkBwMode"]
        return nvml.call("nvmlDeviceGetNvlinkBwMode", nvml.device(0), {"getBwMode.version": 1}).out["getBwMode.bwMode"]

    for number, served_as, told in ((1, 1, []), (4, 0, ["nvlink.bw_mode.mode: 4 is none of 0, 1, 3: 0 is served"])):
        given = document.Overrides({"nvlink": {"bw_mode": {"mode": number}}})
        putting.apply(node, given, "of another board")
        assert (read(), putting.passed_over(node, given)) == (served_as, told)


@pytest.mark.spec("V18", "Y12")
@pytest.mark.parametrize("served", [PROFILE.replace("580.105.08", "390.157")], indirect=True, ids=["390"])
def test_a_reset_of_the_gpu_drops_an_injector_and_all_else_that_was_put_on_it(served: tuple[Node, Nvml]) -> None:
    node, nvml = served
    handles = [nvml.device(gpu) for gpu in (0, 1)]
    readings = lambda: [nvml.call("nvmlDeviceGetPerformanceState", handle).out.get("pState", "lost") for handle in handles]  # noqa: E731
    putting.put(node, None, lambda _: {"failure.mode": "lost", "performance_state": "P2"})
    putting.put(node, 0, lambda _: {"performance_state": "P8"})
    putting.put(node, None, lambda _: {"failure": None})
    putting.put(node, 0, lambda _: {"failure": {"mode": "lost"}})
    assert readings() == [8, 2]
    assert [nvml.call("nvmlDeviceGetTemperature", handle, {"sensorType": 0}).code for handle in handles] == [15, 3]
    assert readings() == ["lost", 2]
    assert nvml.slot(handles[0], 13, "reset").code == 0
    assert (readings(), putting.overrides(node)) == ([2, 2], document.Overrides({"failure": None, "performance_state": "P2"}))
