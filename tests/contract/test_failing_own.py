"""A failure that trips where the state cannot be written: the process's own, while everything else goes on as others write it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mocklib import state
from mocklib.image import FieldValue
from tests.contract.test_failing import ECC, GPU_IS_LOST, LOST, TIMEOUT, double_bits, failing, node, other_process, state_path, temperature

__all__ = ["state_path"]
Serve = Callable[..., Any]
XID = 8


@pytest.fixture
def unwritable(state_path: Path) -> Callable[[], Path]:
    """Make the state one that the process may only read: nobody can open its lock, which ``unwritable()`` is, to be taken away for a writer."""
    lock = state_path.with_name(f"{state_path.name}.lock")

    def close() -> Path:
        lock.unlink()
        lock.mkdir()
        return lock

    return close


def fan(nvml: Any, handle: int) -> tuple[int, int]:
    answer = nvml.call("nvmlDeviceGetFanSpeed", handle)
    return answer.code, answer.out.get("speed", 0)


def event_set(nvml: Any, *handles: int) -> int:
    events = int(nvml.call("nvmlEventSetCreate").out["set"])
    for handle in handles:
        assert nvml.call("nvmlDeviceRegisterEvents", handle, {"eventTypes": XID, "set": events}).code == 0
    return events


def told(nvml: Any, events: int) -> list[int]:
    """The Xids that a set tells until it has none."""
    found = []
    while (answer := nvml.call("nvmlEventSetWait_v2", None, {"set": events, "timeoutms": 0})).code == 0:
        found.append(answer.out["data.eventData"])
    assert answer.code == TIMEOUT
    return found


@pytest.mark.spec("A18")
def test_what_others_write_is_seen_at_once_and_the_trip_stays(serve: Serve, state_path: Path, unwritable: Callable[[], Path]) -> None:
    spec = node(failing(LOST, xid=79), failing(0), fan__speed_percent=FieldValue(30))
    nvml, handle = serve(spec)
    other = nvml.device(1)
    events = event_set(nvml, handle, other)
    lock = unwritable()
    assert (temperature(nvml, handle), fan(nvml, other)) == (GPU_IS_LOST, (0, 30))
    assert "present" in state.read(state_path).devices[0].modes
    lock.rmdir()
    for speed in (40, 50, 60):
        state.override(state_path, 1, {"fan.speed_percent": FieldValue(speed)})
        state.override(state_path, 0, {"fan.speed_percent": FieldValue(speed)})
        state.add_event(state_path, state.Event(0, 0, 1, XID, speed))
        assert (fan(nvml, other), fan(nvml, handle)) == ((0, speed), (GPU_IS_LOST, 0))
        assert told(nvml, events) == ([79, 40] if speed == 40 else [speed])


@pytest.mark.spec("A18", "V18")
def test_recovery_by_another_process_ends_the_processs_own_trip_and_another_injector_trips_anew(
    serve: Serve, state_path: Path, unwritable: Callable[[], Path]
) -> None:
    errors = {"ecc__errors__volatile__double_bit__total": FieldValue(3), "remapped_rows__uncorrectable": FieldValue(0)}
    nvml, handle = serve(node(failing(ECC, after=2, xid=48), **errors))
    unwritable()
    assert [double_bits(nvml, handle) for _ in range(3)] == [3, 5, 6]
    state_path.with_name(f"{state_path.name}.lock").rmdir()
    healthy = node(failing(0), **errors)
    state.publish(state_path, 0, healthy, healthy)
    assert [double_bits(nvml, handle) for _ in range(2)] == [3, 3]
    state.publish(state_path, 0, node(failing(LOST)), healthy)
    assert temperature(nvml, handle) == GPU_IS_LOST
    assert "present" not in state.read(state_path).devices[0].modes


@pytest.mark.spec("A18", "V16")
def test_a_trip_that_another_process_makes_too_is_told_once(
    serve: Serve, state_path: Path, unwritable: Callable[[], Path], library_path: Path
) -> None:
    nvml, handle = serve(node(failing(LOST, after=2, xid=79), failing(0)))
    events = event_set(nvml, handle)
    lock = unwritable()
    assert [temperature(nvml, handle) for _ in range(2)] == [0, GPU_IS_LOST]
    lock.rmdir()
    assert other_process(library_path, 2) == GPU_IS_LOST
    assert [event.data for event in state.events(state_path) if event.type == XID] == [79]
    assert (temperature(nvml, handle), told(nvml, events)) == (GPU_IS_LOST, [79])


@pytest.mark.spec("A18")
def test_the_own_trip_outlives_the_init_and_goes_with_another_state(
    serve: Serve, state_path: Path, unwritable: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nvml, handle = serve(node(failing(LOST), failing(0), fan__speed_percent=FieldValue(30)))
    lock = unwritable()
    assert temperature(nvml, handle) == GPU_IS_LOST
    for speed in (40, 50):
        lock.rmdir()
        state.override(state_path, 1, {"fan.speed_percent": FieldValue(speed)})
        unwritable()
        assert (nvml.shutdown(), nvml.init()) == (0, 0)
        assert nvml.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": 0}).code == GPU_IS_LOST
        assert fan(nvml, nvml.device(1)) == (0, speed)
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "another.state"))
    assert (nvml.shutdown(), nvml.init()) == (0, 0)
    assert fan(nvml, nvml.device(0)) == (0, 30)
