"""Failure injection on profiles of the repository, by the keys of ``failure``: what is counted, tripped and told on boards as they are served."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mocklib.image import Clock, ImageSpec
from tests.contract import tuned
from tests.contract.test_cper import LOST_SIZE, MEMORY_SIZE, Reader, taken_apart
from tests.contract.test_events import ANY, XID, made, waited
from tests.contract.test_failing import GUARDED, IDENTITY, double_bits, temperature
from tests.contract.test_system_events import BIND, TIMEOUT, UNBIND, System, gpu_id

Serve = Callable[..., Any]
GPU_IS_LOST = 15
BOARDS = ("h100-sxm5-x8_580.105.08", "gb200-x4_580.173.02", "l40s-x1_595.91.07", "b200-x8_580.105.08")
NEWEST = "geforce-rtx-2080-super-x1_610.57.04"
"""The driver of its profile has every call there is."""
HOPPER = BOARDS[0]


@pytest.fixture
def anew(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[ImageSpec], tuple[Any, int]]:
    """``anew(spec)``: the library on the image, with a state of its own."""
    numbers = itertools.count()

    def start(spec: ImageSpec) -> tuple[Any, int]:
        monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / f"{next(numbers)}.state"))
        nvml, handle = serve(spec)
        return nvml, handle

    return start


def failure(mode: str, **more: Any) -> dict[str, Any]:
    """The block of a failure."""
    return {"failure": {"mode": mode, **more}}


@pytest.mark.spec("V02", "V04", "V09", "V12")
@pytest.mark.parametrize("board", BOARDS)
def test_every_guarded_call_of_a_board_counts_and_trips_it_and_no_other_call_does(anew: Callable[..., tuple[Any, int]], board: str) -> None:
    beside: dict[str, dict[str, int]] = {name: {} for name in (*IDENTITY, "nvmlDeviceGetPersistenceMode", "nvmlDeviceGetGpuFabricInfo")}
    beside["nvmlDeviceGetPlatformInfo"] = {"platformInfo.version": 2}
    second, first = (tuned.shipped(board, failure("lost", **more)) for more in ({"after_calls": 2}, {}))
    for name, given in GUARDED.items():
        nvml, handle = anew(second)
        assert GPU_IS_LOST not in [nvml.call(other, handle, more).code for other, more in beside.items()]
        assert [nvml.call(name, handle, given).code for _ in range(3)] == [0, GPU_IS_LOST, GPU_IS_LOST], name
        assert {nvml.call(other, handle, more).code for other, more in beside.items()} == {GPU_IS_LOST}
    nvml, handle = anew(first)
    assert (nvml.device(0), nvml.call("nvmlDeviceGetName", handle).code, temperature(nvml, handle)) == (handle, 0, GPU_IS_LOST)


@pytest.mark.spec("V01", "V03", "V05", "V06")
def test_rolls_without_a_seed_are_drawn_from_the_time_and_those_with_one_are_not(anew: Callable[..., tuple[Any, int]]) -> None:
    def trips_at(*instants: int, **given: Any) -> list[int]:
        """The call that trips it, for each instant at which it is frozen."""
        spec, found = tuned.shipped(NEWEST, failure("fallen_off_bus", **given)), []
        for at in instants:
            nvml, handle = anew(replace(spec, clock=Clock("frozen", at)))
            found.append(next((call for call in range(1, 500) if temperature(nvml, handle)), 0))
        return found

    instants = range(10**18, 10**18 + 6)
    assert len(set(trips_at(*instants, probability=0.05))) > 1
    assert len(set(trips_at(*instants, probability=0.05, seed=0))) > 1
    (with_seed,) = set(trips_at(*instants, probability=0.05, seed=7))
    assert trips_at(1, probability=0.05, seed=7, after_calls=with_seed - 1) == [with_seed - 1]
    assert trips_at(1, probability=0.05, seed=7, after_calls=with_seed + 1) == [with_seed]
    assert trips_at(1, probability=0) == trips_at(1, probability=1) == [1]  # 0 is as if it were not given: the first call
    nvml, handle = anew(tuned.shipped(HOPPER, failure("healthy", after_calls=1, xid={"code": 79})))
    assert [temperature(nvml, handle) for _ in range(3)] == [0, 0, 0]


@pytest.mark.spec("V10")
def test_uncorrectable_errors_of_a_board_rise_with_every_guarded_call_and_its_siblings_do_not(anew: Callable[..., tuple[Any, int]]) -> None:
    healthy = tuned.shipped(HOPPER)
    nvml, handle = anew(healthy)
    rows = nvml.call("nvmlDeviceGetRemappedRows", handle).out
    before = double_bits(nvml, handle)
    nvml, handle = anew(tuned.shipped(HOPPER, failure("ecc_uncorrectable")))
    dram = {"errorType": 1, "counterType": 0, "locationType": 2}
    asked = [lambda: double_bits(nvml, handle), lambda: nvml.call("nvmlDeviceGetMemoryErrorCounter", handle, dram).out["count"]]
    found = [ask() for _ in range(3) for ask in asked]
    assert [count - before for count in found] == [1, 2, 3, 4, 5, 6]
    assert nvml.call("nvmlDeviceGetRemappedRows", handle).out == {**rows, "uncRows": rows["uncRows"] + 1, "failureOccurred": 1}
    assert nvml.call("nvmlDeviceGetRemappedRows", nvml.device(1)).out == rows


@pytest.mark.spec("V11", "V13", "V14", "V16")
def test_each_board_that_trips_tells_its_xid_once(anew: Callable[..., tuple[Any, int]]) -> None:
    nvml, handle = anew(tuned.shipped(HOPPER, failure("fallen_off_bus", xid={"code": 79}), failure("ecc_uncorrectable", xid={"code": 48})))
    other = nvml.device(1)
    events = made(nvml, handle, other)
    assert nvml.call("nvmlDeviceGetSupportedEventTypes", handle).out == {"eventTypes": XID}
    assert (waited(nvml, events), waited(nvml, events, timeout=1)) == (TIMEOUT, TIMEOUT)
    assert [temperature(nvml, handle), temperature(nvml, handle), temperature(nvml, other), temperature(nvml, other)] == [15, 15, 0, 0]
    assert [waited(nvml, events) for _ in range(3)] == [(handle, XID, 79, ANY, ANY), (other, XID, 48, ANY, ANY), TIMEOUT]
    assert [nvml.call("nvmlEventSetFree", None, {"set": events}).code for _ in range(2)] == [0, 2]


@pytest.mark.spec("V19", "V20", "V21", "V22", "V23")
def test_boards_that_fail_have_their_records_and_system_events(anew: Callable[..., tuple[Any, int]]) -> None:
    later = failure("lost", after_calls=2, xid={"code": 79})
    nvml, handle = anew(tuned.shipped(NEWEST, later, failure("lost"), failure("ecc_uncorrectable", xid={"code": 48})))
    reader, system, events = Reader(nvml), System(nvml), made(nvml, handle)
    watched = system.create()
    assert system.register(watched, UNBIND) == system.register(watched, BIND) == 0
    assert [record.length for record in taken_apart(reader.ask()[2])] == [LOST_SIZE]  # the one whose profile has it lost at once
    assert system.wait(watched) == TIMEOUT  # the first look tells nothing, and finds it lost
    gpu = gpu_id(nvml, 0)
    assert [temperature(nvml, handle), temperature(nvml, nvml.device(2)), temperature(nvml, handle)] == [0, 0, 15]
    assert [record.length for record in taken_apart(reader.ask()[2])] == [MEMORY_SIZE, LOST_SIZE]
    assert system.wait(watched) == [(UNBIND, gpu)]
    assert waited(nvml, events)[2] == 79
