"""Temperatures: absolute thresholds or margins to the limit, and every route to one reading."""

from __future__ import annotations

import pytest

from tests.cases.boards import A100, H100, T4, put, text_of
from tests.cases.conftest import Ask, Take

SIGNED_INT = 5
"""NVML_VALUE_TYPE_SIGNED_INT of nvml.h."""
MARGINS = {193: -8, 194: -2, 195: 0, 196: 0}
SHUTDOWN, SLOWDOWN, MEMORY_MAX, GPU_MAX = 0, 1, 2, 3


@pytest.mark.spec("G07")
def test_a_board_with_absolute_thresholds_has_no_margins(ask: Ask):
    """BL-010: the A100's shutdown is at 92 C; the fields of margins are not supported, so no reader turns a margin into a threshold."""
    nvml, device = ask(A100)
    asked = [nvml.call("nvmlDeviceGetTemperatureThreshold", device, {"thresholdType": kind}) for kind in (SHUTDOWN, SLOWDOWN, MEMORY_MAX, GPU_MAX)]
    assert [answer.out.get("temp") for answer in asked] == [92, 89, 95, 85]
    assert [answer.code for answer in nvml.field_values(device, [(number, 0) for number in MARGINS])] == [3] * 4
    assert nvml.call("nvmlDeviceGetMarginTemperature", device).code == 3


@pytest.mark.spec("G07")
def test_a_board_with_margins_has_signed_ones_and_no_absolute_thresholds(ask: Ask):
    """BL-010: the H100's shutdown is 8 below its limit."""
    nvml, device = ask(H100)
    answers = nvml.field_values(device, [(number, 0) for number in MARGINS])
    assert [answer.value for answer in answers] == list(MARGINS.values())
    assert {answer.value_type for answer in answers} == {SIGNED_INT}
    assert nvml.call("nvmlDeviceGetMarginTemperature", device).out["marginTempInfo.marginTemperature"] == 58
    assert [nvml.call("nvmlDeviceGetTemperatureThreshold", device, {"thresholdType": kind}).code for kind in range(4)] == [3] * 4


def test_names_of_thresholds_go_with_the_board(take: Take):
    """BL-010: `_threshold` on one, `_tlimit_threshold` on the other, whatever the figures are."""
    for board, name in ((A100, "gpu_temp_max_threshold"), (H100, "gpu_temp_max_tlimit_threshold")):
        given = put(text_of(board), name, "-11 C")
        taken = take(given)
        assert (taken.status, taken.rendered()) == (0, given)
        assert given.count("tlimit_threshold") == (0 if board == A100 else 8 * 8)


@pytest.mark.parametrize("board", [T4, H100])
def test_every_route_to_the_temperature_gives_the_same(board: str, ask: Ask):
    """BL-059: clients of 570 and newer ask nvmlDeviceGetTemperatureV first and take its refusal for the reading's."""
    nvml, device = ask(board)
    classic = nvml.call("nvmlDeviceGetTemperature", device, {"sensorType": 0})
    newer = nvml.call("nvmlDeviceGetTemperatureV", device)
    assert (classic.code, newer.code) == (0, 0)
    assert newer.out["temperature.temperature"] == classic.out["temp"]


def test_a_driver_without_the_newer_call_refuses_it_as_not_found_in_the_same_process_always(ask: Ask):
    """BL-059, BL-008: 470 has the classic call alone."""
    nvml, device = ask("geforce-gt-1030-x1_470.74")
    assert [nvml.call("nvmlDeviceGetTemperatureV", device).code for _ in range(2)] == [13, 13]
    assert nvml.call("nvmlDeviceGetTemperature", device, {"sensorType": 0}).out == {"temp": 36}
