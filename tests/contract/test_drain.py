"""Drain, removal, discovery and exclusion: who is hidden, from whom, since when, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mocklib import state
from mocklib.image import FieldValue, Process
from tests.contract import boards, tuned

ROOT = Path(__file__).resolve().parents[2]
Serve = Callable[..., Any]
OFF, NONE = FieldValue(0), FieldValue(())
READY = {"persistence_mode": OFF, "processes.compute": NONE, "processes.graphics": NONE, "processes.mps": NONE}


def node(marks: dict[int, frozenset[str]] | None = None, given: dict[str, FieldValue] | None = None) -> Any:
    """A node of three boards that may be removed, hidden as ``marks`` says; ``given`` changes the first."""
    devices = [boards.device(number) | READY | ((given or {}) if number == 0 else {}) for number in range(3)]
    return boards.spec(3, devices=devices, marks=[(marks or {}).get(number, frozenset()) for number in range(3)])


@pytest.fixture(autouse=True)
def state_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """MOCK_NVML_STATE, naming a file that is not there yet."""
    path = tmp_path / "run.state"
    monkeypatch.setenv("MOCK_NVML_STATE", str(path))
    return path


def at(number: int, **given: Any) -> dict[str, Any]:
    """The address of GPU ``number`` of the node, by its numbers."""
    return {f"pciInfo.{name}": value for name, value in {"domain": 0, "bus": number + 1, "device": 0, "busId": "", **given}.items()}


def ask(nvml: Any, verb: str, address: dict[str, Any], **arguments: Any) -> int:
    return int(nvml.call(f"nvmlDevice{verb}", None, address | arguments).code)


def drain(nvml: Any, address: dict[str, Any], on: int = 1) -> int:
    return ask(nvml, "ModifyDrainState", address, newState=on)


def remove(nvml: Any, address: dict[str, Any]) -> int:
    return ask(nvml, "RemoveGpu_v2", address, gpuState=0, linkState=0)


def seen(nvml: Any) -> list[str]:
    """The buses of the GPUs that this process sees, in order."""
    handles = [nvml.device(index) for index in range(nvml.count())]
    return [str(nvml.call("nvmlDeviceGetPciInfo_v3", handle).out["pci.bus"]) for handle in handles]


def seen_elsewhere(opened_path: Path) -> list[str]:
    """As ``seen``, in a process of its own."""
    lines = ["import sys", "from mocklib import binding", "from tests.contract.test_drain import seen", "nvml = binding.open_library(sys.argv[1])",
             "assert nvml.init() == 0", "print(*seen(nvml))"]  # fmt: skip
    done = subprocess.run([sys.executable, "-c", "\n".join(lines), str(opened_path)], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.split()


@pytest.mark.spec("O03", "O04", "O06", "O12")
def test_a_draining_gpu_is_hidden_from_whoever_initialises_afterwards(serve: Serve, library_path: Path) -> None:
    nvml, _ = serve(node())
    second = nvml.device(1)
    assert drain(nvml, at(1)) == 0
    assert nvml.call("nvmlDeviceQueryDrainState", None, at(1)).out["currentState"] == 1
    assert nvml.call("nvmlDeviceQueryDrainState", None, at(0)).out["currentState"] == 0
    assert seen(nvml) == ["1", "2", "3"]
    assert nvml.call("nvmlDeviceGetName", second).code == 0
    assert seen_elsewhere(library_path) == ["1", "3"]
    assert drain(nvml, at(1), 0) == 0
    assert seen_elsewhere(library_path) == ["1", "2", "3"]


@pytest.mark.spec("O05")
def test_a_gpu_in_persistence_mode_does_not_drain(serve: Serve) -> None:
    nvml, handle = serve(node(given={"persistence_mode": FieldValue(1)}))
    assert [drain(nvml, at(0)), drain(nvml, at(0), 0), drain(nvml, at(0), 2)] == [19, 0, 2]
    assert nvml.call("nvmlDeviceSetPersistenceMode", handle, {"mode": 0}).code == 0
    assert drain(nvml, at(0)) == 0


@pytest.mark.spec("O01")
def test_a_gpu_is_named_by_domain_bus_and_device_or_by_its_text_alone(serve: Serve) -> None:
    nvml, _ = serve(node())
    assert drain(nvml, at(1, busId="00000000:03:00.0")) == 0  # the numbers stand where there are any
    assert drain(nvml, {"pciInfo.domain": 0, "pciInfo.bus": 0, "pciInfo.device": 0, "pciInfo.busId": "0000:03:00.1"}) == 0
    states = [nvml.call("nvmlDeviceQueryDrainState", None, at(number)).out["currentState"] for number in range(3)]
    assert states == [0, 1, 1]
    for wrong in (at(7), at(0, device=1), at(0, domain=1), at(-1, busId="nowhere"), at(-1)):
        assert [drain(nvml, wrong), ask(nvml, "QueryDrainState", wrong), remove(nvml, wrong)] == [2, 2, 2]
    assert remove(nvml, at(2)) == 0  # found although a process that came now would not see it


@pytest.mark.spec("O07", "O10")
def test_a_removed_gpu_is_gone_at_once_here_and_elsewhere_from_the_next_init_on(serve: Serve, library_path: Path) -> None:
    nvml, first = serve(node())
    second, third = nvml.device(1), nvml.device(2)
    assert remove(nvml, at(1)) == 0
    assert seen(nvml) == ["1", "3"]
    assert [nvml.call("nvmlDeviceGetName", handle).code for handle in (first, second)] == [0, 2]
    assert nvml.call("nvmlDeviceGetName", nvml.device(1)).code == 0
    assert nvml.call("nvmlDeviceGetIndex", nvml.device(1)).out["index"] == 1
    assert third  # handles after the removed one may be dead (nvml.h); the new ones are not
    assert seen_elsewhere(library_path) == ["1", "3"]
    assert [drain(nvml, at(1)), ask(nvml, "QueryDrainState", at(1)), remove(nvml, at(1))] == [2, 2, 2]


@pytest.mark.spec("O07")
def test_the_older_call_removes_too(serve: Serve) -> None:
    nvml, _ = serve(node())
    assert ask(nvml, "RemoveGpu", at(0)) == 0
    assert seen(nvml) == ["2", "3"]


@pytest.mark.parametrize("busy", ["persistence_mode", "processes.compute", "processes.graphics", "processes.mps"])
@pytest.mark.spec("O08")
def test_a_gpu_in_use_is_not_removed(serve: Serve, busy: str) -> None:
    nvml, _ = serve(node(given={busy: FieldValue(1) if busy == "persistence_mode" else FieldValue((Process(7, 1),))}))
    assert remove(nvml, at(0)) == 19
    assert seen(nvml) == ["1", "2", "3"]
    assert [ask(nvml, "RemoveGpu_v2", at(1), gpuState=2, linkState=0), ask(nvml, "RemoveGpu_v2", at(1), gpuState=1, linkState=2)] == [2, 2]


@pytest.mark.spec("O09", "O10")
def test_a_gpu_that_is_rediscovered_no_longer_drains(serve: Serve, library_path: Path) -> None:
    nvml, _ = serve(node())
    for number in (0, 1):
        assert [drain(nvml, at(number)), remove(nvml, at(number))] == [0, 0]
    assert seen(nvml) == ["3"]
    assert ask(nvml, "DiscoverGpus", at(1, busId="00000000:01:00.0")) == 0
    assert seen(nvml) == ["2", "3"]
    assert nvml.call("nvmlDeviceQueryDrainState", None, at(1)).out["currentState"] == 0
    assert ask(nvml, "DiscoverGpus", at(-1, busId="00000000:02:00.0")) == 0
    assert seen(nvml) == seen_elsewhere(library_path) == ["1", "2", "3"]
    assert ask(nvml, "DiscoverGpus", at(9)) == 2


@pytest.mark.spec("O11", "Y17")
def test_without_a_writable_state_nothing_drains_or_goes(serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "no folder" / "state"))
    nvml, _ = serve(node())
    assert [drain(nvml, at(0)), remove(nvml, at(0))] == [4, 4]
    assert seen(nvml) == ["1", "2", "3"]


@pytest.mark.spec("O02")
def test_an_excluded_gpu_is_told_of_by_the_list_alone(serve: Serve) -> None:
    nvml, _ = serve(node(marks={1: frozenset({"excluded"})}))
    assert seen(nvml) == ["1", "3"]
    for name in ("Excluded", "Blacklist"):
        assert nvml.call(f"nvmlGet{name}DeviceCount").out["deviceCount"] == 1
        info = nvml.call(f"nvmlGet{name}DeviceInfoByIndex", None, {"index": 0}).out
        assert (info["info.pciInfo.bus"], info["info.pciInfo.busId"], info["info.uuid"]) == (2, "00000000:02:00.0", boards.UUID.format(1))
        assert nvml.call(f"nvmlGet{name}DeviceInfoByIndex", None, {"index": 1}).code == 2
    assert [nvml.call("nvmlDeviceGetHandleByUUID", None, {"uuid": boards.UUID.format(1)}).code, drain(nvml, at(1)), remove(nvml, at(1))] == [6, 2, 2]
    assert ask(nvml, "DiscoverGpus", at(-1)) == 0
    assert seen(nvml) == ["1", "3"]


@pytest.mark.spec("O12")
def test_a_reset_of_the_node_clears_the_marks(serve: Serve, state_path: Path, library_path: Path) -> None:
    nvml, _ = serve(node())
    assert [drain(nvml, at(0)), remove(nvml, at(1))] == [0, 0]
    assert seen_elsewhere(library_path) == ["3"]
    state.reset(state_path, (state_path.parent / "served.nvpimg").read_bytes())
    assert seen_elsewhere(library_path) == ["1", "2", "3"]


@pytest.mark.spec("O01", "O03", "O05", "O07", "O08", "O09")
def test_a_board_of_the_repository_drains_goes_and_comes_back(serve: Serve, library_path: Path) -> None:
    nvml, handle = serve(tuned.shipped("h100-sxm5-x8_580.105.08", {"processes": [{"pid": 7, "type": "C", "used_memory_mib": 5}]}))
    bus = seen(nvml)
    text = nvml.call("nvmlDeviceGetPciInfo_v3", handle).out["pci.busId"]
    first = {"pciInfo.domain": 0, "pciInfo.bus": 0, "pciInfo.device": 0, "pciInfo.busId": text}
    other = {f"pciInfo.{name}": int(nvml.call("nvmlDeviceGetPciInfo_v3", nvml.device(1)).out[f"pci.{name}"]) for name in ("domain", "bus", "device")}
    persistent = nvml.call("nvmlDeviceGetPersistenceMode", handle).out["mode"]
    assert [drain(nvml, first), remove(nvml, other)] == [19 * persistent, 19 * persistent]
    for index in (0, 1):
        assert nvml.call("nvmlDeviceSetPersistenceMode", nvml.device(index), {"mode": 0}).code == 0
    assert [drain(nvml, first), remove(nvml, first), remove(nvml, other)] == [0, 19, 0]  # a process runs on the first
    assert seen(nvml) == [bus[0], *bus[2:]]
    assert seen_elsewhere(library_path) == bus[2:]
    assert ask(nvml, "DiscoverGpus", other) == drain(nvml, first, 0) == 0
    assert seen(nvml) == seen_elsewhere(library_path) == bus
