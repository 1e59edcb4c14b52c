"""Event sets: each is told of what it is registered for, once, in its own order, whoever else waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mocklib import state
from mocklib.state import Event
from tests.contract import boards
from tests.contract.test_failing import ECC, LOST, failing, node, temperature

Serve = Callable[..., Any]
TIMEOUT, INVALID = 10, 2
XID = 0x8
ANY = 0xFFFFFFFF


@pytest.fixture
def state_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "run.state"
    monkeypatch.setenv("MOCK_NVML_STATE", str(path))
    return path


def made(nvml: Any, *handles: int, types: int = XID) -> int:
    """An event set that is registered for the GPUs."""
    found = int(nvml.call("nvmlEventSetCreate").out["set"])
    for handle in handles:
        assert nvml.call("nvmlDeviceRegisterEvents", handle, {"eventTypes": types, "set": found}).code == 0
    return found


def waited(nvml: Any, events: int, timeout: int = 0) -> Any:
    """(device, type, data, GPU instance, compute instance) of the next event, else the code."""
    answer = nvml.call("nvmlEventSetWait_v2", None, {"set": events, "timeoutms": timeout})
    names = ("device", "eventType", "eventData", "gpuInstanceId", "computeInstanceId")
    return answer.code or tuple(answer.out[f"data.{name}"] for name in names)


def told(path: Path, *numbers: int, device: int = 0) -> None:
    """Xids put into the state by its writer."""
    for number in numbers:
        state.add_event(path, Event(0, 0, device, XID, number))


@pytest.mark.spec("V11", "V13", "V14", "V16")
def test_the_xid_of_a_trip_comes_once_with_its_device_outside_mig(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(node(failing(LOST, xid=79), failing(LOST, after=2, xid=94)))
    other = nvml.device(1)
    events = made(nvml, handle, other)
    assert nvml.call("nvmlDeviceGetSupportedEventTypes", other).out == {"eventTypes": XID}
    assert waited(nvml, events) == TIMEOUT
    assert temperature(nvml, handle)
    assert waited(nvml, events) == (handle, XID, 79, ANY, ANY)
    assert waited(nvml, events) == TIMEOUT
    assert [temperature(nvml, other) for _ in range(3)] == [0, 15, 15]
    assert waited(nvml, events) == (other, XID, 94, ANY, ANY)
    assert waited(nvml, events) == TIMEOUT


@pytest.mark.spec("V15")
def test_waiting_trips_nothing(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(node(failing(LOST, xid=79)))
    events = made(nvml, handle)
    assert [waited(nvml, events) for _ in range(3)] == [TIMEOUT] * 3
    assert nvml.call("nvmlDeviceGetName", handle).code == 0


@pytest.mark.spec("V11")
def test_a_trip_without_an_xid_tells_nothing(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(node(failing(ECC)))
    events = made(nvml, handle)
    assert temperature(nvml, handle) == 0
    assert waited(nvml, events) == TIMEOUT


def test_every_set_is_told_for_itself_in_order(serve: Serve, state_path: Path) -> None:
    """Other than the mock whose ledger this is, where the first to wait takes the Xid (W28)."""
    nvml, handle = serve(boards.spec(2))
    one, two, other = made(nvml, handle), made(nvml, handle), made(nvml, nvml.device(1))
    told(state_path, 48, 63)
    assert [waited(nvml, one), waited(nvml, one), waited(nvml, one)] == [(handle, XID, 48, ANY, ANY), (handle, XID, 63, ANY, ANY), TIMEOUT]
    assert [waited(nvml, two)[2], waited(nvml, two)[2], waited(nvml, two)] == [48, 63, TIMEOUT]
    assert waited(nvml, other) == TIMEOUT


def test_what_occurred_before_the_registration_is_not_recorded(serve: Serve, state_path: Path) -> None:
    """nvml.h, nvmlDeviceRegisterEvents."""
    nvml, handle = serve(boards.spec(2))
    first = made(nvml, handle)
    told(state_path, 48)
    late = made(nvml, handle)
    told(state_path, 13, device=1)
    assert nvml.call("nvmlDeviceRegisterEvents", nvml.device(1), {"eventTypes": XID, "set": first}).code == 0
    told(state_path, 14, device=1)
    told(state_path, 94)
    assert [waited(nvml, late)[2], waited(nvml, late)] == [94, TIMEOUT]
    assert [waited(nvml, first)[2] for _ in range(3)] == [48, 14, 94]


def test_a_registration_of_nothing_and_other_types_tell_nothing(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(boards.spec(1))
    events = made(nvml, handle, types=0)
    state.add_event(state_path, Event(0, 0, 0, 0x100, 1))
    told(state_path, 48)
    assert waited(nvml, events) == TIMEOUT
    assert nvml.call("nvmlDeviceRegisterEvents", handle, {"eventTypes": 2, "set": events}).code == 3
    assert nvml.call("nvmlDeviceRegisterEvents", handle, {"eventTypes": 1 << 40, "set": events}).code == INVALID


def test_the_newest_events_are_kept(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(boards.spec(1))
    events = made(nvml, handle)
    told(state_path, *range(1, 300))
    found = []
    while (next_one := waited(nvml, events)) != TIMEOUT:
        found.append(next_one[2])
    assert found == list(range(44, 300))


@pytest.mark.spec("V14")
def test_no_set_and_no_data_are_invalid_at_once(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(boards.spec(1))
    events = nvml.ffi.cast("nvmlEventSet_t", made(nvml, handle))
    for wait in (nvml.library.nvmlEventSetWait, nvml.library.nvmlEventSetWait_v2):
        assert wait(events, nvml.ffi.NULL, 100_000) == INVALID
        assert wait(nvml.ffi.NULL, nvml.ffi.new("nvmlEventData_t *"), 100_000) == INVALID
    assert nvml.library.nvmlEventSetWait_v3(events, nvml.ffi.NULL) == INVALID


@pytest.mark.spec("V14")
def test_a_wait_ends_by_the_event_that_comes_meanwhile(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(node(failing(LOST, xid=79)))
    events = made(nvml, handle)
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(waited(nvml, events, timeout=60_000)))
    waiting.start()
    assert temperature(nvml, handle)
    waiting.join(60)
    assert found == [(handle, XID, 79, ANY, ANY)]


def test_a_wait_ends_with_its_set(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(boards.spec(1))
    events = made(nvml, handle)
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(waited(nvml, events, timeout=60_000)))
    waiting.start()
    assert nvml.call("nvmlEventSetFree", None, {"set": events}).code == 0
    waiting.join(60)
    assert found == [INVALID]


def test_the_first_wait_fills_the_shorter_struct(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(boards.spec(1))
    events = made(nvml, handle)
    told(state_path, 31)
    data = nvml.ffi.new("nvmlEventData_t *")
    nvml.ffi.buffer(data)[:] = b"\xa5" * nvml.ffi.sizeof(data[0])
    assert nvml.library.nvmlEventSetWait(nvml.ffi.cast("nvmlEventSet_t", events), data, 0) == 0
    assert (int(nvml.ffi.cast("uintptr_t", data.device)), data.eventType, data.eventData) == (handle, XID, 31)
    assert (data.gpuInstanceId, data.computeInstanceId) == (0xA5A5A5A5, 0xA5A5A5A5)


def test_the_third_wait_gives_the_same_event_and_no_context(serve: Serve, state_path: Path) -> None:
    """nvml.h, nvmlEventSetWait_v3: what only structured events have is 0 or empty."""
    nvml, handle = serve(boards.spec(1))
    events = nvml.ffi.cast("nvmlEventSet_t", made(nvml, handle))
    count, info = nvml.ffi.new("nvmlEventSetGetContextCount_v1_t *"), nvml.ffi.new("nvmlEventSetGetContextInfo_v1_t *")
    assert nvml.library.nvmlEventSetGetContextCount_v1(events, count) == 6
    told(state_path, 31)
    params = nvml.ffi.new("nvmlEventSetWait_v3_t *")
    nvml.ffi.buffer(params)[:] = b"\xa5" * nvml.ffi.sizeof(params[0])
    params.timeoutMs = 0
    assert nvml.library.nvmlEventSetWait_v3(events, params) == 0
    assert (params.dataType, params.eventType, params.eventData, params.gpuInstanceId, params.computeInstanceId) == (0, XID, 31, ANY, ANY)
    assert (nvml.ffi.string(params.uuid).decode(), params.timestampUsec) == (boards.UUID.format(0), boards.AT_NS // 1000)
    assert (bytes(nvml.ffi.buffer(params.sourceModule)), params.severity, params.groupSize, params.groupCperSize) == (bytes(16), 0, 0, 0)
    assert nvml.library.nvmlEventSetWait_v3(events, params) == TIMEOUT
    assert (nvml.library.nvmlEventSetGetContextCount_v1(events, count), count.count) == (0, 0)
    assert nvml.library.nvmlEventSetGetContextInfo_v1(events, info) == INVALID
    config = nvml.ffi.new("nvmlGpuOperationalEventConfig_v1_t *")
    assert nvml.library.nvmlEventSetRegisterGpuOperationalEvents_v1(events, config) == 3
