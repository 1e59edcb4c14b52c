"""What ``nvparity ctl`` changes, as a process sees it that had started before: at once, through NVML."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.cli import guard
from harness.stages.render import serving
from harness.stores.workspace import Workspace

H100 = "h100-sxm5-x8_580.105.08"
THROTTLE = "nvmlDeviceGetCurrentClocksThrottleReasons"


@dataclass
class Node:
    """A served profile: ``ctl`` on its state, and a client that had started before."""

    folder: Path
    client: subprocess.Popen[str]

    def ctl(self, *words: str) -> None:
        """One command, which succeeds."""
        assert guard.run(["ctl", "--config", str(self.folder / "node.yaml"), "--state", str(self.folder / "state"), *words]) == 0

    def ask(self, function: str, gpu: int | None = 0, **given: Any) -> tuple[int, dict[str, Any]]:
        """What the client is answered."""
        assert self.client.stdin
        assert self.client.stdout
        self.client.stdin.write(json.dumps([function, gpu, given]) + "\n")
        self.client.stdin.flush()
        code, out = json.loads(self.client.stdout.readline())
        return code, out


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, repository: Path, library_path: Path) -> Iterator[Node]:
    """Two of the H100's GPUs, with a state of their own."""
    folder = tmp_path_factory.mktemp("node")
    document = yaml.safe_load((repository / "profiles" / f"{H100}.yaml").read_text())
    document["system"]["num_devices"], document["devices"] = 2, document["devices"][:2]
    (folder / "node.yaml").write_text(yaml.safe_dump(document))
    serving.write_image(folder / "node.yaml", Workspace(repository), folder / "node.nvpimg")
    variables = {**os.environ, "PYTHONPATH": str(repository), "NVPARITY_IMAGE": str(folder / "node.nvpimg"), "MOCK_NVML_STATE": str(folder / "state")}
    command = [sys.executable, "-m", "tests.contract.asked", str(library_path)]
    with subprocess.Popen(command, cwd=repository, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout
        assert client.stdout.readline() == "0\n"
        yield Node(folder, client)
        assert client.stdin
        client.stdin.close()
        assert client.wait(30) == 0


@pytest.fixture(autouse=True)
def fresh(node: Node) -> Iterator[None]:
    """Every test ends with nothing overridden."""
    yield
    node.ctl("reset")


SEEN = [
    (["temp", "85"], "nvmlDeviceGetTemperature", {"sensorType": 0}, "temp", 85, ("X04",)),
    (["power", "300.5"], "nvmlDeviceGetPowerUsage", {}, "power", 300500, ("X05", "F07")),
    (["power", "100000"], "nvmlDeviceGetPowerUsage", {}, "power", 700000, ("X05", "U03")),
    (["fan", "40"], "nvmlDeviceGetFanSpeed", {}, "speed", 40, ("X06", "H12")),
    (["fan", "40"], "nvmlDeviceGetNumFans", {}, "numFans", 1, ("X06", "H12")),
    (["util", "77"], "nvmlDeviceGetUtilizationRates", {}, "utilization.gpu", 77, ("X07", "K02")),
    (["utilization", "78"], "nvmlDeviceGetUtilizationRates", {}, "utilization.memory", 78, ("X07", "K02")),
    (["clocks", "1200"], "nvmlDeviceGetClockInfo", {"type": 1}, "clock", 1200, ("X08",)),
    (["clocks", "1201"], "nvmlDeviceGetClockInfo", {"type": 0}, "clock", 1201, ("X08",)),
    (["throttle", "thermal"], THROTTLE, {}, "clocksThrottleReasons", 0x40, ("X09", "J07")),
    (["throttle", "sw_thermal,power"], THROTTLE, {}, "clocksThrottleReasons", 0x24, ("X09", "J03", "J06")),
    (["throttle", "power_brake", "idle"], THROTTLE, {}, "clocksThrottleReasons", 0x81, ("X09", "J01", "J08")),
    (["throttle", "app_clocks", "display_clocks"], THROTTLE, {}, "clocksThrottleReasons", 0x102, ("X09", "J02", "J09")),
    (["throttle", "hw_slowdown", "sync_boost"], THROTTLE, {}, "clocksThrottleReasons", 0x18, ("X09", "J04", "J05")),
    (["throttle", "none"], THROTTLE, {}, "clocksThrottleReasons", 0, ("X09",)),
    (["pstate", "8"], "nvmlDeviceGetPerformanceState", {}, "pState", 8, ("X10", "K01")),
    (["sram-ecc", "5", "--type", "parity", "--source", "mcu", "--threshold-exceeded"], "nvmlDeviceGetSramEccErrorStatus", {"status.version": 1},
     "status.aggregateUncParity", 5, ("X12", "L10")),
    (["sram-ecc", "6"], "nvmlDeviceGetSramEccErrorStatus", {"status.version": 1}, "status.volatileUncSecDed", 6, ("X12", "L09")),
    (["sram-ecc", "7", "--type", "correctable"], "nvmlDeviceGetSramEccErrorStatus", {"status.version": 1}, "status.volatileCor", 7, ("X12", "L08")),
    (["sram-ecc", "8", "--source", "l2"], "nvmlDeviceGetSramEccErrorStatus", {"status.version": 1}, "status.aggregateUncBucketL2", 8, ("X12", "L11")),
    (["fabric-health", "bandwidth"], "nvmlDeviceGetGpuFabricInfoV", {"gpuFabricInfo.version": 2}, "gpuFabricInfo.healthMask", 0x1A9, ("X13", "T06")),
    (["fabric-health", "healthy"], "nvmlDeviceGetGpuFabricInfoV", {"gpuFabricInfo.version": 2}, "gpuFabricInfo.healthMask", 0x1AA, ("X13",)),
    (["set", "memory.used_bytes=9007199254740993"], "nvmlDeviceGetMemoryInfo_v2", {"memory.version": 2}, "memory.used", 2**53 + 1, ("X14", "C03")),
    (["set", "utilization.encoder=31"], "nvmlDeviceGetEncoderUtilization", {}, "utilization", 31, ("X14", "K03")),
    (["set", "utilization={decoder: 32}"], "nvmlDeviceGetDecoderUtilization", {}, "utilization", 32, ("X14", "K03")),
    (["set", "processes=[{pid: 4242, used_memory_mib: 3}]"], "nvmlDeviceGetComputeRunningProcesses_v3", {"infos": 8}, "infoCount", 1, ("X24",)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "function", "given", "member", "value"), [pytest.param(*case[:-1], marks=pytest.mark.spec(*case[-1])) for case in SEEN]
)
def test_a_running_process_sees_a_verb_at_once_on_that_gpu_alone(
    node: Node, words: list[str], function: str, given: dict[str, Any], member: str, value: int
) -> None:
    before = node.ask(function, 1, **given)
    node.ctl(*words, "--gpu", "0")
    code, out = node.ask(function, 0, **given)
    assert (code, out.get(member)) == (0, value)
    assert node.ask(function, 1, **given) == before
    node.ctl(*words, "--gpu", "all")
    assert node.ask(function, 1, **given)[1].get(member) == value


MOVING = ("dynamic_metrics={seed: 3, temperature: {base_c: 50, variance_c: 3, ramp_c: 20, ramp_period_sec: 60}, "
          "power: {base_mw: 300000, variance_mw: 20000}, utilization: {pattern: burst, gpu_min: 0, gpu_max: 100, burst_period_sec: 10}}")  # fmt: skip


@pytest.mark.spec("Y09")
def test_an_unrelated_change_keeps_what_moves_where_it_is(node: Node) -> None:
    def readings() -> list[Any]:
        asked = [("nvmlDeviceGetTemperature", {"sensorType": 0}), ("nvmlDeviceGetPowerUsage", {}), ("nvmlDeviceGetUtilizationRates", {})]
        return [node.ask(function, 0, **given) for function, given in asked]

    try:
        node.ctl("set", MOVING, "--gpu", "0")
        seen = []
        for number in range(4):
            node.ctl("clock", "step", "7s")
            seen.append(readings())
            node.ctl("fan", str(40 + number), "--gpu", "0")
            node.ctl("pstate", str(number), "--gpu", "all")
            assert readings() == seen[-1]
        assert all(len({str(reading) for reading in readings}) > 1 for readings in zip(*seen, strict=True))
    finally:
        node.ctl("clock", "freeze", "2026-08-21T08:54:01Z")


@pytest.mark.spec("X24")
def test_modes_and_lists_of_a_gpu_are_keys_like_any_other(node: Node) -> None:
    node.ctl("set", "accounting={mode: enabled, terminated: [{pid: 77, gpu_util: 3}]}", "compute_mode=prohibited", "excluded=true", "--gpu", "0")
    assert node.ask("nvmlDeviceGetAccountingMode")[1] == {"mode": 1}
    assert node.ask("nvmlDeviceGetAccountingStats", 0, pid=77)[1]["stats.gpuUtilization"] == 3
    assert node.ask("nvmlDeviceGetComputeMode")[1] == {"mode": 2}
    assert node.ask("nvmlGetExcludedDeviceCount", None)[1] == {"deviceCount": 1}
    node.ctl("reset", "--gpu", "0")
    assert node.ask("nvmlGetExcludedDeviceCount", None)[1] == {"deviceCount": 0}


@pytest.mark.spec("X22", "X04", "X05", "X07")
def test_a_static_write_is_hidden_by_a_dynamic_block_and_the_verbs_are_not(node: Node) -> None:
    dynamic = "dynamic_metrics={temperature: {base_c: 50}, power: {base_mw: 300000}, utilization: {pattern: steady, gpu_min: 3, gpu_max: 3}}"
    node.ctl("set", dynamic, "--gpu", "0")
    node.ctl("set", "thermal.temperature_gpu_c=20", "power.current_draw_mw=20000", "utilization.gpu=20", "--gpu", "0")
    readings = [("nvmlDeviceGetTemperature", {"sensorType": 0}, "temp"), ("nvmlDeviceGetPowerUsage", {}, "power"),
                ("nvmlDeviceGetUtilizationRates", {}, "utilization.gpu")]  # fmt: skip
    assert [node.ask(function, 0, **given)[1][member] for function, given, member in readings] == [50, 300000, 3]
    for words in (["temp", "21"], ["power", "210"], ["util", "22"]):
        node.ctl(*words, "--gpu", "0")
    assert [node.ask(function, 0, **given)[1][member] for function, given, member in readings] == [21, 210000, 22]


@pytest.mark.spec("X23", "U17")
def test_what_a_gpu_is_known_by_is_kept_and_inert(node: Node) -> None:
    known = ("nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetBAR1MemoryInfo", "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetArchitecture",
             "nvmlDeviceGetBrand", "nvmlDeviceGetCudaComputeCapability")  # fmt: skip
    before = [node.ask(function) for function in known]
    pairs = ["name=other", "uuid=GPU-00000000-0000-0000-0000-00000000000f", "bar1_memory={total_bytes: 5}", "pci.bus_id='0000:7F:00.0'",
             "architecture=turing", "brand=geforce", "compute_capability={major: 7, minor: 5}"]  # fmt: skip
    node.ctl("set", *pairs, "--gpu", "0")
    assert [node.ask(function) for function in known] == before


@pytest.mark.spec("Y14", "F04")
def test_the_later_of_a_setter_and_an_override_wins_and_the_export_says_both(node: Node) -> None:
    assert node.ask("nvmlDeviceSetPowerManagementLimit", 0, limit=250000)[0] == 0
    node.ctl("pstate", "2", "--gpu", "0")
    assert node.ask("nvmlDeviceGetPowerManagementLimit")[1] == {"limit": 250000}
    place = node.folder / "export.yaml"
    node.ctl("export", str(place))
    assert yaml.safe_load(place.read_text())["devices"] == {
        "0": {"performance_state": "P2", "power": {"enforced_limit_mw": 250000, "requested_limit_mw": 250000}}
    }
    node.ctl("set", "power.enforced_limit_mw=260000", "--gpu", "0")
    node.ctl("pstate", "3", "--gpu", "0")
    assert node.ask("nvmlDeviceGetEnforcedPowerLimit")[1] == {"limit": 260000}
    assert node.ask("nvmlDeviceSetPowerManagementLimit", 0, limit=270000)[0] == 0
    assert node.ask("nvmlDeviceGetEnforcedPowerLimit")[1] == {"limit": 270000}
    node.ctl("apply", str(place))
    assert node.ask("nvmlDeviceGetEnforcedPowerLimit")[1] == {"limit": 250000}
    assert node.ask("nvmlDeviceGetPerformanceState")[1] == {"pState": 2}
    node.ctl("reset", "--gpu", "0")
    assert node.ask("nvmlDeviceGetEnforcedPowerLimit")[1] == {"limit": 700000}


@pytest.mark.spec("Y14")
def test_an_export_applied_again_changes_nothing(node: Node) -> None:
    node.ctl("temp", "66", "--gpu", "all")
    node.ctl("sram-ecc", "5", "--source", "sm", "--gpu", "1")
    assert node.ask("nvmlDeviceSetPowerManagementLimit", 1, limit=250000)[0] == 0
    first, second = node.folder / "first.yaml", node.folder / "second.yaml"
    node.ctl("export", str(first))
    node.ctl("reset")
    node.ctl("apply", str(first))
    node.ctl("export", str(second))
    assert second.read_text() == first.read_text()
    assert node.ask("nvmlDeviceGetPowerManagementLimit", 1)[1] == {"limit": 250000}


@pytest.mark.spec("Y13", "Y02")
def test_what_is_for_all_gpus_stays_when_one_is_reset(node: Node) -> None:
    node.ctl("temp", "50", "--gpu", "all")
    node.ctl("temp", "60", "--gpu", "0")
    assert node.ask("nvmlDeviceGetTemperature", 0, sensorType=0)[1] == {"temp": 60}
    node.ctl("reset", "--gpu", "0")
    assert node.ask("nvmlDeviceGetTemperature", 0, sensorType=0)[1] == {"temp": 50}


@pytest.mark.spec("X16")
def test_a_reset_takes_what_setters_wrote(node: Node) -> None:
    before = node.ask("nvmlDeviceGetPowerManagementLimit", 0)
    assert node.ask("nvmlDeviceSetPowerManagementLimit", 0, limit=250000)[0] == 0
    node.ctl("reset", "--gpu", "0")
    assert node.ask("nvmlDeviceGetPowerManagementLimit", 0) == before


@pytest.mark.spec("X03", "V08", "V18", "Y09")
def test_a_failure_stays_tripped_through_other_changes_until_it_is_healed(node: Node) -> None:
    temperature = ("nvmlDeviceGetTemperature", 0)
    node.ctl("fail", "--mode", "lost", "--after-calls", "2", "--xid", "79", "--gpu", "0")
    assert [node.ask(*temperature, sensorType=0)[0] for _ in range(3)] == [0, 15, 15]
    node.ctl("pstate", "4", "--gpu", "0")
    node.ctl("fan", "30", "--gpu", "all")
    assert node.ask(*temperature, sensorType=0)[0] == 15
    place = node.folder / "failed.yaml"
    node.ctl("export", str(place))
    own = yaml.safe_load(place.read_text())["devices"]["0"]
    assert own == {"failure": {"mode": "lost", "after_calls": 2, "probability": None, "seed": None, "xid": {"code": 79}}, "performance_state": "P4"}
    node.ctl("fail", "--mode", "healthy", "--gpu", "0")
    assert node.ask(*temperature, sensorType=0)[0] == 0
    assert node.ask("nvmlDeviceGetPerformanceState")[1] == {"pState": 4}
    assert node.ask(*("nvmlDeviceGetTemperature", 1), sensorType=0)[0] == 0


@pytest.mark.spec("X03", "V10")
def test_what_a_failure_does_is_no_override(node: Node) -> None:
    node.ctl("fail", "--mode", "ecc_uncorrectable", "--gpu", "0")
    assert node.ask("nvmlDeviceGetTemperature", 0, sensorType=0)[0] == 0
    assert node.ask("nvmlDeviceGetRemappedRows")[1] == {"corrRows": 0, "uncRows": 1, "isPending": 0, "failureOccurred": 1}
    node.ctl("pstate", "4", "--gpu", "0")
    place = node.folder / "failed.yaml"
    node.ctl("export", str(place))
    assert set(yaml.safe_load(place.read_text())["devices"]["0"]) == {"failure", "performance_state"}
    assert node.ask("nvmlDeviceGetRemappedRows")[1]["uncRows"] == 1
    node.ctl("reset", "--gpu", "0")
    assert node.ask("nvmlDeviceGetRemappedRows")[1] == {"corrRows": 0, "uncRows": 0, "isPending": 0, "failureOccurred": 0}


def test_a_recipe_is_seen_and_taken_away(node: Node) -> None:
    node.ctl("recipe", "row-remap-pending", "--gpu", "1")
    assert node.ask("nvmlDeviceGetRemappedRows", 1)[1]["isPending"] == 1
    assert node.ask("nvmlDeviceGetRemappedRows", 0)[1]["isPending"] == 0
    node.ctl("reset", "--gpu", "1")
    assert node.ask("nvmlDeviceGetRemappedRows", 1)[1]["isPending"] == 0
