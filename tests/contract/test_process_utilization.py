"""What each process uses of the engines: both generations of the call, the count probe, samples already seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mocklib.image import FieldValue
from tests.contract import boards

Serve = Callable[..., Any]
NOW_US = boards.AT_NS // 1000
USES = (7, 75, 40, 0, 1, 9, 0, 0, 60, 30)
SAMPLES = [
    {"pid": 7, "timeStamp": NOW_US, "smUtil": 75, "memUtil": 40, "encUtil": 0, "decUtil": 1},
    {"pid": 9, "timeStamp": NOW_US, "smUtil": 0, "memUtil": 0, "encUtil": 60, "decUtil": 30},
]


def board(value: FieldValue) -> Any:
    return boards.spec(devices=[boards.device(0, processes__utilization=value)])


def infos(nvml: Any, handle: int, capacity: int, seen: int = 0, listed: bool = True) -> tuple[int, int, list[dict[str, int]]]:
    """(code, count, samples) of nvmlDeviceGetProcessesUtilizationInfo."""
    entries = nvml.ffi.new("nvmlProcessUtilizationInfo_v1_t[]", max(capacity, 1))
    info = nvml.ffi.new("nvmlProcessesUtilizationInfo_v1_t *", {"processSamplesCount": capacity, "lastSeenTimeStamp": seen})
    info.procUtilArray = entries if listed else nvml.ffi.NULL
    info.version = nvml.ffi.sizeof("nvmlProcessesUtilizationInfo_v1_t") | 1 << 24
    code = nvml.library.nvmlDeviceGetProcessesUtilizationInfo(nvml.ffi.cast("nvmlDevice_t", handle), info)
    found = [{name: int(getattr(entries[at], name)) for name in (*SAMPLES[0], "jpgUtil", "ofaUtil")} for at in range(capacity if code == 0 else 0)]
    return int(code), int(info.processSamplesCount), found[: info.processSamplesCount]


@pytest.mark.spec("R19")
def test_one_sample_a_process_is_taken_now(serve: Serve) -> None:
    nvml, handle = serve(board(FieldValue(USES)))
    answer = nvml.call("nvmlDeviceGetProcessUtilization", handle, {"lastSeenTimeStamp": 0})
    assert (answer.code, answer.out["utilization"]) == (0, SAMPLES)
    assert infos(nvml, handle, 4) == (0, 2, [sample | {"jpgUtil": 0, "ofaUtil": 0} for sample in SAMPLES])


@pytest.mark.spec("R19")
def test_a_probe_and_too_small_a_list_say_how_many_there_are(serve: Serve) -> None:
    nvml, handle = serve(board(FieldValue(USES)))
    assert infos(nvml, handle, 0, listed=False) == (7, 2, [])
    assert infos(nvml, handle, 1) == (7, 2, [])
    count = nvml.ffi.new("unsigned int *", 0)
    call = nvml.library.nvmlDeviceGetProcessUtilization
    assert (call(nvml.ffi.cast("nvmlDevice_t", handle), nvml.ffi.NULL, count, 0), count[0]) == (7, 2)


@pytest.mark.parametrize(("seen", "code"), [(NOW_US - 1, 0), (NOW_US, 6), (NOW_US + 1, 6)])
def test_only_samples_newer_than_the_last_seen_are_given(serve: Serve, seen: int, code: int) -> None:
    nvml, handle = serve(board(FieldValue(USES)))
    assert nvml.call("nvmlDeviceGetProcessUtilization", handle, {"lastSeenTimeStamp": seen}).code == code
    assert infos(nvml, handle, 4, seen)[0] == code


def test_a_gpu_whose_profile_gives_no_use_has_no_samples(serve: Serve) -> None:
    nvml, handle = serve(board(FieldValue(status=3)))
    assert nvml.call("nvmlDeviceGetProcessUtilization", handle, {"lastSeenTimeStamp": 0}).code == 3
    assert infos(nvml, handle, 4)[0] == 3
