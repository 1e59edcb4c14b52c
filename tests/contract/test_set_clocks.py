"""Clocks: application clocks, locks, offsets, and the one performance state they belong to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mocklib.binding import Nvml
from tests.contract import tuned
from tests.contract.tuned import INVALID, NOT_FOUND, NOT_SUPPORTED, SUCCESS

Serve = Callable[..., tuple[Nvml, int]]
GRAPHICS, SM, MEMORY, VIDEO = range(4)
CURRENT, APP, APP_DEFAULT, BOOST = range(4)
TDP, UNLIMITED = 0xFFFFFF01, 0xFFFFFF02
CLOCKS = {"graphics_current": 1000, "sm_current": 900, "memory_current": 1215, "video_current": 585, "graphics_max": 1410, "sm_max": 1400,
          "memory_max": 1215, "video_max": 1290, "graphics_app": 1395, "graphics_app_default": 1410, "memory_app": 1215,
          "memory_app_default": 405}  # fmt: skip
TABLE = {"memory_clocks": [{"freq_mhz": 1215, "graphics_clocks": [1410, 1395]}, {"freq_mhz": 405, "graphics_clocks": [1410, 210]}]}


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "run.state"))


def board(**given: Any) -> dict[str, Any]:
    """A Turing board would have no memory locks; this one is an Ampere."""
    return {"architecture": "ampere", "clocks": {**CLOCKS, **given}, "supported_clocks": TABLE}


def clocks(nvml: Nvml, handle: int) -> list[int]:
    """The current clocks: graphics, SM, memory, video."""
    return [nvml.call("nvmlDeviceGetClockInfo", handle, {"type": kind}).out["clock"] for kind in (GRAPHICS, SM, MEMORY, VIDEO)]


def clock(nvml: Nvml, handle: int, kind: int, which: int) -> Any:
    """nvmlDeviceGetClock; a code as a text."""
    answer = nvml.call("nvmlDeviceGetClock", handle, {"clockType": kind, "clockId": which})
    return answer.out["clockMHz"] if answer.code == 0 else f"code {answer.code}"


def lock(nvml: Nvml, handle: int, least: int, most: int) -> int:
    return nvml.call("nvmlDeviceSetGpuLockedClocks", handle, {"minGpuClockMHz": least, "maxGpuClockMHz": most}).code


def lock_memory(nvml: Nvml, handle: int, least: int, most: int) -> int:
    return nvml.call("nvmlDeviceSetMemoryLockedClocks", handle, {"minMemClockMHz": least, "maxMemClockMHz": most}).code


def applications(nvml: Nvml, handle: int, memory: int, graphics: int) -> int:
    return nvml.call("nvmlDeviceSetApplicationsClocks", handle, {"memClockMHz": memory, "graphicsClockMHz": graphics}).code


@pytest.mark.spec("I01", "I02", "I03", "I04", "I05", "I06", "I07", "I08", "I09")
def test_every_clock_has_its_key_and_the_rest_of_the_matrix_is_not_supported(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board()))
    none = "code 3"
    assert [[clock(nvml, handle, kind, which) for which in (CURRENT, APP, APP_DEFAULT, BOOST)] for kind in (GRAPHICS, SM, MEMORY, VIDEO)] == [
        [1000, 1395, 1410, 1410], [900, none, none, none], [1215, 1215, 405, none], [585, none, none, none],
    ]  # fmt: skip
    assert (clock(nvml, handle, 4, CURRENT), clock(nvml, handle, GRAPHICS, 4)) == ("code 2", "code 2")
    assert clocks(nvml, handle) == [1000, 900, 1215, 585]
    most = [nvml.call("nvmlDeviceGetMaxClockInfo", handle, {"type": kind}).out["clock"] for kind in (GRAPHICS, SM, MEMORY, VIDEO)]
    assert most == [1410, 1400, 1215, 1290]
    for function, wanted in (("nvmlDeviceGetApplicationsClock", (1395, 1215)), ("nvmlDeviceGetDefaultApplicationsClock", (1410, 405))):
        assert tuple(nvml.call(function, handle, {"clockType": kind}).out["clockMHz"] for kind in (GRAPHICS, MEMORY)) == wanted
    boost = [nvml.call("nvmlDeviceGetMaxCustomerBoostClock", handle, {"clockType": kind}) for kind in (GRAPHICS, SM)]
    assert (boost[0].out["clockMHz"], boost[1].code) == (1410, NOT_SUPPORTED)


@pytest.mark.spec("I01", "I05", "I07", "I08")
def test_a_board_without_a_clock_has_none_and_an_application_clock_of_0_is_none(serve: Serve) -> None:
    zero = dict.fromkeys(("graphics_app", "graphics_app_default", "memory_app", "memory_app_default"), 0)
    nvml, handle = serve(tuned.spec({}, board(**zero, graphics_max=None)))
    assert [clock(nvml, handle, kind, which) for kind in range(4) for which in range(4)] == ["code 3"] * 16
    own = nvml.device(1)
    assert [clock(nvml, own, kind, which) for kind in (GRAPHICS, MEMORY) for which in (APP, APP_DEFAULT)] == ["code 3"] * 4
    assert clock(nvml, own, GRAPHICS, BOOST) == "code 3"
    assert applications(nvml, own, 1215, 1395) == NOT_SUPPORTED


@pytest.mark.spec("I07", "I12", "I13")
def test_application_clocks_are_a_pair_of_the_table_until_they_are_the_defaults_again(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board()))
    wrong = ((1215, 210), (405, 1395), (1214, 1395), (0, 0), (1395, 1215))
    assert [applications(nvml, handle, *pair) for pair in wrong] == [INVALID] * len(wrong)
    assert (applications(nvml, handle, 405, 210), clock(nvml, handle, MEMORY, APP), clock(nvml, handle, GRAPHICS, APP)) == (SUCCESS, 405, 210)
    assert clocks(nvml, handle) == [1000, 900, 1215, 585]
    assert nvml.call("nvmlDeviceResetApplicationsClocks", handle).code == SUCCESS
    assert (clock(nvml, handle, MEMORY, APP), clock(nvml, handle, GRAPHICS, APP)) == (405, 1410)


@pytest.mark.spec("I12")
def test_a_board_without_default_application_clocks_has_none_to_set(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board(graphics_app_default=None, memory_app_default=None)))
    assert [applications(nvml, handle, 1215, 1395), nvml.call("nvmlDeviceResetApplicationsClocks", handle).code] == [NOT_SUPPORTED] * 2


@pytest.mark.spec("I14", "I26")
def test_a_lock_holds_graphics_and_sm_in_its_range_below_their_maximum(serve: Serve, library_path: Path) -> None:
    nvml, handle = serve(tuned.spec(board()))
    for least, most, seen in ((300, 600, [600, 600]), (950, 1300, [1000, 950]), (1405, 1500, [1405, 1400]), (700, 700, [700, 700])):
        assert lock(nvml, handle, least, most) == SUCCESS
        assert clocks(nvml, handle) == [*seen, 1215, 585]
    assert tuned.elsewhere(library_path, "nvmlDeviceGetClockInfo", {"type": SM}) == (0, {"clock": 700})
    assert lock(nvml, handle, 700, 699) == INVALID
    assert nvml.call("nvmlDeviceResetGpuLockedClocks", handle).code == SUCCESS
    assert clocks(nvml, handle) == [1000, 900, 1215, 585]


@pytest.mark.spec("I15")
def test_a_lock_of_the_memory_holds_its_clock_alone(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board()))
    assert (lock_memory(nvml, handle, 405, 810), clocks(nvml, handle)) == (SUCCESS, [1000, 900, 810, 585])
    assert (lock_memory(nvml, handle, 2000, 3000), clocks(nvml, handle)) == (SUCCESS, [1000, 900, 1215, 585])
    assert lock_memory(nvml, handle, 2, 1) == INVALID
    assert (nvml.call("nvmlDeviceResetMemoryLockedClocks", handle).code, clocks(nvml, handle)[MEMORY]) == (SUCCESS, 1215)


@pytest.mark.spec("I14", "I15")
def test_a_profile_can_start_locked_and_a_reset_of_the_lock_frees_it_even_then(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board(locked_graphics={"min_mhz": 300, "max_mhz": 600}, locked_memory={"min_mhz": 300, "max_mhz": 810})))
    assert clocks(nvml, handle) == [600, 600, 810, 585]
    for function in ("nvmlDeviceResetGpuLockedClocks", "nvmlDeviceResetMemoryLockedClocks"):
        assert nvml.call(function, handle).code == SUCCESS
    assert clocks(nvml, handle) == [1000, 900, 1215, 585]


@pytest.mark.spec("I14", "I15", "I16")
def test_bounds_by_name_unlock_or_are_refused(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board()))
    for setter, place in ((lock, GRAPHICS), (lock_memory, MEMORY)):
        free = clocks(nvml, handle)[place]
        assert (setter(nvml, handle, 300, 500), clocks(nvml, handle)[place]) == (SUCCESS, 500)
        mixed = ((UNLIMITED, 500), (300, UNLIMITED), (TDP, 500), (300, TDP), (0xFFFFFF00, UNLIMITED), (0xFFFFFF03, UNLIMITED))
        assert [setter(nvml, handle, *pair) for pair in mixed] == [INVALID] * len(mixed)
        assert [setter(nvml, handle, *pair) for pair in ((TDP, TDP), (TDP, UNLIMITED), (UNLIMITED, TDP))] == [NOT_SUPPORTED] * 3
        assert clocks(nvml, handle)[place] == 500
        assert (setter(nvml, handle, UNLIMITED, UNLIMITED), clocks(nvml, handle)[place]) == (SUCCESS, free)


@pytest.mark.parametrize(("architecture", "codes"), [("pascal", (3, 3)), ("volta", (0, 3)), ("turing", (0, 3)), ("ampere", (0, 0))])
def test_clocks_are_locked_from_volta_on_and_those_of_memory_from_ampere_on(serve: Serve, architecture: str, codes: tuple[int, int]) -> None:
    """nvml.h, nvmlDeviceSetGpuLockedClocks and nvmlDeviceSetMemoryLockedClocks."""
    nvml, handle = serve(tuned.spec({**board(), "architecture": architecture}))
    assert (lock(nvml, handle, 300, 600), lock_memory(nvml, handle, 300, 600)) == codes
    resets = [nvml.call(f"nvmlDeviceReset{which}LockedClocks", handle).code for which in ("Gpu", "Memory")]
    assert tuple(resets) == codes


def offsets(nvml: Nvml, handle: int, kind: int, given: int, pstate: int = 0) -> int:
    return nvml.call("nvmlDeviceSetClockOffsets", handle, {"info.type": kind, "info.pstate": pstate, "info.clockOffsetMHz": given}).code


@pytest.mark.spec("I17")
def test_offsets_are_stored_read_back_and_leave_the_clocks_alone(serve: Serve) -> None:
    ranges = {"graphics": {"min_mhz": -200, "max_mhz": 300}, "memory": {"min_mhz": 0, "max_mhz": 1000}}
    nvml, handle = serve(tuned.spec(board(offsets=ranges)))
    for kind, word, fits, wrong in ((GRAPHICS, "Gpc", (-200, 300, -1), (-201, 301)), (MEMORY, "Mem", (1000, 0, 7), (-1, 1001))):
        for given in fits:
            assert offsets(nvml, handle, kind, given) == SUCCESS
            assert nvml.call(f"nvmlDeviceGet{word}ClkVfOffset", handle).out["offset"] == given
            assert nvml.call("nvmlDeviceGetClockOffsets", handle, {"info.type": kind, "info.pstate": 0}).out["info.clockOffsetMHz"] == given
        for given in wrong:
            assert [offsets(nvml, handle, kind, given), nvml.call(f"nvmlDeviceSet{word}ClkVfOffset", handle, {"offset": given}).code] == [INVALID] * 2
        assert nvml.call(f"nvmlDeviceSet{word}ClkVfOffset", handle, {"offset": 5}).code == SUCCESS
        assert nvml.call(f"nvmlDeviceGet{word}ClkVfOffset", handle).out["offset"] == 5
    assert clocks(nvml, handle) == [1000, 900, 1215, 585]
    assert [offsets(nvml, handle, SM, 1), offsets(nvml, handle, GRAPHICS, 1, 2)] == [NOT_SUPPORTED] * 2
    assert [offsets(nvml, handle, 4, 1), offsets(nvml, handle, GRAPHICS, 1, 16)] == [INVALID] * 2


@pytest.mark.spec("I17", "I18")
def test_a_board_that_says_nothing_of_offsets_and_adaptive_clocking_has_neither(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board(), board(adaptive_clocking="enabled")))
    asked = [nvml.call(f"nvmlDevice{function}", handle).code for function in
             ("GetGpcClkVfOffset", "GetMemClkVfOffset", "GetGpcClkMinMaxVfOffset", "GetMemClkMinMaxVfOffset", "SetGpcClkVfOffset",
              "SetMemClkVfOffset", "GetAdaptiveClockInfoStatus")]  # fmt: skip
    assert [*asked, offsets(nvml, handle, GRAPHICS, 0)] == [NOT_SUPPORTED] * 8
    assert nvml.call("nvmlDeviceGetAdaptiveClockInfoStatus", nvml.device(1)).out["adaptiveClockStatus"] == 1


@pytest.mark.spec("I19")
def test_boards_from_pascal_on_have_no_auto_boost(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board(), board(auto_boost="enabled", auto_boost_default="enabled")))
    setters = ("nvmlDeviceSetAutoBoostedClocksEnabled", "nvmlDeviceSetDefaultAutoBoostedClocksEnabled")
    assert [nvml.call(function, handle, {"enabled": 1}).code for function in setters] == [NOT_SUPPORTED] * 2
    assert nvml.call("nvmlDeviceGetAutoBoostedClocksEnabled", handle).code == NOT_SUPPORTED
    own = nvml.device(1)
    assert [nvml.call(function, own, {"enabled": 0}).code for function in setters] == [SUCCESS] * 2
    out = nvml.call("nvmlDeviceGetAutoBoostedClocksEnabled", own).out
    assert (out["isEnabled"], out["defaultIsEnabled"]) == (0, 0)


@pytest.mark.spec("I10")
def test_the_table_is_given_highest_first_and_by_memory_clock(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board(), {}))
    assert nvml.call("nvmlDeviceGetSupportedMemoryClocks", handle).out["clocksMHz"] == [1215, 405]
    assert nvml.call("nvmlDeviceGetSupportedGraphicsClocks", handle, {"memoryClockMHz": 405}).out["clocksMHz"] == [1410, 210]
    assert nvml.call("nvmlDeviceGetSupportedGraphicsClocks", handle, {"memoryClockMHz": 1}).code == NOT_FOUND
    assert nvml.call("nvmlDeviceGetSupportedMemoryClocks", nvml.device(1)).code == NOT_SUPPORTED


@pytest.mark.spec("I11", "I20")
def test_the_boards_performance_state_is_the_one_there_is(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec({**board(), "performance_state": "P2"}, {"performance_state": "P2"}))
    ends = {}
    for kind in (GRAPHICS, SM, MEMORY):
        out = nvml.call("nvmlDeviceGetMinMaxClockOfPState", handle, {"type": kind, "pstate": 2}).out
        ends[kind] = out["minClockMHz"], out["maxClockMHz"]
    assert ends == {GRAPHICS: (210, 1410), SM: (210, 1410), MEMORY: (405, 1215)}
    asked = ((VIDEO, 2, NOT_SUPPORTED), (GRAPHICS, 0, NOT_SUPPORTED), (GRAPHICS, 16, INVALID), (4, 2, INVALID))
    for kind, pstate, code in asked:
        assert nvml.call("nvmlDeviceGetMinMaxClockOfPState", handle, {"type": kind, "pstate": pstate}).code == code
    states = nvml.call("nvmlDeviceGetSupportedPerformanceStates", handle, {"size": 64}).out["pstates"]
    assert (states[0], set(states[1:])) == (2, {32})
    tail = ("nvclockmin=210, nvclockmax=1410, nvclockeditable=0, memclock={memory}, memclockmin=405, memclockmax=1215, memclockeditable=0, "
            "memtransferrate={twice}, memtransferratemin=810, memtransferratemax=2430, memtransferrateeditable=0 ;")  # fmt: skip
    modes = nvml.call("nvmlDeviceGetPerformanceModes", handle).out["perfModes.str"]
    assert modes == "perf=0, nvclock=210, " + tail.format(memory=405, twice=810)
    now = nvml.call("nvmlDeviceGetCurrentClockFreqs", handle).out["currentClockFreqs.str"]
    assert now == "perf=0, nvclock=1000, " + tail.format(memory=1215, twice=2430)
    bare = nvml.device(1)
    assert [nvml.call(f"nvmlDeviceGet{function}", bare).code for function in ("PerformanceModes", "CurrentClockFreqs")] == [NOT_SUPPORTED] * 2


@pytest.mark.spec("I21")
def test_two_domains_have_a_utilization_and_no_thresholds(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec({"utilization": {"gpu": 37, "memory": 12}}))
    listed = nvml.call("nvmlDeviceGetDynamicPstatesInfo", handle).out["pDynamicPstatesInfo.utilization"]
    assert [(entry["bIsPresent"], entry["percentage"], entry["incThreshold"], entry["decThreshold"]) for entry in listed[:3]] == [
        (1, 37, 0, 0), (1, 12, 0, 0), (0, 0, 0, 0),
    ]  # fmt: skip


@pytest.mark.spec("I22")
@pytest.mark.parametrize(("architecture", "code"), [("turing", NOT_SUPPORTED), ("ampere", SUCCESS)])
def test_the_clock_monitor_of_ampere_and_newer_sees_no_fault(serve: Serve, architecture: str, code: int) -> None:
    nvml, handle = serve(tuned.spec({"architecture": architecture}))
    answer = nvml.call("nvmlDeviceGetClkMonStatus", handle)
    assert answer.code == code
    assert code or (answer.out["status.bGlobalStatus"], answer.out["status.clkMonListSize"]) == (0, 0)
