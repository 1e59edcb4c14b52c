"""Clocks: event reasons under both names, their counters, and the table of supported clocks."""

from __future__ import annotations

import pytest

from tests.cases.boards import A100, GT1030, H100, T4, put, text_of
from tests.cases.conftest import Ask, On, Take

COUNTERS = (74, 76, 269, 270, 271)
REASONS = ("nvmlDeviceGetCurrentClocksThrottleReasons", "clocksThrottleReasons"), ("nvmlDeviceGetCurrentClocksEventReasons", "clocksEventReasons")
CLOCKS = [("supported_mem_clock", [("value", "5001 MHz"), ("supported_graphics_clock", "1590 MHz"), ("supported_graphics_clock", "1575 MHz")])]


@pytest.mark.spec("J01")
def test_one_reason_has_the_name_that_its_driver_uses(take: Take, on: On):
    """BL-030: the same key is printed as a throttle reason by 525 and as an event reason by 535 and newer."""
    for board, driver, word in ((GT1030, "525.147.05", "throttle"), (A100, "535.274.02", "event"), (A100, "570.148.08", "event")):
        given = put(put(on(board, driver), f"clocks_{word}_reason_gpu_idle", "Not Active"), f"clocks_{word}_reason_sync_boost", "Active")
        taken = take(given)
        assert (taken.status, taken.rendered()) == (0, given)
        assert (taken.value("clocks_throttle_reasons.gpu_idle"), taken.value("clocks_throttle_reasons.sync_boost")) == (False, True)


def test_both_calls_answer_the_mask_where_both_are_exported(ask: Ask):
    """BL-030: idle is bit 0; 470 has the older name alone."""
    nvml, device = ask(H100)
    assert [nvml.call(name, device).out[out] for name, out in REASONS] == [1, 1]
    nvml, device = ask(GT1030)
    assert [nvml.call(name, device).code for name, _ in REASONS] == [0, 13]


def test_counters_are_nanoseconds_in_the_call_and_microseconds_in_the_query(take: Take, ask: Ask):
    """BL-030."""
    given = put(text_of(H100), "clocks_event_reasons_counters_sw_power_cap", "770461242 us")
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    nvml, device = ask(taken)
    assert [(answer.code, answer.value) for answer in nvml.field_values(device, [(74, 0), (76, 0)])] == [(0, 770461242000), (0, 0)]


def test_counters_that_neither_capture_nor_driver_has_are_not_supported(ask: Ask):
    """BL-030: 570 prints none and has no field for three of them.  For the other two the entry asks for the same; they stand for a block of flags
    that gives no counters, which by the configuration reference (J10) means never throttled: 0.
    """
    nvml, device = ask(A100)
    assert "counters" not in text_of(A100)
    answers = nvml.field_values(device, [(number, 0) for number in COUNTERS])
    assert [(answer.code, answer.value) for answer in answers] == [(0, 0), (0, 0), (3, None), (3, None), (3, None)]


def test_a_table_of_clocks_keeps_its_order_and_is_answered_by_the_count_protocol(take: Take, ask: Ask):
    """BL-084: a value and its many siblings in one block."""
    given = put(text_of(T4), "supported_clocks", CLOCKS)
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})
    assert taken.value("supported_clocks.memory_clocks") == [{"freq_mhz": 5001, "graphics_clocks": [1590, 1575]}]
    nvml, device = ask(taken)
    assert nvml.call("nvmlDeviceGetSupportedMemoryClocks", device).out["clocksMHz"] == [5001]
    assert nvml.call("nvmlDeviceGetSupportedGraphicsClocks", device, {"memoryClockMHz": 5001}).out["clocksMHz"] == [1590, 1575]
    assert nvml.call("nvmlDeviceGetSupportedGraphicsClocks", device, {"memoryClockMHz": 9999}).code == 6
    short = nvml.ffi.new("unsigned int *", 1)
    buffer = nvml.ffi.new("unsigned int[2]", [7, 7])
    handle = nvml.ffi.cast("nvmlDevice_t", device)
    assert nvml.function("nvmlDeviceGetSupportedGraphicsClocks")(handle, 5001, short, buffer) == 7
    assert (short[0], list(buffer)) == (2, [7, 7])


def test_clocks_that_are_a_bare_token_are_not_supported(take: Take, ask: Ask):
    """BL-084."""
    given = put(text_of(T4), "supported_clocks", "N/A")
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})
    nvml, device = ask(taken)
    assert nvml.call("nvmlDeviceGetSupportedMemoryClocks", device).code == 3
    assert nvml.call("nvmlDeviceGetSupportedGraphicsClocks", device, {"memoryClockMHz": 5001}).code == 3
