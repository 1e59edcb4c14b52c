"""What setters write, as the override document: exported, dropped and applied again it is the same to every field, and nothing is left unsaid."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.stages.overriding import document, nodes, places, putting
from harness.stages.overriding.nodes import Node
from harness.stages.render import serving
from harness.stores.workspace import Workspace
from mocklib import binding, state
from mocklib.binding import Nvml
from mocklib.spec import FieldValue

PROFILE = """format: 1
version: "1.0"
system: {driver_version: "580.173.02"}
device_defaults:
  name: board
  architecture: blackwell
  persistence_mode: enabled
  compute_mode: default
  pci: {bus_id: "0000:07:00.0"}
  performance_state: P0
  accounting: {mode: enabled, terminated: [{pid: 5, time_ms: 3}]}
  processes: [{pid: 77, sm_util: 3}]
  ecc: {mode_current: enabled, mode_pending: enabled, dram_encryption: {mode_current: disabled, mode_pending: disabled},
        errors: {volatile: {single_bit: {device_memory: 4}}, aggregate: {single_bit: {device_memory: 9}}}}
  power:
    {default_limit_mw: 400000, enforced_limit_mw: 400000, min_limit_mw: 100000, max_limit_mw: 400000, smoothing: {supported: true},
     workload_power_profiles: {supported: [{id: 0, priority: 1, conflicts: [1]}, {id: 1, priority: 2}, {id: 2, priority: 3}], requested: [1]}}
  fan: {count: 2, speed_percent: "40", max_speed_rpm: 5000, min_speed_percent: 20}
  clocks:
    {graphics_current: 120, sm_current: 120, memory_current: 3996, graphics_max: 2070, sm_max: 2070, memory_max: 3996, graphics_app: 2070,
     memory_app: 3996, graphics_app_default: 2070, memory_app_default: 3996,
     offsets: {graphics: {min_mhz: -100, max_mhz: 100}, memory: {min_mhz: 0, max_mhz: 100}}}
  supported_clocks: {memory_clocks: [{freq_mhz: 3996, graphics_clocks: [2070, 2055]}]}
devices: [{index: 0}]
"""
RESET = 168
"""The slot of nvidia-smi's reset."""
PRESET = {"profile.version": 1, "profile.profileId": 2}


def always(changes: Mapping[str, Any]) -> Callable[[Any], Mapping[str, Any]]:
    """A verb that writes ``changes`` whatever the GPU has."""
    return lambda _: changes


def mask(number: int) -> list[int]:
    """A mask of profiles."""
    return [number, *([0] * 7)]


CALLS: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("nvmlDeviceSetPowerManagementLimit", {"limit": 150000}, ("power.enforced_limit_mw", "power.requested_limit_mw")),
    ("nvmlDeviceSetPowerMizerMode_v1", {"powerMizerMode.mode": 1}, ("power.power_mizer_mode",)),
    ("nvmlDevicePowerSmoothingSetState", {"state.version": 1, "state.state": 1}, ("power.smoothing.state",)),
    ("nvmlDevicePowerSmoothingActivatePresetProfile", PRESET, ("power.smoothing.active_profile",)),
    ("nvmlDevicePowerSmoothingUpdatePresetProfileParam", {**PRESET, "profile.paramId": 1, "profile.value": 30000}, ("power.smoothing.profiles",)),
    ("nvmlDeviceWorkloadPowerProfileSetRequestedProfiles",
     {"requestedProfiles.version": 1, "requestedProfiles.requestedProfilesMask.mask": mask(5)}, ("power.workload_power_profiles.requested",)),
    ("nvmlDeviceWorkloadPowerProfileClearRequestedProfiles",
     {"requestedProfiles.version": 1, "requestedProfiles.requestedProfilesMask.mask": mask(7)}, ("power.workload_power_profiles.requested",)),
    ("nvmlDeviceSetApplicationsClocks", {"memClockMHz": 3996, "graphicsClockMHz": 2055}, ("clocks.graphics_app",)),
    ("nvmlDeviceSetGpuLockedClocks", {"minGpuClockMHz": 500, "maxGpuClockMHz": 900}, ("clocks.locked_graphics",)),
    ("nvmlDeviceSetMemoryLockedClocks", {"minMemClockMHz": 500, "maxMemClockMHz": 900}, ("clocks.locked_memory",)),
    ("nvmlDeviceSetGpcClkVfOffset", {"offset": -50}, ("clocks.offsets.graphics.set_mhz",)),
    ("nvmlDeviceSetMemClkVfOffset", {"offset": 60}, ("clocks.offsets.memory.set_mhz",)),
    ("nvmlDeviceSetFanSpeed_v2", {"fan": 0, "speed": 77}, ("fan.controls",)),
    ("nvmlDeviceSetFanControlPolicy", {"fan": 1, "policy": 1}, ("fan.controls",)),
    ("nvmlDeviceSetPersistenceMode", {"mode": 0}, ("persistence_mode",)),
    ("nvmlDeviceSetComputeMode", {"mode": 2}, ("compute_mode",)),
    ("nvmlDeviceSetEccMode", {"ecc": 0}, ("ecc.mode_pending",)),
    ("nvmlDeviceClearEccErrorCounts", {"counterType": 0}, ("ecc.errors.volatile.single_bit.device_memory",)),
    ("nvmlDeviceClearEccErrorCounts", {"counterType": 1}, ("ecc.errors.aggregate.single_bit.device_memory",)),
    ("nvmlDeviceSetDramEncryptionMode", {"dramEncryption.version": 1, "dramEncryption.encryptionState": 1}, ("ecc.dram_encryption.mode_pending",)),
    ("nvmlDeviceClearAccountingPids", {}, ("accounting.terminated",)),
    ("nvmlDeviceSetAccountingMode", {"mode": 0}, ("accounting.mode", "accounting.terminated")),
    ("nvmlDeviceSetHostname_v1", {"hostname.value": "gpu-7.rack"}, ("hostname",)),
]  # fmt: skip


@dataclass
class Board:
    """A served board: its node, and the library on it."""

    node: Node
    nvml: Nvml

    def fields(self) -> dict[str, FieldValue]:
        """What is in force."""
        return state.read(self.node.state).devices[0].values

    def set(self, function: str, arguments: dict[str, Any]) -> int:
        """The code of a setter."""
        return self.nvml.call(function, self.nvml.device(0), arguments).code


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory, repository: Path, library_path: Path) -> Iterator[Board]:
    """PROFILE served in this process."""
    folder = tmp_path_factory.mktemp("board")
    path, space = folder / "board.yaml", Workspace(repository)
    path.write_text(PROFILE)
    serving.write_image(path, space, path.with_suffix(".nvpimg"))
    found = places.find(places.Asked(config=str(path), state=str(folder / "state")), {}, space)
    node = nodes.open_node(found, space)
    putting.ensure(node)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NVPARITY_IMAGE", str(found.image.path))
        patch.setenv("MOCK_NVML_STATE", str(node.state))
        nvml = binding.open_library(library_path)
        assert nvml.init() == 0
        yield Board(node, nvml)
        nvml.shutdown()


@pytest.fixture(autouse=True)
def fresh(board: Board) -> None:
    """Every test starts with nothing overridden."""
    putting.reset(board.node, None, everything=True)


@pytest.mark.parametrize(("function", "arguments", "keys"), CALLS, ids=[f"{number}-{case[0]}" for number, case in enumerate(CALLS)])
@pytest.mark.spec("U09", "Y14")
def test_what_a_setter_wrote_is_said_by_keys_and_comes_back(board: Board, function: str, arguments: dict[str, Any], keys: tuple[str, ...]) -> None:
    before = board.fields()
    assert board.set(function, arguments) == 0
    after = board.fields()
    assert after != before
    said = putting.overrides(board.node)
    text = document.dump(said)
    assert all(_has(said.devices[0], key.split(".")) for key in keys), text
    putting.reset(board.node, None, everything=True)
    assert board.fields() == before
    putting.apply(board.node, document.load(text, "export"), "export")
    assert board.fields() == after
    assert putting.overrides(board.node) == said


def _has(tree: Any, steps: list[str]) -> bool:
    return not steps or (isinstance(tree, dict) and steps[0] in tree and _has(tree[steps[0]], steps[1:]))


@pytest.mark.spec("Y14")
def test_all_setters_one_after_the_other_and_an_override_between_each(board: Board) -> None:
    for number, (function, arguments, _) in enumerate(CALLS):
        assert board.set(function, arguments) == 0
        after = board.fields()
        changes = {"utilization.gpu": number}
        putting.put(board.node, 0, always(changes))
        changed = {name for name, value in board.fields().items() if value != after[name]}
        assert changed <= {"utilization.gpu", "monitoring"}, function
    after, said = board.fields(), putting.overrides(board.node)
    putting.reset(board.node, 0)
    putting.apply(board.node, said, "export")
    assert board.fields() == after


VERBS: list[dict[str, Any]] = [
    {"performance_state": "P8"}, {"power.enforced_limit_mw": 200000}, {"clocks.locked_graphics": {"min_mhz": 1, "max_mhz": 300}}, {"clocks": None},
    {"power.workload_power_profiles": {"requested": [0]}}, {"fan.controls": [{"fan": 1, "policy": "manual", "speed_percent": 55}]}, {"fan": None},
    {"states": {"clocks.graphics_app": "no_permission"}}, {"clocks.graphics_app": 2055},
    {"power.smoothing.profiles": {2: {"ramp_up_rate_mw_per_s": 7}}},
]  # fmt: skip


@pytest.mark.spec("Y02", "Y14")
@pytest.mark.parametrize("seed", range(4))
def test_whatever_was_done_the_document_makes_it_again(board: Board, seed: int) -> None:
    """Setters, overrides of the GPU and of all, and resets in any order: the document that is exported gives the same fields on a fresh state."""
    draw = random.Random(seed)
    for _ in range(12):
        kind = draw.choice(("setter", "setter", "own", "all", "reset"))
        if kind == "setter":
            function, arguments, _ = draw.choice(CALLS)
            board.set(function, arguments)  # refused where an override took away what it sets
        elif kind == "reset":
            putting.reset(board.node, draw.choice((0, None)))
        else:
            putting.put(board.node, 0 if kind == "own" else None, always(draw.choice(VERBS)))
    after, said = board.fields(), putting.overrides(board.node)
    putting.reset(board.node, None, everything=True)
    putting.apply(board.node, document.load(document.dump(said), "export"), "export")
    assert {name: (value, after[name]) for name, value in board.fields().items() if value != after[name]} == {}
    assert putting.overrides(board.node) == said


@pytest.mark.spec("Z21")
def test_the_reset_that_nvidia_smi_asks_for_drops_every_write_and_the_gpus_overrides_and_takes_the_pending_ecc_modes(board: Board) -> None:
    """Each setter's write and what stands in the document are gone; the GPU's are those before it, but for the modes that were pending."""
    before = board.fields()
    for function, arguments, _ in CALLS:
        assert board.set(function, arguments) == 0
    putting.put(board.node, 0, always({"utilization.gpu": 77, "thermal.temperature_gpu_c": 66}))
    written = {name for name, value in board.fields().items() if value != before[name]}
    assert {"fan.duties", "power.enforced_limit_mw", "clocks.graphics_app", "clocks.locked_graphics.max_mhz", "utilization.gpu"} <= written
    assert {"power.workload_profiles.requested", "power.smoothing.profiles.2.ramp_up_rate_mw_per_s"} <= written
    assert board.nvml.slot(board.nvml.device(0), RESET, "reset_list").code == 0
    left = {name: value.value for name, value in board.fields().items() if value != before[name]}
    assert left == {"ecc.mode_current": 0, "ecc.mode_pending": 0, "ecc.dram_encryption.mode_current": 1, "ecc.dram_encryption.mode_pending": 1}
    assert putting.overrides(board.node).devices.get(0, {}).keys() <= {"ecc"}


@pytest.mark.spec("O03", "X24", "Y14")
def test_a_drain_is_said_by_its_key_and_comes_back(board: Board) -> None:
    address = {"pciInfo.domain": 0, "pciInfo.bus": 7, "pciInfo.device": 0}

    def draining() -> object:
        return board.nvml.call("nvmlDeviceQueryDrainState", None, address).out.get("currentState")

    assert board.set("nvmlDeviceSetPersistenceMode", {"mode": 0}) == 0
    assert board.nvml.call("nvmlDeviceModifyDrainState", None, {**address, "newState": 1}).code == 0
    putting.put(board.node, 0, always({"performance_state": "P8"}))
    said = putting.overrides(board.node)
    assert said.devices == {0: {"persistence_mode": "disabled", "draining": True, "performance_state": "P8"}}
    assert draining() == 1
    putting.reset(board.node, 0)
    assert draining() == 0
    putting.apply(board.node, said, "export")
    assert draining() == 1
    putting.put(board.node, 0, always({"draining": False}))
    assert draining() == 0


@pytest.mark.spec("Y16")
def test_a_request_that_was_never_written_and_one_that_was_written_empty_are_two(board: Board) -> None:
    never = putting.overrides(board.node)
    assert board.fields()["power.workload_profiles.requested"].value == (2).to_bytes(32, "little")
    clear = {"requestedProfiles.version": 1, "requestedProfiles.requestedProfilesMask.mask": mask(7)}
    assert board.set("nvmlDeviceWorkloadPowerProfileClearRequestedProfiles", clear) == 0
    empty = putting.overrides(board.node)
    assert (never.devices, empty.devices) == ({}, {0: {"power": {"workload_power_profiles": {"requested": []}}}})
    for given, bits in ((never, 2), (empty, 0)):
        putting.apply(board.node, document.load(document.dump(given), "export"), "export")
        assert board.fields()["power.workload_profiles.requested"].value == bits.to_bytes(32, "little")
