"""Failure injection: guarded calls are counted for all processes of a state, one of them trips the device, and that stays."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mocklib import asking, fields, state
from mocklib.image import FieldId, FieldValue
from tests.contract import boards

ROOT = Path(__file__).resolve().parents[2]
LOST, FALLEN, ECC = 1, 2, 3
GPU_IS_LOST, TIMEOUT = 15, 10
Serve = Callable[..., Any]
IDENTITY = ("nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetSerial", "nvmlDeviceGetIndex", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetBrand",
            "nvmlDeviceGetBoardPartNumber", "nvmlDeviceGetPciInfo_v3")  # fmt: skip
GUARDED: dict[str, dict[str, Any]] = {
    "nvmlDeviceGetMemoryInfo": {}, "nvmlDeviceGetMemoryInfo_v2": {"memory.version": 2}, "nvmlDeviceGetTemperature": {"sensorType": 0},
    "nvmlDeviceGetPowerUsage": {}, "nvmlDeviceGetClockInfo": {"type": 1}, "nvmlDeviceGetUtilizationRates": {},
    "nvmlDeviceGetTotalEccErrors": {"errorType": 1, "counterType": 0},
    "nvmlDeviceGetMemoryErrorCounter": {"errorType": 1, "counterType": 0, "locationType": 2},
    "nvmlDeviceGetSramEccErrorStatus": {"status.version": 1}, "nvmlDeviceGetRemappedRows": {}, "nvmlDeviceGetRowRemapperHistogram": {},
    "nvmlDeviceGetViolationStatus": {"perfPolicyType": 0},
}  # fmt: skip
"""The guarded set of ledger V12, with arguments."""


def failing(mode: int, after: int = 0, probability: float = 0, seed: int = 0, xid: int = 0) -> dict[str, FieldValue]:
    """The fields of an injector."""
    numbers = {"mode": mode, "after_calls": after, "probability": round(probability * 2**53), "seed": seed, "xid_code": xid}
    return {f"failure.{name.replace('_code', '.code')}": FieldValue(number) for name, number in numbers.items()} | {
        f"failure.{name}": FieldValue(0) for name in ("counted_from", "tripped", "told")
    }


def node(*injectors: dict[str, FieldValue], **given: FieldValue) -> Any:
    """A node with one device an injector."""
    devices = [boards.device(number, **given) | injector for number, injector in enumerate(injectors)]
    return boards.spec(len(injectors), devices=devices, modes=[frozenset({"present", "ecc", "armed"})] * len(injectors))


def temperature(nvml: Any, handle: int) -> int:
    return int(nvml.call("nvmlDeviceGetTemperature", handle, {"sensorType": 0}).code)


def double_bits(nvml: Any, handle: int) -> int:
    return int(nvml.call("nvmlDeviceGetTotalEccErrors", handle, {"errorType": 1, "counterType": 0}).out["eccCounts"])


@pytest.fixture
def state_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "run.state"
    monkeypatch.setenv("MOCK_NVML_STATE", str(path))
    return path


@pytest.mark.spec("V01", "V03")
@pytest.mark.parametrize("mode", [0, 4, 999])
def test_a_healthy_device_and_one_of_an_unknown_mode_never_trip(mode: int, serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(node(failing(mode, after=1, probability=1, xid=79)))
    assert [temperature(nvml, handle) for _ in range(5)] == [0] * 5


@pytest.mark.spec("V02", "V04", "V12")
@pytest.mark.parametrize("name", GUARDED)
def test_the_call_whose_number_is_reached_answers_that_the_gpu_is_lost(name: str, serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(node(failing(LOST, after=3)))
    assert [nvml.call(name, handle, GUARDED[name]).code for _ in range(4)] == [0, 0, GPU_IS_LOST, GPU_IS_LOST]
    nvml, handle = serve(node(failing(FALLEN)))
    assert nvml.call(name, handle, GUARDED[name]).code == GPU_IS_LOST


@pytest.mark.spec("V12")
def test_only_guarded_calls_count_each_once(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(node(failing(LOST, after=2)))
    for name in (*IDENTITY, "nvmlDeviceGetFanSpeed", "nvmlDeviceGetPersistenceMode", "nvmlDeviceGetMaxClockInfo"):
        assert nvml.call(name, handle, {"type": 0} if name.endswith("MaxClockInfo") else {}).code == 0
    assert nvml.call("nvmlDeviceGetMemoryInfo_v2", handle, {"memory.version": 2}).code == 0  # four fields, one call
    assert temperature(nvml, handle) == GPU_IS_LOST


@pytest.mark.spec("V12")
def test_a_list_of_field_values_and_a_setter_count_once(serve: Serve, state_path: Path) -> None:
    totals = [FieldId(number, None, "ecc.errors.volatile.double_bit.total", 3) for number in (3, 4)]
    spec = node(failing(LOST, after=3), power__min_limit_mw=FieldValue(1), power__max_limit_mw=FieldValue(9))
    spec.field_ids.extend(totals)
    nvml, handle = serve(spec)
    assert [answer.code for answer in nvml.field_values(handle, [(3, 0), (4, 0)])] == [0, 0]
    assert nvml.call("nvmlDeviceSetPowerManagementLimit", handle, {"limit": 5}).code == 0
    assert [answer.code for answer in nvml.field_values(handle, [(3, 0), (4, 0)])] == [GPU_IS_LOST] * 2
    assert nvml.call("nvmlDeviceSetPowerManagementLimit", handle, {"limit": 5}).code == GPU_IS_LOST


@pytest.mark.spec("V09")
@pytest.mark.parametrize("mode", [LOST, FALLEN])
def test_a_tripped_device_is_lost_to_every_call_and_its_siblings_are_not(mode: int, serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(node(failing(mode), failing(0)))
    bus, uuid = (nvml.call(f"nvmlDeviceGet{name}", handle).out for name in ("PciInfo_v3", "UUID"))
    assert nvml.device(0) == handle  # a lookup counts as no call
    assert temperature(nvml, handle) == GPU_IS_LOST
    assert {name: nvml.call(name, handle).code for name in IDENTITY} == dict.fromkeys(IDENTITY, GPU_IS_LOST)
    assert nvml.call("nvmlDeviceGetGpuFabricInfo", handle).code == GPU_IS_LOST
    assert nvml.call("nvmlDeviceGetPlatformInfo", handle, {"platformInfo.version": 2}).code == GPU_IS_LOST
    assert nvml.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": 0}).code == GPU_IS_LOST
    assert nvml.call("nvmlDeviceGetHandleByUUID", None, {"uuid": uuid["uuid"]}).code == GPU_IS_LOST
    assert nvml.call("nvmlDeviceGetHandleByPciBusId_v2", None, {"pciBusId": bus["pci.busId"]}).code == GPU_IS_LOST
    assert temperature(nvml, nvml.device(1)) == 0
    assert nvml.count() == 2


@pytest.mark.spec("V03", "V05", "V06")
def test_rolls_are_repeatable_and_come_first_or_after_the_count(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def trips_at(number: int, **given: Any) -> int:
        monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / f"{number}.state"))
        nvml, handle = serve(node(failing(LOST, **given)))
        return next(call for call in range(1, 10_000) if temperature(nvml, handle))

    found = [trips_at(number, probability=0.05, seed=seed) for number, seed in enumerate([7, 7, 8, 9, 10, 11])]
    assert found[0] == found[1]
    assert len(set(found)) > 2
    assert trips_at(10, probability=0.05, seed=7, after=found[0] + 1) == found[0]
    assert trips_at(11, probability=0.05, seed=7, after=max(found[0] - 1, 1)) == max(found[0] - 1, 1)
    assert trips_at(12, probability=1, seed=3) == 1
    calls = [trips_at(20 + seed, probability=0.2, seed=seed + 1) for seed in range(40)]
    assert 2 < sum(calls) / len(calls) < 9  # 5 in the long run


@pytest.mark.spec("V10", "L14", "L15", "M02", "M04")
def test_uncorrectable_errors_rise_with_every_guarded_call(serve: Serve, state_path: Path) -> None:
    rows = {"remapped_rows.uncorrectable": 5, "remapped_rows.failure_occurred": 0, "repair.channel_pending": 0, "repair.unrepairable_memory": 0}
    given = {name.replace(".", "__"): FieldValue(number) for name, number in rows.items()}
    nvml, handle = serve(node(failing(ECC, after=3), ecc__errors__volatile__double_bit__total=FieldValue(100), **given))
    assert [double_bits(nvml, handle) for _ in range(5)] == [100, 100, 103, 104, 105]
    assert temperature(nvml, handle) == 0
    location = {"errorType": 1, "counterType": 1, "locationType": 2}
    first, second = (nvml.call("nvmlDeviceGetMemoryErrorCounter", handle, location).out["count"] for _ in range(2))
    assert second == first + 1
    single = {"errorType": 0, "counterType": 0}
    assert len({nvml.call("nvmlDeviceGetTotalEccErrors", handle, single).out["eccCounts"] for _ in range(2)}) == 1
    remapped = nvml.call("nvmlDeviceGetRemappedRows", handle).out
    assert (remapped["uncRows"], remapped["failureOccurred"]) == (6, 1)
    assert nvml.call("nvmlDeviceGetRepairStatus", handle, {"repairStatus.version": 1}).out["repairStatus.bChannelRepairPending"] == 1
    flag = nvml.call("nvmlDeviceGetUnrepairableMemoryFlag_v1", handle).out
    assert flag["unrepairableMemoryStatus.bUnrepairableMemory"] == 1


@pytest.mark.spec("V10")
def test_a_board_without_row_remapping_gets_none(serve: Serve, state_path: Path) -> None:
    none = {name.replace(".", "__"): FieldValue(status=3) for name in fields.device_fields() if name.startswith(("remapped_rows.", "repair."))}
    nvml, handle = serve(node(failing(ECC), **none))
    first, second = double_bits(nvml, handle), double_bits(nvml, handle)
    assert second == first + 1
    assert nvml.call("nvmlDeviceGetRemappedRows", handle).code == 3


def other_process(library: Path, calls: int) -> int:
    """The code of the last of so many guarded calls on device 0, made by another process; that of the lookup where it fails."""
    program = (
        "import sys; from mocklib import binding; n = binding.open_library(sys.argv[1]); assert n.init() == 0; "
        "found = n.call('nvmlDeviceGetHandleByIndex_v2', None, {'index': 0}); code = found.code\n"
        "for _ in range(int(sys.argv[2])): code = code or n.call('nvmlDeviceGetTemperature', found.out['device'], {'sensorType': 0}).code\n"
        "sys.exit(code)"
    )
    return subprocess.run([sys.executable, "-c", program, str(library), str(calls)], check=False, cwd=ROOT).returncode


def test_calls_of_all_processes_count_and_the_trip_is_seen_by_all(serve: Serve, state_path: Path, library_path: Path) -> None:
    """Other than ledger V07: the count is of the node, or one-shot processes would never reach it."""
    nvml, handle = serve(node(failing(LOST, after=4)))
    assert [temperature(nvml, handle) for _ in range(2)] == [0, 0]
    assert other_process(library_path, 1) == 0
    assert other_process(library_path, 2) == GPU_IS_LOST
    assert temperature(nvml, handle) == GPU_IS_LOST
    assert other_process(library_path, 0) == GPU_IS_LOST


@pytest.mark.spec("A18", "V08")
def test_a_trip_outlives_the_init(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(node(failing(LOST)))
    assert temperature(nvml, handle) == GPU_IS_LOST
    assert (nvml.shutdown(), nvml.init()) == (0, 0)
    assert nvml.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": 0}).code == GPU_IS_LOST


@pytest.mark.spec("A18")
def test_where_nothing_can_be_written_the_trip_is_the_processs_own(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "no" / "folder" / "state"))
    nvml, handle = serve(node(failing(LOST, after=3, xid=79), failing(0)))
    events = nvml.call("nvmlEventSetCreate").out["set"]
    assert nvml.call("nvmlDeviceRegisterEvents", handle, {"eventTypes": 8, "set": events}).code == 0
    assert [temperature(nvml, handle) for _ in range(4)] == [0, 0, GPU_IS_LOST, GPU_IS_LOST]
    assert temperature(nvml, nvml.device(1)) == 0
    assert nvml.call("nvmlEventSetWait_v2", None, {"set": events, "timeoutms": 0}).out["data.eventData"] == 79
    assert nvml.call("nvmlDeviceSetPowerManagementLimit", nvml.device(1), {"limit": 5}).code in (2, 4)
    assert (nvml.shutdown(), nvml.init()) == (0, 0)
    assert nvml.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": 0}).code == GPU_IS_LOST


@pytest.mark.spec("V18")
def test_a_reset_by_the_writer_drops_the_injectors_trip(serve: Serve, state_path: Path, tmp_path: Path) -> None:
    nvml, handle = serve(node(failing(LOST, after=2)))
    assert [temperature(nvml, handle) for _ in range(2)] == [0, GPU_IS_LOST]
    state.reset(state_path, (tmp_path / "served.nvpimg").read_bytes(), 0)
    assert [temperature(nvml, handle) for _ in range(2)] == [0, GPU_IS_LOST]


@pytest.mark.spec("V17")
def test_the_time_it_was_held_back_never_carries_the_xid(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(node(failing(ECC, xid=79)))
    given = [nvml.call("nvmlDeviceGetViolationStatus", handle, {"perfPolicyType": 0}).out for _ in range(2)]
    assert given[0] == given[1]


def published(path: Path, spec: Any, device: int = 0) -> None:
    """The record of a device made anew, as an override makes it."""
    state.publish(path, device, spec, spec)


@pytest.mark.spec("V08", "V18", "Y09")
@pytest.mark.parametrize("mode", [LOST, ECC])
def test_an_unrelated_edit_keeps_count_and_trip_and_another_injector_begins_anew(mode: int, serve: Serve, state_path: Path) -> None:
    def spec(cooling: int, *injectors: dict[str, FieldValue]) -> Any:
        return node(*injectors, fan__speed_percent=FieldValue(cooling), remapped_rows__uncorrectable=FieldValue(0))

    def tripped(handle: int) -> bool:
        return bool(nvml.call("nvmlDeviceGetRemappedRows", handle).out.get("uncRows", 1))

    nvml, handle = serve(spec(30, failing(mode, after=4), failing(0)))
    assert [tripped(handle) for _ in range(2)] == [False, False]
    published(state_path, spec(40, failing(mode, after=4), failing(0)))
    assert nvml.call("nvmlDeviceGetFanSpeed", handle).out["speed"] == 40
    assert [tripped(handle) for _ in range(2)] == [False, True]
    published(state_path, spec(50, failing(mode, after=4), failing(0)))
    assert tripped(handle)
    assert nvml.call("nvmlDeviceGetFanSpeed", handle).code == (15 if mode == LOST else 0)
    if mode == ECC:
        first, second = double_bits(nvml, handle), double_bits(nvml, handle)
        assert second == first + 1
    published(state_path, spec(50, failing(mode, after=2), failing(0)))
    assert [tripped(handle) for _ in range(3)] == [False, True, True]
    published(state_path, node(failing(0), remapped_rows__uncorrectable=FieldValue(0)))
    assert [tripped(handle) for _ in range(5)] == [False] * 5


@pytest.mark.spec("V18")
def test_a_reset_of_the_gpu_drops_an_injector_that_an_override_put(serve: Serve, state_path: Path) -> None:
    healthy = node(failing(0))
    nvml, handle = serve(healthy)
    state.publish(state_path, 0, node(failing(LOST)), healthy)
    assert temperature(nvml, handle) == GPU_IS_LOST
    state.publish(state_path, 0, healthy, healthy)
    assert [temperature(nvml, handle) for _ in range(3)] == [0, 0, 0]
    assert nvml.device(0) == handle


@pytest.mark.hostile
def test_a_trip_killed_before_any_of_its_stores_is_told_once(flavour_path: Callable[[str], Path], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.contract.killed_trip", str(flavour_path("killpoints")), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert int(done.stdout) > 20


@pytest.mark.spec("V12")
def test_no_getter_counts_more_than_once(serve: Serve, state_path: Path) -> None:
    nvml, _ = serve(node(failing(LOST, after=10**9), gpm__supported=FieldValue(1)))
    asker = asking.Asker(nvml)
    counted: set[str] = set()
    for asked in asker.recording():
        before = calls(state_path)
        asker.answer(asked)
        assert calls(state_path) - before in (0, 1), asked
        counted |= {asked.function} if calls(state_path) > before else set()
    assert counted >= set(GUARDED)
    before, sample = calls(state_path), nvml.ffi.new("nvmlGpmSample_t *")
    assert nvml.library.nvmlGpmSampleAlloc(sample) == 0
    assert nvml.library.nvmlGpmSampleGet(nvml.ffi.cast("nvmlDevice_t", nvml.device(0)), sample[0]) == 0
    assert calls(state_path) - before == 1


def calls(path: Path) -> int:
    """The guarded calls on device 0 so far."""
    with state.writing(path) as held:
        return held.calls(0)


@pytest.mark.spec("L17", "L18", "V10")
def test_cleared_errors_rise_from_zero_while_the_injector_counts_and_stay_cleared_after_it(serve: Serve, state_path: Path) -> None:
    def clear(counter: int) -> int:
        return int(nvml.call("nvmlDeviceClearEccErrorCounts", handle, {"counterType": counter}).code)

    totals = {f"ecc__errors__{scope}__double_bit__total": FieldValue(number) for scope, number in (("volatile", 100), ("aggregate", 900))}
    nvml, handle = serve(node(failing(ECC), **totals))
    assert [double_bits(nvml, handle) for _ in range(2)] == [101, 102]
    assert [clear(0), double_bits(nvml, handle), double_bits(nvml, handle)] == [0, 1, 2]
    aggregate = nvml.call("nvmlDeviceGetTotalEccErrors", handle, {"errorType": 1, "counterType": 1}).out["eccCounts"]
    assert aggregate == 906  # three calls, the clear and two more
    assert [clear(1), clear(0), double_bits(nvml, handle)] == [0, 0, 1]
    now = state.read(state_path).devices[0]
    kept = {name: now.values[name] for name in now.overridden}
    served, healthy = node(failing(ECC), **totals), node(failing(0), **totals)
    for spec, seen in ((served, [2, 3]), (healthy, [0, 0])):  # what setters wrote is kept by whoever publishes
        spec.devices[0].update(kept)
        state.publish(state_path, 0, spec, healthy, marked=kept)
        assert [double_bits(nvml, handle) for _ in range(2)] == seen
