"""Setters of modes and of memory: what each checks, what it moves, and what a reset takes back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mocklib import fields as tables
from mocklib.image import Accounted, FieldValue, Process, Slot
from tests.contract import boards

Serve = Callable[..., Any]
Reset = Callable[[Any, int], int]
ABSENT = FieldValue(status=3)
ON, OFF = FieldValue(1), FieldValue(0)
MODES = {"persistence_mode": ON, "compute_mode": OFF, "mig.mode_current": OFF, "accounting.mode": ON, "ecc.mode_current": ON, "ecc.mode_pending": ON}
COUNTERS = [name for name in tables.device_fields() if name.startswith(("ecc.errors.", "ecc.sram."))]


def node(*boards_given: dict[str, FieldValue], modes: frozenset[str] = frozenset({"present", "ecc"})) -> Any:
    """A node of boards with modes, each changed as given."""
    given = boards_given or ({},)
    devices = [boards.device(number) | MODES | own for number, own in enumerate(given)]
    return boards.spec(len(given), devices=devices, modes=[modes] * len(given), slots=[Slot(13, "reset")])


@pytest.fixture
def reset_gpu() -> Reset:
    """A reset of one GPU as nvidia-smi -r of 340 and 390 asks for it; its code."""
    return lambda nvml, handle: int(nvml.slot(handle, 13, "reset").code)


@pytest.fixture(autouse=True)
def state_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """MOCK_NVML_STATE, naming a file that is not there yet."""
    path = tmp_path / "run.state"
    monkeypatch.setenv("MOCK_NVML_STATE", str(path))
    return path


def code(nvml: Any, function: str, handle: int, **arguments: Any) -> int:
    return int(nvml.call(function, handle, {name.replace("__", "."): value for name, value in arguments.items()}).code)


def value(nvml: Any, function: str, handle: int, out: str, **arguments: Any) -> Any:
    answer = nvml.call(function, handle, {name.replace("__", "."): value for name, value in arguments.items()})
    return answer.out[out] if answer.code == 0 else -answer.code


def counters(nvml: Any, handle: int) -> dict[str, Any]:
    """Every error counter: scope and kind -> those of its places and the total; the SRAM's figures by name."""
    scopes, kinds = ("volatile", "aggregate"), ("single_bit", "double_bit")
    found = {}
    for counter, scope in enumerate(scopes):
        for error, kind in enumerate(kinds):
            asked = {"errorType": error, "counterType": counter}
            places = [value(nvml, "nvmlDeviceGetMemoryErrorCounter", handle, "count", **asked, locationType=place) for place in range(8)]
            found[f"{scope}.{kind}"] = [*places, value(nvml, "nvmlDeviceGetTotalEccErrors", handle, "eccCounts", **asked)]
    sram = nvml.call("nvmlDeviceGetSramEccErrorStatus", handle, {"status.version": 1}).out
    return {**found, "sram": sram}


# ---- persistence and compute mode


@pytest.mark.spec("N03")
def test_persistence_mode_is_set_and_read_back(serve: Serve) -> None:
    nvml, handle = serve(node())
    assert [code(nvml, "nvmlDeviceSetPersistenceMode", handle, mode=mode) for mode in (0, 2)] == [0, 2]
    assert value(nvml, "nvmlDeviceGetPersistenceMode", handle, "mode") == 0
    assert code(nvml, "nvmlDeviceSetPersistenceMode", handle, mode=1) == 0
    assert value(nvml, "nvmlDeviceGetPersistenceMode", handle, "mode") == 1


@pytest.mark.parametrize(
    ("function", "field", "argument"),
    [
        ("nvmlDeviceSetPersistenceMode", "persistence_mode", "mode"),
        ("nvmlDeviceSetComputeMode", "compute_mode", "mode"),
        ("nvmlDeviceSetEccMode", "ecc.mode_pending", "ecc"),
        ("nvmlDeviceSetAccountingMode", "accounting.mode", "mode"),
        ("nvmlDeviceSetGpuOperationMode", "gpu_operation_mode.pending", "mode"),
    ],
)
@pytest.mark.spec("O11", "Y17")
def test_a_board_without_a_mode_says_so_and_one_without_a_place_to_record_has_no_permission(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, function: str, field: str, argument: str
) -> None:
    nvml, handle = serve(node({field: ABSENT}))
    assert code(nvml, function, handle, **{argument: 1}) == 3
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "no folder" / "state"))
    nvml, handle = serve(node({field: OFF}))
    assert code(nvml, function, handle, **{argument: 1}) == 4


@pytest.mark.spec("N04")
def test_compute_modes_are_the_four_of_the_header(serve: Serve) -> None:
    nvml, handle = serve(node())
    for mode in (0, 1, 2, 3):
        assert code(nvml, "nvmlDeviceSetComputeMode", handle, mode=mode) == 0
        assert value(nvml, "nvmlDeviceGetComputeMode", handle, "mode") == mode
    assert code(nvml, "nvmlDeviceSetComputeMode", handle, mode=4) == 2


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("nvmlDeviceSetComputeMode", {"mode": 3}),
        ("nvmlDeviceSetAccountingMode", {"mode": 1}),
        ("nvmlDeviceClearAccountingPids", {}),
        ("nvmlDeviceClearEccErrorCounts", {"counterType": 0}),
    ],
)
@pytest.mark.spec("R07", "R08")
def test_what_a_gpu_with_mig_refuses(serve: Serve, function: str, arguments: dict[str, int]) -> None:
    nvml, handle = serve(node({"mig.mode_current": ON}))
    refused = 0 if function == "nvmlDeviceClearEccErrorCounts" else 3  # nvidia-smi itself refuses a clear; the call works
    assert code(nvml, function, handle, **arguments) == refused


@pytest.mark.spec("B22")
def test_an_operation_mode_is_pending_until_the_node_boots_again(serve: Serve) -> None:
    nvml, handle = serve(node({"gpu_operation_mode.current": OFF, "gpu_operation_mode.pending": OFF}))
    assert code(nvml, "nvmlDeviceSetGpuOperationMode", handle, mode=2) == 0
    assert nvml.call("nvmlDeviceGetGpuOperationMode", handle).out == {"current": 0, "pending": 2}
    assert code(nvml, "nvmlDeviceSetGpuOperationMode", handle, mode=3) == 2


# ---- ECC


@pytest.mark.spec("L01", "L02", "L24")
def test_an_ecc_mode_that_is_set_is_pending_and_current_after_a_reset(serve: Serve, reset_gpu: Reset) -> None:
    nvml, handle = serve(node())
    assert [code(nvml, "nvmlDeviceSetEccMode", handle, ecc=mode) for mode in (0, 2)] == [0, 2]
    assert nvml.call("nvmlDeviceGetEccMode", handle).out == {"current": 1, "pending": 0}
    assert value(nvml, "nvmlDeviceGetTotalEccErrors", handle, "eccCounts", errorType=0, counterType=0) >= 0
    assert reset_gpu(nvml, handle) == 0
    assert nvml.call("nvmlDeviceGetEccMode", handle).out == {"current": 0, "pending": 0}
    assert value(nvml, "nvmlDeviceGetTotalEccErrors", handle, "eccCounts", errorType=0, counterType=0) == -3


@pytest.mark.spec("L04", "L05", "L06", "L08", "L09", "L10", "L17")
def test_clearing_volatile_counts_leaves_the_aggregate_ones(serve: Serve) -> None:
    nvml, handle = serve(node())
    before = counters(nvml, handle)
    assert code(nvml, "nvmlDeviceClearEccErrorCounts", handle, counterType=0) == 0
    after = counters(nvml, handle)
    assert after["volatile.single_bit"] == after["volatile.double_bit"] == [0] * 9
    assert 0 not in before["volatile.single_bit"]
    assert {key: after[key] for key in ("aggregate.single_bit", "aggregate.double_bit")} == {
        key: before[key] for key in ("aggregate.single_bit", "aggregate.double_bit")
    }
    gone = {name for name, count in after["sram"].items() if before["sram"][name] and count == 0}
    assert gone == {"status.volatileUncParity", "status.volatileUncSecDed", "status.volatileCor"}


@pytest.mark.spec("L11", "L12", "L18")
def test_clearing_aggregate_counts_takes_sources_and_threshold_with_them(serve: Serve) -> None:
    nvml, handle = serve(node({"ecc.sram.threshold_exceeded": ON}))
    before = counters(nvml, handle)
    assert code(nvml, "nvmlDeviceClearEccErrorCounts", handle, counterType=1) == 0
    after = counters(nvml, handle)
    assert after["aggregate.single_bit"] == after["aggregate.double_bit"] == [0] * 9
    assert after["volatile.single_bit"] == before["volatile.single_bit"]
    kept = {name for name, count in after["sram"].items() if count}
    assert kept == {"status.version", "status.volatileUncParity", "status.volatileUncSecDed", "status.volatileCor"}


@pytest.mark.spec("L15", "L18")
def test_memory_that_was_beyond_repair_for_its_threshold_alone_is_not_once_that_is_cleared(serve: Serve) -> None:
    for failed in (0, 1):
        nvml, handle = serve(
            node({"ecc.sram.threshold_exceeded": ON, "repair.unrepairable_memory": ON, "remapped_rows.failure_occurred": FieldValue(failed)})
        )
        assert code(nvml, "nvmlDeviceClearEccErrorCounts", handle, counterType=1) == 0
        status = "unrepairableMemoryStatus.bUnrepairableMemory"
        assert value(nvml, "nvmlDeviceGetUnrepairableMemoryFlag_v1", handle, status, unrepairableMemoryStatus__version=1) == failed


def test_a_counter_that_a_board_lacks_is_not_zero_after_a_clear(serve: Serve) -> None:
    lacking = dict.fromkeys((name for name in COUNTERS if name.startswith("ecc.sram.volatile")), ABSENT)
    nvml, handle = serve(node(lacking))
    assert code(nvml, "nvmlDeviceClearEccErrorCounts", handle, counterType=0) == 0
    place = {"errorType": 0, "counterType": 0}
    assert value(nvml, "nvmlDeviceGetMemoryErrorCounter", handle, "count", locationType=7, **place) == -3
    assert value(nvml, "nvmlDeviceGetMemoryErrorCounter", handle, "count", locationType=2, **place) == 0


def test_counters_that_rise_rise_from_zero_after_a_clear(serve: Serve) -> None:
    nvml, handle = serve(node({"ecc.errors.volatile.single_bit.total": FieldValue(500, kind=1, rate=7)}))
    assert code(nvml, "nvmlDeviceClearEccErrorCounts", handle, counterType=0) == 0
    assert value(nvml, "nvmlDeviceGetTotalEccErrors", handle, "eccCounts", errorType=0, counterType=0) == 0


def test_a_board_whose_ecc_is_off_has_nothing_to_clear(serve: Serve) -> None:
    nvml, handle = serve(node({"ecc.mode_current": OFF}, modes=frozenset({"present"})))
    assert [code(nvml, "nvmlDeviceClearEccErrorCounts", handle, counterType=kind) for kind in (0, 1, 2)] == [3, 3, 2]


@pytest.mark.spec("L19")
def test_a_dram_encryption_mode_that_is_set_is_pending_and_current_after_a_reset(serve: Serve, reset_gpu: Reset) -> None:
    nvml, handle = serve(node({"ecc.dram_encryption.mode_current": OFF, "ecc.dram_encryption.mode_pending": OFF}))
    asked = {"current.version": 1, "pending.version": 1}

    def modes() -> tuple[int, int]:
        out = nvml.call("nvmlDeviceGetDramEncryptionMode", handle, asked).out
        return out["current.encryptionState"], out["pending.encryptionState"]

    given = {"dramEncryption__version": 1, "dramEncryption__encryptionState": 1}
    assert code(nvml, "nvmlDeviceSetDramEncryptionMode", handle, **given) == 0
    assert modes() == (0, 1)
    assert code(nvml, "nvmlDeviceSetDramEncryptionMode", handle, **{**given, "dramEncryption__encryptionState": 2}) == 2
    assert reset_gpu(nvml, handle) == 0
    assert modes() == (1, 1)


# ---- what health agents ask


@pytest.mark.spec("L16")
def test_each_unit_that_had_an_sram_error_is_one_entry(serve: Serve) -> None:
    given = {f"ecc.sram.uncorrectable_sources.{unit}": OFF for unit in ("l2", "sm", "microcontroller", "pcie", "other")}
    given |= {"ecc.sram.uncorrectable_sources.sm": FieldValue(4), "ecc.sram.uncorrectable_sources.other": FieldValue(2)}
    given["architecture"] = FieldValue(10)
    nvml, handle = serve(node(given))
    function, asked = "nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts", {"errorCounts.version": 1}
    probe = nvml.ffi.new("nvmlEccSramUniqueUncorrectedErrorCounts_v1_t *", {"version": 1 << 24 | 16})
    assert (nvml.function(function)(nvml.ffi.cast("nvmlDevice_t", handle), probe), probe.entryCount) == (7, 2)
    whole = nvml.call(function, handle, asked)
    assert (whole.code, [(entry["unit"], entry["count"]) for entry in whole.out["errorCounts.entries"]]) == (0, [(1, 4), (4, 2)])
    for changed, expected in (({"architecture": FieldValue(9)}, 3), ({}, 3)):
        nvml, handle = serve(node(given | changed, modes=frozenset({"present", "ecc"} if changed else {"present"})))
        assert nvml.call(function, handle, asked).code == expected


@pytest.mark.spec("L22", "L23")
def test_an_inforom_is_sound_where_there_is_one(serve: Serve) -> None:
    nvml, handle = serve(node({"inforom.configuration_checksum": FieldValue(0xDEADBEEF)}))
    assert code(nvml, "nvmlDeviceValidateInforom", handle) == 0
    assert value(nvml, "nvmlDeviceGetInforomConfigurationChecksum", handle, "checksum") == 0xDEADBEEF
    nvml, handle = serve(node({"inforom.configuration_checksum": ABSENT}))
    assert [code(nvml, f"nvmlDevice{name}", handle) for name in ("ValidateInforom", "GetInforomConfigurationChecksum")] == [3, 3]


# ---- accounting

GONE = (Accounted(11, 1, 2, 3, 4), Accounted(12, 1, 2, 3, 4))
BUFFER = FieldValue((*GONE, Accounted(21, 5, 6, 7, running=True), Accounted(22, 5, 6, 7, running=True)))


def pids(nvml: Any, handle: int) -> list[int]:
    return list(nvml.call("nvmlDeviceGetAccountingPids", handle, {"count": 8}).out.get("pids") or ())


@pytest.mark.spec("R01", "R06", "R07")
def test_turning_accounting_off_drops_the_terminated_for_good_and_keeps_the_running(serve: Serve) -> None:
    nvml, handle = serve(node({"accounting.processes": BUFFER}))
    assert pids(nvml, handle) == [11, 12, 21, 22]
    assert code(nvml, "nvmlDeviceSetAccountingMode", handle, mode=0) == 0
    # captures of boards with accounting off list no process, and their list is no state
    assert (value(nvml, "nvmlDeviceGetAccountingMode", handle, "mode"), pids(nvml, handle)) == (0, [])
    assert code(nvml, "nvmlDeviceGetAccountingStats", handle, pid=21) == 3
    assert code(nvml, "nvmlDeviceSetAccountingMode", handle, mode=1) == 0
    assert pids(nvml, handle) == [21, 22]
    assert [code(nvml, "nvmlDeviceGetAccountingStats", handle, pid=pid) for pid in (11, 21)] == [6, 0]
    assert code(nvml, "nvmlDeviceSetAccountingMode", handle, mode=2) == 2


@pytest.mark.spec("R08")
def test_clearing_the_buffer_keeps_the_running(serve: Serve, reset_gpu: Reset) -> None:
    nvml, handle = serve(node({"accounting.processes": BUFFER}))
    assert code(nvml, "nvmlDeviceClearAccountingPids", handle) == 0
    assert pids(nvml, handle) == [21, 22]
    assert value(nvml, "nvmlDeviceGetAccountingStats", handle, "stats.isRunning", pid=22) == 1
    assert reset_gpu(nvml, handle) == 0
    assert pids(nvml, handle) == [11, 12, 21, 22]


@pytest.mark.spec("R06")
def test_the_second_version_of_the_figures_names_its_process(serve: Serve) -> None:
    nvml, handle = serve(node({"accounting.processes": BUFFER}))
    out = nvml.call("nvmlDeviceGetAccountingStats_v2", handle, {"stats.pid": 12}).out
    assert (out["stats.pid"], out["stats.gpuUtilization"], out["stats.maxMemoryUsage"], out["stats.time"], out["stats.isRunning"]) == (12, 1, 3, 4, 0)
    assert code(nvml, "nvmlDeviceGetAccountingStats_v2", handle, stats__pid=13) == 6


# ---- hostname


@pytest.mark.spec("B14")
def test_a_hostname_is_set_cleared_and_checked(serve: Serve, reset_gpu: Reset) -> None:
    nvml, handle = serve(node({"hostname": FieldValue("gpu-node-0")}))

    def named(name: str) -> int:
        return code(nvml, "nvmlDeviceSetHostname_v1", handle, hostname__value=name)

    def name() -> Any:
        return value(nvml, "nvmlDeviceGetHostname_v1", handle, "hostname.value")

    assert [named("rack-7.gpu3"), name()] == [0, "rack-7.gpu3"]
    assert [named("a" * 63), name()] == [0, "a" * 63]
    for wrong in ("a" * 64, "-a", "a-", ".a", "a.", "a b", "a_b", "\u00e4"):
        assert [named(wrong), name()] == [2, "a" * 63], wrong
    assert [named(""), name()] == [0, ""]
    assert reset_gpu(nvml, handle) == 0
    assert name() == "gpu-node-0"
    nvml, handle = serve(node({"hostname": ABSENT}))
    assert [named("a"), name()] == [3, -3]


def test_a_process_list_stays_as_it_is_after_every_setter(serve: Serve) -> None:
    given = {"processes.compute": FieldValue((Process(7, 1 << 20, name="/bin/seven"),)), "accounting.processes": BUFFER}
    nvml, handle = serve(node(given))
    for function, arguments in (("nvmlDeviceClearAccountingPids", {}), ("nvmlDeviceSetAccountingMode", {"mode": 0})):
        assert code(nvml, function, handle, **arguments) == 0
    assert nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", handle, {"infoCount": 4}).out["infos"][0]["pid"] == 7
