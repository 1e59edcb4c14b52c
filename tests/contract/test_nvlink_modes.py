"""What a GPU's NVLinks are set to: reduced bandwidth, low power, error counters; encryption and firmware beside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mocklib import image, state
from mocklib.image import Clock
from tests.contract import nvlinks
from tests.contract.nvlinks import BLACKWELL, SWITCHED
from tests.contract.test_nvlink import COUNTING, INVALID_ARGUMENT, NOT_SUPPORTED, S, Serve, field, link

DEVICE: dict[str, Any] = {**SWITCHED, "bw_mode": {"scope": "device", "supported": [1, 3, 4, 7], "mode": 3}}
SYSTEM: dict[str, Any] = {**SWITCHED, "bw_mode": {"scope": "system"}}
NEWER: dict[str, Any] = {"version": BLACKWELL, "architecture": "blackwell"}


@pytest.fixture
def recorded(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, int]]:
    """``recorded(spec)``: the library with a state to record in."""

    def start(spec: Any) -> tuple[Any, int]:
        path = tmp_path / "node.state"
        path.unlink(missing_ok=True)
        state.create(path, image.pack(spec))
        monkeypatch.setenv("MOCK_NVML_STATE", str(path))
        return serve(spec)

    return start


def mode(nvml: Any, handle: int) -> Any:
    """(mode, whether it is the best) of a GPU, or the code."""
    answer = nvml.call("nvmlDeviceGetNvlinkBwMode", handle, {"getBwMode.version": 1})
    return (answer.out["getBwMode.bwMode"], answer.out["getBwMode.bIsBest"]) if answer.code == 0 else answer.code


def set_mode(nvml: Any, handle: int, number: int, best: int = 0) -> int:
    given = {"setBwMode.version": 1, "setBwMode.bwMode": number, "setBwMode.bSetBest": best}
    return int(nvml.call("nvmlDeviceSetNvlinkBwMode", handle, given).code)


@pytest.mark.spec("S20", "S21", "S22", "S23", "S25")
def test_a_gpu_takes_the_modes_it_has_and_the_best_is_the_lowest(recorded: Callable[..., tuple[Any, int]]) -> None:
    nvml, handle = recorded(nvlinks.spec(DEVICE, **NEWER))
    listed = nvml.call("nvmlDeviceGetNvlinkSupportedBwModes", handle, {"supportedBwMode.version": 1}).out
    assert list(listed["supportedBwMode.bwModes"])[: listed["supportedBwMode.totalBwModes"]] == [1, 3, 4, 7]
    assert mode(nvml, handle) == (3, 0)
    assert (set_mode(nvml, handle, 4), mode(nvml, handle), mode(nvml, nvml.device(1))) == (0, (4, 0), (3, 0))
    assert (set_mode(nvml, handle, 0), mode(nvml, handle)) == (INVALID_ARGUMENT, (4, 0))
    assert (set_mode(nvml, handle, 7), mode(nvml, handle)) == (0, (7, 0))  # one that has no name
    assert (set_mode(nvml, handle, 200, best=1), mode(nvml, handle)) == (0, (1, 1))
    assert nvml.call("nvmlSystemGetNvlinkBwMode", None, {}).code == NOT_SUPPORTED
    assert nvml.call("nvmlSystemSetNvlinkBwMode", None, {"nvlinkBwMode": 1}).code == NOT_SUPPORTED


@pytest.mark.spec("S20", "S21", "S23", "S24", "Y15")
def test_the_modes_of_the_node_are_one_for_all_its_gpus(recorded: Callable[..., tuple[Any, int]]) -> None:
    nvml, handle = recorded(nvlinks.spec(SYSTEM))
    read = lambda: nvml.call("nvmlSystemGetNvlinkBwMode", None, {}).out  # noqa: E731
    write = lambda number: nvml.call("nvmlSystemSetNvlinkBwMode", None, {"nvlinkBwMode": number}).code  # noqa: E731
    assert read() == {"nvlinkBwMode": 0}
    assert (write(4), read()) == (0, {"nvlinkBwMode": 4})
    assert (write(5), read()) == (INVALID_ARGUMENT, {"nvlinkBwMode": 4})
    assert (mode(nvml, handle), set_mode(nvml, handle, 1)) == (NOT_SUPPORTED, NOT_SUPPORTED)
    assert nvml.call("nvmlDeviceGetNvlinkSupportedBwModes", handle, {"supportedBwMode.version": 1}).code == NOT_SUPPORTED


@pytest.mark.spec("S20", "S22")
def test_a_mode_that_is_not_offered_gives_way_to_the_best_and_a_scope_that_is_none_to_nothing(serve: Serve) -> None:
    assert mode(*serve(nvlinks.spec({**SWITCHED, "bw_mode": {"scope": "device", "supported": [2, 3], "mode": 4}}, **NEWER))) == (2, 1)
    nvml, handle = serve(nvlinks.spec({**SWITCHED, "bw_mode": {"scope": "rack", "mode": 1}}, **NEWER))
    assert (mode(nvml, handle), nvml.call("nvmlSystemGetNvlinkBwMode", None, {}).code) == (NOT_SUPPORTED, NOT_SUPPORTED)


def set_threshold(nvml: Any, handle: int, number: int) -> int:
    return int(nvml.call("nvmlDeviceSetNvLinkDeviceLowPowerThreshold", handle, {"info.lowPwrThreshold": number}).code)


@pytest.mark.spec("S16", "S17")
def test_the_low_power_threshold_is_taken_within_its_range_and_put_back(recorded: Callable[..., tuple[Any, int]]) -> None:
    nvml, handle = recorded(nvlinks.spec(SWITCHED))
    assert [field(nvml, handle, number) for number in (167, 168, 200, 223, 224, 225)] == [0, 1000, 1023, 1, 1, 1]
    assert [set_threshold(nvml, handle, number) for number in (1, 1023, 0, 1024)] == [0, 0, INVALID_ARGUMENT, INVALID_ARGUMENT]
    assert (field(nvml, handle, 168), field(nvml, nvml.device(1), 168)) == (1023, 1000)
    assert (set_threshold(nvml, handle, 0xFFFFFFFF), field(nvml, handle, 168)) == (0, 1000)


@pytest.mark.spec("S16")
def test_low_power_needs_a_link_that_is_up_and_a_hopper(recorded: Callable[..., tuple[Any, int]]) -> None:
    for spec in (nvlinks.spec({**SWITCHED, "defaults": {"state": "down"}}), nvlinks.spec(SWITCHED, architecture="ampere")):
        nvml, handle = recorded(spec)
        assert [field(nvml, handle, number) for number in (167, 168, 200, 223, 224, 225)] == [NOT_SUPPORTED] * 6
        assert set_threshold(nvml, handle, 5) == NOT_SUPPORTED


@pytest.mark.parametrize(("version", "number", "most"), [("535.274.02", 168, 8191), ("555.58.02", 199, 1023), ("570.148.08", 200, 1023)])
@pytest.mark.spec("S16")
def test_the_largest_threshold_is_the_drivers(recorded: Callable[..., tuple[Any, int]], version: str, number: int, most: int) -> None:
    nvml, handle = recorded(nvlinks.spec(SWITCHED, version=version))
    assert (set_threshold(nvml, handle, most + 1), set_threshold(nvml, handle, most)) == (INVALID_ARGUMENT, 0)
    assert field(nvml, handle, number) == most == field(nvml, handle, 168)


def test_errors_of_a_link_count_anew_once_they_were_cleared(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, path = nvlinks.spec(COUNTING), tmp_path / "node.state"
    state.create(path, image.pack(spec))
    monkeypatch.setenv("MOCK_NVML_STATE", str(path))
    nvml, handle = serve(spec)
    counted = lambda: [link(nvml, handle, "ErrorCounter", number, counter=0)["counterValue"] for number in (0, 1)]  # noqa: E731
    clear = lambda number: nvml.call("nvmlDeviceResetNvLinkErrorCounters", handle, {"link": number}).code  # noqa: E731
    state.set_clock(path, Clock("frozen", spec.clock.at_ns + 8 * S))
    assert (counted(), clear(1), counted()) == ([2, 2], 0, [2, 0])
    state.set_clock(path, Clock("frozen", spec.clock.at_ns + 12 * S))
    assert counted() == [3, 1]
    assert (clear(2), clear(18)) == (NOT_SUPPORTED, INVALID_ARGUMENT)


def test_a_setter_with_nowhere_to_record_changes_nothing(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "no" / "such" / "folder"))
    nvml, handle = serve(nvlinks.spec(DEVICE, **NEWER))
    assert (set_mode(nvml, handle, 1), mode(nvml, handle)) == (4, (3, 0))
    assert nvml.call("nvmlDeviceResetNvLinkErrorCounters", handle, {"link": 0}).code == 4


@pytest.mark.parametrize("function", ["Freeze", "Reset"])
def test_utilization_counters_are_frozen_and_reset_no_longer(serve: Serve, function: str) -> None:
    """nvml.h says so from 11.7 on, nvidia-smi nvlink -h from 450 on."""
    nvml, handle = serve(nvlinks.spec(SWITCHED))
    more = {"freeze": 1} if function == "Freeze" else {}
    assert nvml.call(f"nvmlDevice{function}NvLinkUtilizationCounter", handle, {"link": 0, "counter": 0, **more}).code == NOT_SUPPORTED


FIRMWARE = {"netir_dln": "0:10:0", "mse": "15:3:0", "netir": "36:2014:4784", "netir_uphy": "7.0.0", "netir_cln": "1:2:99999999999"}


@pytest.mark.spec("S18", "S19")
def test_encryption_and_firmware_are_told_in_the_headers_order(serve: Serve) -> None:
    nvml, handle = serve(nvlinks.spec({**SWITCHED, "nvle_enabled": True, "firmware": FIRMWARE}))
    assert nvml.call("nvmlDeviceGetNvLinkInfo", handle, {"info.version": 1}).out["info.isNvleEnabled"] == 1
    told = nvml.call("nvmlDeviceGetNvLinkInfo", handle, {"info.version": 2}).out
    entries = told["info.firmwareInfo.firmwareVersion"][: told["info.firmwareInfo.numValidEntries"]]
    assert [(one["ucodeType"], one["major"], one["minor"], one["subMinor"]) for one in entries] == [(1, 15, 3, 0), (2, 36, 2014, 4784), (5, 0, 10, 0)]
    nvml, handle = serve(nvlinks.spec(SWITCHED))
    told = nvml.call("nvmlDeviceGetNvLinkInfo", handle, {"info.version": 2}).out
    assert (told["info.isNvleEnabled"], told["info.firmwareInfo.numValidEntries"]) == (0, 0)


@pytest.mark.spec("S18")
def test_encryption_is_asked_of_boards_with_links_by_drivers_from_580_on(serve: Serve) -> None:
    known = nvlinks.spec(SWITCHED, architecture="volta")  # of whatever architecture
    for spec, code in ((nvlinks.spec({"version": 6}), NOT_SUPPORTED), (nvlinks.spec(SWITCHED, version="570.148.08"), 13), (known, 0)):
        nvml, handle = serve(spec)
        assert nvml.call("nvmlDeviceGetNvLinkInfo", handle, {"info.version": 2}).code == code


@pytest.mark.spec("S04")
def test_the_link_to_the_processor_is_on_or_not_supported(serve: Serve) -> None:
    def told(nvlink: dict[str, Any]) -> Any:
        nvml, handle = serve(nvlinks.spec(nvlink, device={"features": {"nvlink_c2c": True}}))
        answer = nvml.call("nvmlDeviceGetC2cModeInfoV", handle, {"c2cModeInfo.version": 1})
        return answer.out.get("c2cModeInfo.isC2cEnabled", answer.code)

    assert [told({"c2c_enabled": True}), told({"c2c_enabled": False}), told({})] == [1, NOT_SUPPORTED, NOT_SUPPORTED]
