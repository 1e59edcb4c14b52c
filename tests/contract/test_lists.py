"""Lists, texts, lookups, field values, the private table and event sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mocklib.image import Accounted, Clock, FieldValue, Pages, Process, Track
from tests.contract import boards

Serve = Callable[..., Any]


def probe(nvml: Any, function: str, handle: int, capacity: int) -> tuple[int, int]:
    """(code, count) of a list call with a NULL array and ``capacity``."""
    count = nvml.ffi.new("unsigned int *", capacity)
    return int(getattr(nvml.library, function)(nvml.ffi.cast("nvmlDevice_t", handle), count, nvml.ffi.NULL)), int(count[0])


def test_a_probe_says_how_long_the_list_is(serve: Serve) -> None:
    nvml, handle = serve()
    assert probe(nvml, "nvmlDeviceGetSupportedMemoryClocks", handle, 0) == (7, 3)
    assert probe(nvml, "nvmlDeviceGetComputeRunningProcesses_v3", handle, 0) == (7, 2)


def test_null_with_a_count_is_invalid_where_the_header_says_so_and_stays_as_it_was(serve: Serve) -> None:
    nvml, handle = serve()
    for function in ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses"):  # the older one has no words of its own
        assert probe(nvml, function, handle, 1) == (2, 1)
        assert probe(nvml, function, handle, 99) == (2, 99)


@pytest.mark.parametrize(("function", "number"), [("nvmlDeviceGetSupportedMemoryClocks", 3), ("nvmlDeviceGetAccountingPids", 2)])
def test_null_with_a_count_is_too_small_a_list_where_the_header_calls_a_null_count_alone_invalid(serve: Serve, function: str, number: int) -> None:
    nvml, handle = serve(boards.spec(devices=[boards.device(mig__mode_current=FieldValue(0))]))
    assert probe(nvml, function, handle, 1) == (7, number)
    assert probe(nvml, function, handle, 99) == (7, number)


def test_too_short_a_list_is_not_written(serve: Serve) -> None:
    nvml, handle = serve()
    count, clocks = nvml.ffi.new("unsigned int *", 2), nvml.ffi.new("unsigned int[]", [7, 7])
    assert nvml.library.nvmlDeviceGetSupportedMemoryClocks(nvml.ffi.cast("nvmlDevice_t", handle), count, clocks) == 7
    assert (count[0], list(clocks)) == (3, [7, 7])


@pytest.mark.spec("R23")
def test_an_empty_list_is_success_and_zero(serve: Serve) -> None:
    empty = boards.device(processes__compute=FieldValue(()), clocks__supported=FieldValue(()), retired_pages__single_bit=FieldValue(Pages(0)))
    nvml, handle = serve(boards.spec(devices=[empty]))
    assert probe(nvml, "nvmlDeviceGetComputeRunningProcesses_v3", handle, 0) == (0, 0)
    assert probe(nvml, "nvmlDeviceGetSupportedMemoryClocks", handle, 0) == (0, 0)
    assert nvml.call("nvmlDeviceGetRetiredPages", handle, {"cause": 0}).out == {"pageCount": 0, "addresses": []}


def test_clocks_keep_the_order_of_the_image_and_unknown_memory_clocks_are_not_found(serve: Serve) -> None:
    table = ((5001, (1590, 300, 900)), (405, (645,)))
    nvml, handle = serve(boards.spec(devices=[boards.device(clocks__supported=FieldValue(table))]))
    assert nvml.call("nvmlDeviceGetSupportedMemoryClocks", handle).out["clocksMHz"] == [5001, 405]
    assert nvml.call("nvmlDeviceGetSupportedGraphicsClocks", handle, {"memoryClockMHz": 5001}).out["clocksMHz"] == [1590, 300, 900]
    assert nvml.call("nvmlDeviceGetSupportedGraphicsClocks", handle, {"memoryClockMHz": 1}).code == 6


PROCESSES = (Process(7, 1 << 20, name="/usr/bin/a b"), Process(9, 0xFFFFFFFFFFFFFFFF, 1, 2, 3, "b\udcff<&>"))


@pytest.mark.parametrize("kind", ["Compute", "Graphics", "MPSCompute"])
def test_processes_come_in_three_generations_of_struct(serve: Serve, kind: str) -> None:
    field = {"Compute": "compute", "Graphics": "graphics", "MPSCompute": "mps"}[kind]
    nvml, handle = serve(boards.spec(devices=[boards.device() | {f"processes.{field}": FieldValue(PROCESSES)}]))
    one = [{"pid": 7, "usedGpuMemory": 1 << 20}, {"pid": 9, "usedGpuMemory": 0xFFFFFFFFFFFFFFFF}]
    two = [one[0] | {"gpuInstanceId": 0xFFFFFFFF, "computeInstanceId": 0xFFFFFFFF}, one[1] | {"gpuInstanceId": 1, "computeInstanceId": 2}]
    assert nvml.call(f"nvmlDeviceGet{kind}RunningProcesses", handle).out["infos"] == one
    assert nvml.call(f"nvmlDeviceGet{kind}RunningProcesses_v2", handle).out["infos"] == two
    assert nvml.call(f"nvmlDeviceGet{kind}RunningProcesses_v3", handle).out["infos"] == two
    assert nvml.call("nvmlSystemGetProcessName", None, {"pid": 9}).out == {"name": "b\udcff<&>"}
    assert nvml.call("nvmlSystemGetProcessName", None, {"pid": 8}).code == 6


@pytest.mark.spec("R18")
def test_process_details_of_one_mode_and_of_all(serve: Serve) -> None:
    given = {"compute": PROCESSES, "graphics": PROCESSES[:1], "mps": ()}
    nvml, handle = serve(boards.spec(devices=[boards.device() | {f"processes.{name}": FieldValue(value) for name, value in given.items()}]))
    for mode, expected in {0: [7, 9], 1: [7], 2: [], 3: [7, 9, 7]}.items():
        entries = nvml.ffi.new("nvmlProcessDetail_v1_t[]", 8)
        details = nvml.ffi.new("nvmlProcessDetailList_v1_t *", {"mode": mode, "numProcArrayEntries": 8, "procArray": entries})
        details.version = nvml.ffi.sizeof("nvmlProcessDetailList_v1_t") | 1 << 24
        assert nvml.library.nvmlDeviceGetRunningProcessDetailList(nvml.ffi.cast("nvmlDevice_t", handle), details) == 0
        assert [entries[number].pid for number in range(details.numProcArrayEntries)] == expected


def test_the_times_of_retirement_come_with_the_pages_and_are_zero_where_they_are_not_known(serve: Serve) -> None:
    single, double = FieldValue(Pages(2, (5, 6), (7,))), FieldValue(Pages(1, (8,), (1 << 40,)))
    nvml, handle = serve(boards.spec(devices=[boards.device(retired_pages__single_bit=single, retired_pages__double_bit=double)]))
    assert nvml.call("nvmlDeviceGetRetiredPages_v2", handle, {"cause": 0}).out == {"pageCount": 2, "addresses": [5, 6], "timestamps": [7, 0]}
    assert nvml.call("nvmlDeviceGetRetiredPages_v2", handle, {"cause": 1}).out == {"pageCount": 1, "addresses": [8], "timestamps": [1 << 40]}
    assert nvml.call("nvmlDeviceGetRetiredPages", handle, {"cause": 1}).out == {"pageCount": 1, "addresses": [8]}


@pytest.mark.parametrize(("room", "given", "code"), [(0, "", 7), (1, "pt", 7), (2, "p", 7), (2, "t", 2), (2, "pt", 0), (9, "pt", 0)])
def test_pages_with_times_need_room_for_both(serve: Serve, room: int, given: str, code: int) -> None:
    nvml, handle = serve(boards.spec(devices=[boards.device(retired_pages__single_bit=FieldValue(Pages(2, (5, 6), (7, 8))))]))
    count = nvml.ffi.new("unsigned int *", room)
    pages, times = (nvml.ffi.new("unsigned long long[]", [1] * 9) if kind in given else nvml.ffi.NULL for kind in "pt")
    device = nvml.ffi.cast("nvmlDevice_t", handle)
    assert (nvml.library.nvmlDeviceGetRetiredPages_v2(device, 0, count, pages, times), count[0]) == (code, 2)
    written = (list(pages)[:2], list(times)[:2]) if given == "pt" else None
    assert written in (None, ([5, 6], [7, 8]) if code == 0 else ([1, 1], [1, 1]))


def test_pages_known_by_count_alone_give_the_count_and_no_address(serve: Serve) -> None:
    nvml, handle = serve(boards.spec(devices=[boards.device(retired_pages__single_bit=FieldValue(Pages(3)))]))
    answer = nvml.call("nvmlDeviceGetRetiredPages", handle, {"cause": 0})
    assert (answer.code, answer.out) == (3, {"pageCount": 3})
    counted = nvml.call("nvmlDeviceGetRetiredPages", handle, {"cause": 0, "addresses": 0})
    assert (counted.code, counted.out) == (0, {"pageCount": 3, "addresses": []})
    assert nvml.call("nvmlDeviceGetRetiredPages", handle, {"cause": 1}).code == 0


ACCOUNTED = (Accounted(7, 77, 22, 3 << 30, 18228), Accounted(9, 5, 4, (1 << 64) - 1, 0, running=True), Accounted(7, 1, 1, 1, 1))


def accounting(mode: FieldValue, records: FieldValue) -> Any:
    return boards.spec(devices=[boards.device(accounting__mode=mode, accounting__processes=records, mig__mode_current=FieldValue(0))])


def test_the_accounting_buffer_names_its_processes_and_their_figures(serve: Serve) -> None:
    nvml, handle = serve(accounting(FieldValue(1), FieldValue(ACCOUNTED[:2])))
    assert nvml.call("nvmlDeviceGetAccountingPids", handle).out == {"count": 2, "pids": [7, 9]}
    stats = nvml.call("nvmlDeviceGetAccountingStats", handle, {"pid": 7}).out
    figures = {name.removeprefix("stats."): value for name, value in stats.items()}
    start = boards.AT_NS // 1000
    assert figures.pop("reserved") == [0] * 5
    assert figures == {"gpuUtilization": 77, "memoryUtilization": 22, "maxMemoryUsage": 3 << 30, "time": 18228, "startTime": start, "isRunning": 0}
    running = nvml.call("nvmlDeviceGetAccountingStats", handle, {"pid": 9}).out
    assert (running["stats.isRunning"], running["stats.time"], running["stats.maxMemoryUsage"]) == (1, 0, (1 << 64) - 1)


@pytest.mark.spec("R06")
def test_a_board_in_mig_mode_has_no_records_and_one_that_accounts_for_none_an_empty_list(serve: Serve) -> None:
    for mode, mig, listed, asked in ((1, 1, 3, 3), (0, 1, 0, 3), (1, 0, 7, 0)):
        board = boards.device(accounting__mode=FieldValue(mode), accounting__processes=FieldValue(ACCOUNTED[:2]), mig__mode_current=FieldValue(mig))
        nvml, handle = serve(boards.spec(devices=[board]))
        count = nvml.ffi.new("unsigned int *")
        assert nvml.library.nvmlDeviceGetAccountingPids(nvml.ffi.cast("nvmlDevice_t", handle), count, nvml.ffi.NULL) == listed
        assert nvml.call("nvmlDeviceGetAccountingStats", handle, {"pid": 7}).code == asked


@pytest.mark.spec("L26")
def test_retired_pages_are_counted_by_field_ids_whether_or_not_their_addresses_are_known(serve: Serve) -> None:
    def answers(single: FieldValue, double: FieldValue) -> list[Any]:
        nvml, handle = serve(boards.spec(devices=[boards.device(retired_pages__single_bit=single, retired_pages__double_bit=double)]))
        found = nvml.field_values(handle, [(29, 0), (30, 0)])
        return [(answer.value, answer.value_type) if answer.code == 0 else answer.code for answer in found]

    assert answers(FieldValue(Pages(3, (1, 2, 3))), FieldValue(Pages(5, ()))) == [(3, 1), (5, 1)]
    assert answers(FieldValue(status=4), FieldValue(status=3)) == [4, 3]


@pytest.mark.spec("R05", "R06")
def test_of_two_records_of_a_process_the_later_stands_and_one_without_a_record_is_not_found(serve: Serve) -> None:
    nvml, handle = serve(accounting(FieldValue(1), FieldValue(ACCOUNTED)))
    assert nvml.call("nvmlDeviceGetAccountingStats", handle, {"pid": 7}).out["stats.time"] == 1
    assert nvml.call("nvmlDeviceGetAccountingStats", handle, {"pid": 8}).code == 6


@pytest.mark.spec("R06")
@pytest.mark.parametrize(("mode", "records", "code"), [(0, 0, 3), (1, 4, 4), (1, 15, 15)])
def test_without_accounting_and_where_the_buffer_has_a_code_there_are_no_figures(serve: Serve, mode: int, records: int, code: int) -> None:
    nvml, handle = serve(accounting(FieldValue(mode), FieldValue(status=records) if records else FieldValue(ACCOUNTED)))
    assert nvml.call("nvmlDeviceGetAccountingStats", handle, {"pid": 7}).code == code
    no_mode, other = serve(accounting(FieldValue(status=4), FieldValue(ACCOUNTED)))
    assert no_mode.call("nvmlDeviceGetAccountingStats", other, {"pid": 7}).code == 4


def test_a_list_of_accounted_processes_without_room_is_left_alone(serve: Serve) -> None:
    nvml, handle = serve(accounting(FieldValue(1), FieldValue(ACCOUNTED[:2])))
    count, pids = nvml.ffi.new("unsigned int *", 1), nvml.ffi.new("unsigned int[]", [5, 5])
    assert nvml.library.nvmlDeviceGetAccountingPids(nvml.ffi.cast("nvmlDevice_t", handle), count, pids) == 7
    assert (count[0], list(pids)) == (2, [5, 5])


def test_a_count_without_end_is_not_made_room_for(serve: Serve) -> None:
    nvml, handle = serve(boards.spec(devices=[boards.device(retired_pages__single_bit=FieldValue(Pages(0xFFFFFFFF)))]))
    answer = nvml.call("nvmlDeviceGetRetiredPages", handle, {"cause": 0})
    assert (answer.code, answer.out) == (7, {"pageCount": 0xFFFFFFFF})


def test_a_text_that_does_not_fit_leaves_the_buffer_alone(serve: Serve) -> None:
    nvml, handle = serve(boards.spec(devices=[boards.device(name=FieldValue("Tesla T4"))]))
    buffer = nvml.ffi.new("char[]", b"--------------")
    device = nvml.ffi.cast("nvmlDevice_t", handle)
    assert nvml.library.nvmlDeviceGetName(device, buffer, 8) == 7
    assert nvml.ffi.string(buffer) == b"--------------"
    assert nvml.library.nvmlDeviceGetName(device, buffer, 9) == 0
    assert nvml.ffi.string(buffer) == b"Tesla T4"


@pytest.mark.spec("D04")
@pytest.mark.parametrize("asked", ["0000:02:00.0", "00000000:02:00.0", "2:0.0", "02:00"])
def test_a_bus_id_is_found_in_any_width(serve: Serve, asked: str) -> None:
    nvml, _ = serve(boards.spec(3))
    assert nvml.call("nvmlDeviceGetHandleByPciBusId_v2", None, {"pciBusId": asked}).out["device"] == nvml.device(1)


NO_BUS_IDS = [
    "", ":", "0", "0000:", "-1:02:00", "+0000:02:00.0", " 0000:02:00.0", "0x0:02:00.0", "0000:02:00.0 ", "0000:02:00.00", "0000:02:00.",
    "0000:02:00junk", "000000000:02:00.0", "0000:002:00.0", "0000:02:00.0\n", "9999:02", "0000:02:00:0",
]  # fmt: skip


@pytest.mark.parametrize("asked", NO_BUS_IDS)
def test_what_is_no_bus_id_is_invalid(serve: Serve, asked: str) -> None:
    nvml, _ = serve(boards.spec(3))
    assert nvml.call("nvmlDeviceGetHandleByPciBusId_v2", None, {"pciBusId": asked}).code == 2


@pytest.mark.spec("B15", "D04")
def test_lookups_of_what_is_not_there_are_not_found(serve: Serve) -> None:
    nvml, _ = serve(boards.spec(3))
    assert nvml.call("nvmlDeviceGetHandleByPciBusId_v2", None, {"pciBusId": "0000:09:00.0"}).code == 6
    assert nvml.call("nvmlDeviceGetHandleByPciBusId_v2", None, {"pciBusId": "nonsense"}).code == 2
    assert nvml.call("nvmlDeviceGetHandleByUUID", None, {"uuid": "GPU-0"}).code == 6
    assert nvml.call("nvmlDeviceGetHandleByUUID", None, {"uuid": boards.UUID.format(2).upper()}).out["device"] == nvml.device(2)
    assert nvml.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": 3}).code == 2


@pytest.mark.spec("U21")
def test_field_values_carry_their_own_code_type_and_the_frozen_instant(serve: Serve) -> None:
    board = boards.device(thermal__tlimit__shutdown_c=FieldValue(-8), power__average_draw_mw=FieldValue(status=4))
    nvml, handle = serve(boards.spec(devices=[board]))
    asked = [(82, 0), (185, 0), (185, 1), (83, 5), (193, 0), (84, 0), (310, 0)]
    memory, power, module, energy, limit, unknown, past = nvml.field_values(handle, asked)
    values = boards.device()
    assert (memory.code, memory.value, memory.value_type) == (0, values["thermal.temperature_memory_c"].value, 1)
    assert (power.code, power.value) == (4, None)
    assert (module.code, module.value) == (0, values["power.module.average_draw_mw"].value)
    assert (energy.value_type, energy.value) == (3, values["power.total_energy_consumption_mj"].value)
    assert (limit.value_type, limit.value) == (5, -8)
    assert (unknown.code, past.code) == (3, 2)
    assert {entry.timestamp_us for entry in (memory, power, past)} == {boards.AT_NS // 1000}


def test_a_value_fills_the_whole_union(serve: Serve) -> None:
    nvml, handle = serve()
    values = nvml.ffi.new("nvmlFieldValue_t[]", 2)
    nvml.ffi.memmove(values, b"\xa5" * nvml.ffi.sizeof(values), nvml.ffi.sizeof(values))
    for entry, number in zip(values, (82, 193), strict=True):
        entry.fieldId, entry.scopeId = number, 0
    assert nvml.library.nvmlDeviceGetFieldValues(nvml.ffi.cast("nvmlDevice_t", handle), 2, values) == 0
    board = boards.device()
    assert values[0].value.ullVal == board["thermal.temperature_memory_c"].value
    assert values[1].value.ullVal == board["thermal.tlimit.shutdown_c"].value & 0xFFFFFFFF


def test_a_scope_that_is_not_listed_is_not_supported(serve: Serve) -> None:
    nvml, handle = serve()
    assert [entry.code for entry in nvml.field_values(handle, [(185, 2), (185, 1)])] == [3, 0]


@pytest.mark.spec("U21")
def test_a_count_of_field_values_that_is_none_is_invalid(serve: Serve) -> None:
    nvml, handle = serve()
    values = nvml.ffi.new("nvmlFieldValue_t[]", 1)
    assert [nvml.library.nvmlDeviceGetFieldValues(nvml.ffi.cast("nvmlDevice_t", handle), count, values) for count in (0, -1)] == [2, 2]


def test_moving_fields_follow_the_clock(serve: Serve) -> None:
    moving = boards.device(power__total_energy_consumption_mj=FieldValue(1000, kind=1, rate=500), utilization__gpu=FieldValue(kind=2, rate=0))
    track = Track((10, 20, 30), 1_000_000_000, boards.AT_NS, loop=True)
    for seconds, energy, busy in ((0, 1000, 10), (1, 1500, 20), (4, 3000, 20)):
        now = Clock("frozen", boards.AT_NS + seconds * 10**9)
        nvml, handle = serve(boards.spec(devices=[moving], tracks=(track,), clock=now, ramp_start_ns=boards.AT_NS))
        assert nvml.call("nvmlDeviceGetTotalEnergyConsumption", handle).out["energy"] == energy
        assert nvml.call("nvmlDeviceGetUtilizationRates", handle).out["utilization.gpu"] == busy


def test_slots_write_what_their_row_says_and_nothing_without_a_row(serve: Serve) -> None:
    nvml, handle = serve()
    values = boards.device()
    assert nvml.slot(handle, 230, "u32").out["value"] == values["pcie.host_max_link_gen"].value
    assert nvml.slot(handle, 240, "i32").out["value"] == values["thermal.tlimit.margin_c"].value
    assert nvml.slot(handle, 231, "string").out["value"] == values["gpu_part_number"].value
    assert nvml.slot(handle, 165, "field_values", 1).out["value"] == values["relaxed_ordering_mode"].value
    assert nvml.slot(handle, 165, "field_values", 2).code == 3
    assert nvml.slot(None, 26, "ok").code == 0
    assert nvml.slot(None, 81, "handle", 0).out["value"] == handle
    assert nvml.slot(None, 81, "handle", 7).code == 2
    assert [process["name"] for process in nvml.slot(handle, 213, "processes").out["value"]] == [p.name for p in values["processes.compute"].value]
    rows = {26, 81, 165, 230, 231, 240, 213}
    assert {nvml.slot(handle, number, "u32").code for number in range(1, 512) if number not in rows} == {3}


def test_every_slot_leaves_its_second_and_third_argument_alone_where_the_table_has_no_row(serve: Serve) -> None:
    nvml, handle = serve(boards.spec(slots=[]))
    table = nvml.ffi.new("void **")
    assert nvml.library.nvmlInternalGetExportTable(table, nvml.ffi.from_buffer(bytes.fromhex("c4fe3e6cc98f6c4ea327ee696e12f7c4"))) == 0
    words = nvml.ffi.cast("uintptr_t *", table[0])
    assert words[0] == 0x1000
    canary = nvml.ffi.new("unsigned char[]", b"\xa5" * 8192)
    for number in range(1, 512):
        entry = nvml.ffi.cast("int (*)(void *, void *, void *)", words[number])
        assert entry(nvml.ffi.cast("void *", handle), canary, canary) == 3
    assert bytes(nvml.ffi.buffer(canary))[:8192] == b"\xa5" * 8192


def test_another_id_of_the_private_table_is_not_supported(serve: Serve) -> None:
    nvml, _ = serve()
    table = nvml.ffi.new("void **")
    assert nvml.library.nvmlInternalGetExportTable(table, nvml.ffi.from_buffer(bytes(16))) == 3


def test_a_process_list_of_the_private_table_is_cut_at_the_callers_capacity(serve: Serve) -> None:
    nvml, handle = serve(boards.spec(devices=[boards.device(processes__compute=FieldValue(PROCESSES))]))
    count, room = nvml.ffi.new("unsigned int *", 1), nvml.ffi.new("char[]", 4128 + 16)
    table = nvml.ffi.new("void **")
    nvml.library.nvmlInternalGetExportTable(table, nvml.ffi.from_buffer(bytes.fromhex("c4fe3e6cc98f6c4ea327ee696e12f7c4")))
    entry = nvml.ffi.cast("int (*)(void *, void *, void *)", nvml.ffi.cast("uintptr_t *", table[0])[213])
    assert entry(nvml.ffi.cast("void *", handle), count, room) == 0
    assert (count[0], bytes(nvml.ffi.buffer(room, 4))) == (1, (7).to_bytes(4, "little"))
    assert bytes(nvml.ffi.buffer(room + 4128, 16)) == bytes(16)


def test_event_sets_are_made_waited_for_and_freed_once(serve: Serve) -> None:
    nvml, handle = serve()
    event_set = nvml.call("nvmlEventSetCreate").out["set"]
    assert nvml.call("nvmlDeviceGetSupportedEventTypes", handle).out == {"eventTypes": 8}
    assert nvml.call("nvmlDeviceRegisterEvents", handle, {"eventTypes": 8, "set": event_set}).code == 0
    assert nvml.call("nvmlEventSetWait_v2", None, {"set": event_set, "timeoutms": 0}).code == 10
    assert nvml.call("nvmlEventSetFree", None, {"set": event_set}).code == 0
    assert nvml.call("nvmlEventSetFree", None, {"set": event_set}).code == 2
    assert nvml.call("nvmlEventSetWait_v2", None, {"set": event_set, "timeoutms": 0}).code == 2


def test_event_sets_are_finite(serve: Serve) -> None:
    nvml, _ = serve()
    codes = [nvml.call("nvmlEventSetCreate").code for _ in range(257)]
    assert codes == [0] * 256 + [23]
