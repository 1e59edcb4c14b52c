"""Functions that hang on an argument beside the device: several fans, the P-state of a clock's offset, masks of workload profiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mocklib.image import FieldValue
from tests.contract import boards

NOT_SUPPORTED, INVALID = 3, 2
FANS = (
    ("nvmlDeviceGetFanSpeed_v2", "fan.curve_percent", "fan", "speed"),
    ("nvmlDeviceGetTargetFanSpeed", "fan.target_speed_percent", "fan", "targetSpeed"),
    ("nvmlDeviceGetFanSpeedRPM", "fan.speed_rpm", "fanSpeed.fan", "fanSpeed.speed"),
)


@pytest.mark.parametrize(("function", "field", "fan", "out"), FANS)
def test_each_fan_of_a_board_answers_and_no_other(serve: Callable[..., Any], function: str, field: str, fan: str, out: str) -> None:
    nvml, handle = serve()
    for number in (0, 1):
        answer = nvml.call(function, handle, {fan: number})
        assert (answer.code, answer.out[out]) == (0, boards.device()[field].value)
    assert nvml.call(function, handle, {fan: 2}).code == INVALID


@pytest.mark.parametrize(("function", "field", "fan", "out"), FANS)
def test_a_board_without_fans_or_without_the_reading_says_so(serve: Callable[..., Any], function: str, field: str, fan: str, out: str) -> None:
    for given, code in (({"fan__count": FieldValue(0)}, NOT_SUPPORTED), ({field.replace(".", "__"): FieldValue(status=4)}, 4)):
        nvml, handle = serve(boards.spec(devices=[boards.device(0, **given)]))
        assert nvml.call(function, handle, {fan: 0}).code == code


OFFSETS = {
    "clocks.offsets.{}.set_mhz": "clockOffsetMHz",
    "clocks.offsets.{}.min_mhz": "minClockOffsetMHz",
    "clocks.offsets.{}.max_mhz": "maxClockOffsetMHz",
}


@pytest.mark.parametrize(("domain", "kind"), [("graphics", 0), ("memory", 2)])
def test_offsets_are_those_of_the_domain_in_the_state_the_board_is_in(serve: Callable[..., Any], domain: str, kind: int) -> None:
    nvml, handle = serve(boards.spec(devices=[boards.device(0, performance_state=FieldValue(2))]))
    answer = nvml.call("nvmlDeviceGetClockOffsets", handle, {"info.type": kind, "info.pstate": 2})
    assert answer.code == 0
    values = boards.device()
    assert {member: answer.out[f"info.{member}"] for member in OFFSETS.values()} == {
        member: values[field.format(domain)].value for field, member in OFFSETS.items()
    }


@pytest.mark.parametrize(("kind", "state", "code"), [(0, 0, 3), (1, 2, 3), (3, 2, 3), (4, 2, 2), (0, 16, 2), (0, 31, 2), (0, 32, 3)])
def test_other_domains_and_states_have_no_offset(serve: Callable[..., Any], kind: int, state: int, code: int) -> None:
    nvml, handle = serve(boards.spec(devices=[boards.device(0, performance_state=FieldValue(2))]))
    assert nvml.call("nvmlDeviceGetClockOffsets", handle, {"info.type": kind, "info.pstate": state}).code == code


def test_a_board_without_a_range_has_no_offset(serve: Callable[..., Any]) -> None:
    given = {"performance_state": FieldValue(2), "clocks__offsets__graphics__max_mhz": FieldValue(status=NOT_SUPPORTED)}
    nvml, handle = serve(boards.spec(devices=[boards.device(0, **given)]))
    assert nvml.call("nvmlDeviceGetClockOffsets", handle, {"info.type": 0, "info.pstate": 2}).code == NOT_SUPPORTED
    assert nvml.call("nvmlDeviceGetClockOffsets", handle, {"info.type": 2, "info.pstate": 2}).code == 0


def test_workload_profiles_offered_asked_for_and_enforced_are_three_masks(serve: Callable[..., Any]) -> None:
    masks = {which: FieldValue((1 << number).to_bytes(32, "little")) for number, which in enumerate(("supported", "requested", "enforced"))}
    given = {f"power__workload_profiles__{which}": value for which, value in masks.items()}
    nvml, handle = serve(boards.spec(devices=[boards.device(0, **given)]))
    out = nvml.call("nvmlDeviceWorkloadPowerProfileGetCurrentProfiles", handle, {}).out
    names = ("perfProfilesMask", "requestedProfilesMask", "enforcedProfilesMask")
    assert [out[f"currentProfiles.{name}.mask"][0] for name in names] == [1, 2, 4]
