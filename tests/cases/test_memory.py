"""Framebuffer figures: kept as read, none invented, none computed."""

from __future__ import annotations

from tests.cases.boards import A100, GT1030, H100, drop, put, text_of
from tests.cases.conftest import Ask, Take
from tests.cases.taken import refused

MIB = 1 << 20
NOTHING = {"total": "N/A", "reserved": "N/A", "used": "N/A", "free": "N/A"}
V1, V2 = ("nvmlDeviceGetMemoryInfo", "nvmlMemory_t"), ("nvmlDeviceGetMemoryInfo_v2", "nvmlMemory_v2_t")
V2_WORD = 0x02000028


def test_a_board_on_the_hosts_memory_has_no_framebuffer_figure_and_answers_everything_else(take: Take, ask: Ask):
    """BL-004: no zero, no host memory, nothing written where nothing is known."""
    given = put(put(text_of(A100), "product_name", "NVIDIA GB10"), "fb_memory_usage", NOTHING)
    given = put(given, "bar1_memory_usage", {"total": "N/A", "used": "N/A", "free": "N/A"})
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    nvml, device = ask(taken)
    assert nvml.count() == 1
    assert refused(nvml, V1[0], device, V1[1]) == 3
    assert refused(nvml, V2[0], device, V2[1], V2_WORD) == 3
    assert refused(nvml, "nvmlDeviceGetBAR1MemoryInfo", device, "nvmlBAR1Memory_t") == 3
    assert nvml.call("nvmlDeviceGetName", device).out == {"name": "NVIDIA GB10"}
    assert nvml.call("nvmlDeviceGetTemperature", device, {"sensorType": 0}).out == {"temp": 33}
    assert nvml.call("nvmlDeviceGetPowerUsage", device).code == 0
    assert nvml.call("nvmlDeviceGetUtilizationRates", device).code == 0


def test_four_figures_that_do_not_add_up_are_kept_as_they_are_and_used_of_the_old_call_is_what_is_not_free(take: Take, ask: Ask):
    """BL-011: 0 + 81080 + 480 is not 81559."""
    nvml, device = ask(H100)
    new = nvml.call(V2[0], device).out
    figures = {name: new[f"memory.{name}"] // MIB for name in ("total", "reserved", "used", "free")}
    assert figures == {"total": 81559, "reserved": 480, "used": 0, "free": 81080}
    assert new["memory.total"] == 81559 * MIB
    assert nvml.call(V1[0], device).out == {"memory.total": 81559 * MIB, "memory.free": 81080 * MIB, "memory.used": 479 * MIB}


def test_a_driver_without_the_reserved_part_has_no_second_generation_of_the_call(take: Take, ask: Ask):
    """BL-011: 470 prints three figures and used is printed by the first generation."""
    nvml, device = ask(GT1030)
    assert nvml.call(V2[0], device).code == 13
    assert nvml.call(V1[0], device).out == {"memory.total": 1998 * MIB, "memory.free": 1123 * MIB, "memory.used": 875 * MIB}


def test_one_figure_the_capture_lacks_is_not_made_from_the_others(take: Take):
    """BL-011."""
    given = drop(text_of(A100), "reserved")
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    assert taken.value("memory.reserved_bytes") is None
