"""Entries of the private table that take more than a device and a place: lists of field values, the lanes of a link."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mocklib import image, state
from mocklib.image import Clock, FieldValue
from mocklib.spec import Slot
from tests.contract import boards, nvlinks
from tests.contract.nvlinks import SWITCHED

TABLE = bytes.fromhex("c4fe3e6cc98f6c4ea327ee696e12f7c4")
INVALID_ARGUMENT, NOT_SUPPORTED, UNKNOWN = 2, 3, 999
S = 1_000_000_000
Serve = Callable[..., tuple[Any, int]]
IDS = [
    Slot(165, "field_values", "relaxed_ordering_mode", 1), Slot(165, "field_values", "reset_status.reset_required", 4),
    Slot(207, "u32", "pcie.host_max_link_gen"),
]  # fmt: skip


def entry(nvml: Any, handle: int, number: int) -> Callable[..., int]:
    """``entry(nvml, handle, 165)(1, values)``: the code of a slot called with what comes after the device."""
    table = nvml.ffi.new("void **")
    assert nvml.library.nvmlInternalGetExportTable(table, nvml.ffi.from_buffer(TABLE)) == 0
    function = nvml.ffi.cast("int (*)(void *, void *, void *, void *, void *)", nvml.ffi.cast("uintptr_t *", table[0])[number])

    def call(*given: Any) -> int:
        words = [nvml.ffi.cast("void *", one) for one in given]
        return int(function(nvml.ffi.cast("void *", handle), *words, *[nvml.ffi.NULL] * (4 - len(words))))

    return call


def test_each_field_value_has_a_code_of_its_own(serve: Serve) -> None:
    device = boards.device(relaxed_ordering_mode=FieldValue(1), reset_status__reset_required=FieldValue(status=UNKNOWN))
    nvml, handle = serve(boards.spec(devices=[device], slots=IDS))
    values = nvml.ffi.new("nvmlFieldValue_t[4]")
    for value, number in zip(values, (4, 1, 2, 0), strict=True):
        value.fieldId, value.value.ullVal = number, 2**64 - 1
    assert entry(nvml, handle, 165)(4, values) == 0
    assert [value.nvmlReturn for value in values] == [UNKNOWN, 0, NOT_SUPPORTED, NOT_SUPPORTED]
    assert (values[1].valueType, values[1].value.ullVal, values[1].timestamp) == (1, 1, boards.AT_NS // 1000)
    assert values[0].value.ullVal == 2**64 - 1


def test_no_list_of_field_values_is_read_where_there_is_none(serve: Serve) -> None:
    nvml, handle = serve(boards.spec(slots=IDS))
    values = nvml.ffi.new("nvmlFieldValue_t *")
    ask = entry(nvml, handle, 165)
    assert [ask(0, values), ask(1, nvml.ffi.NULL), ask(2**31, values), ask(2**64 - 1, values)] == [INVALID_ARGUMENT] * 4
    assert entry(nvml, handle + 1, 165)(1, values) == INVALID_ARGUMENT


@pytest.fixture
def counted(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, int]]:
    """``counted(0.25, 8)``: a board whose links have counted errors at that rate for eight seconds."""

    def start(rate: float, seconds: int, architecture: str = "ampere") -> tuple[Any, int]:
        spec = nvlinks.spec({**SWITCHED, "defaults": {"error_rate": rate}}, architecture=architecture, version="470.256.02")
        path = tmp_path / "node.state"
        state.create(path, image.pack(spec))
        state.set_clock(path, Clock("frozen", spec.clock.at_ns + seconds * S))
        monkeypatch.setenv("MOCK_NVML_STATE", str(path))
        return serve(spec)

    return start


def lanes(nvml: Any, handle: int, slot: int, link: int, asked: int) -> list[int] | int:
    """The counts of so many lanes, or the code; nothing is written after them."""
    room = nvml.ffi.new("unsigned long long[]", [7] * (asked + 1))
    code = entry(nvml, handle, slot)(link, asked, asked, room)
    assert room[asked] == 7
    assert code == 0 or list(room) == [7] * (asked + 1)
    return code or list(room)[:asked]


@pytest.mark.spec("S13", "S30")
def test_the_lanes_of_a_link_count_its_errors_together(counted: Callable[..., tuple[Any, int]]) -> None:
    nvml, handle = counted(0.25, 42)
    assert nvml.call("nvmlDeviceGetNvLinkErrorCounter", handle, {"link": 1, "counter": 3}).out == {"counterValue": 10}
    assert lanes(nvml, handle, 208, 1, 4) == [3, 3, 2, 2]
    assert lanes(nvml, handle, 156, 1, 8) == [3, 3, 2, 2, 0, 0, 0, 0]  # Ampere has four
    assert lanes(nvml, handle, 208, 1, 3) == [4, 3, 3]


def test_a_link_that_is_down_a_board_without_links_and_odd_numbers_of_lanes_are_refused(
    counted: Callable[..., tuple[Any, int]], serve: Serve
) -> None:
    nvml, handle = counted(0.25, 42)
    assert [lanes(nvml, handle, 208, link, 4) for link in (4, 12, 2**32 - 1)] == [NOT_SUPPORTED, INVALID_ARGUMENT, INVALID_ARGUMENT]
    assert [lanes(nvml, handle, 208, 1, asked) for asked in (0, 9)] == [INVALID_ARGUMENT] * 2
    assert entry(nvml, handle, 208)(1, 4, 4, nvml.ffi.NULL) == INVALID_ARGUMENT
    nvml, handle = serve(nvlinks.spec({"version": 4}, version="470.256.02"))
    assert lanes(nvml, handle, 208, 0, 4) == NOT_SUPPORTED


def test_a_count_of_corrections_that_ran_over_says_so(counted: Callable[..., tuple[Any, int]]) -> None:
    nvml, handle = counted(1e9, 9)
    assert lanes(nvml, handle, 208, 1, 4) == [2**32 - 1] * 4
    assert lanes(nvml, handle, 156, 1, 4) == [2_250_000_000] * 4
