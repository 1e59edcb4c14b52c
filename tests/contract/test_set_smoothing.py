"""Power smoothing: presets, the ceiling and the floor they make, and who has it at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mocklib.binding import Nvml
from tests.contract import tuned
from tests.contract.tuned import FUNCTION_NOT_FOUND, INVALID, NO_PERMISSION, NOT_SUPPORTED, SUCCESS

Serve = Callable[..., tuple[Nvml, int]]
ENABLED, PRIVILEGE, RAMP_NOW, CEILING, FLOOR, MOST, LEAST, LIFETIME, PRESETS = range(251, 260)
PERCENT, RAMP_UP, RAMP_DOWN, HYSTERESIS, ACTIVE = range(260, 265)
ADMIN = range(265, 269)
NOT_SET = 0xFFFFFFFF


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "run.state"))


def board(smoothing: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A Blackwell GPU of 400 W."""
    power = {"enforced_limit_mw": 400_000, "min_limit_mw": 100_000, "max_limit_mw": 500_000}
    return {"architecture": "blackwell", "power": {**power, **({} if smoothing is None else {"smoothing": smoothing})}, **more}


def value(nvml: Nvml, handle: int, field: int, preset: int = 0) -> Any:
    """A field id's value, or its code where it has none, as a text."""
    answer = nvml.field_values(handle, [(field, preset)])[0]
    return answer.value if answer.code == 0 else f"code {answer.code}"


def state(nvml: Nvml, handle: int, number: int) -> int:
    return nvml.call("nvmlDevicePowerSmoothingSetState", handle, {"state.state": number}).code


def activate(nvml: Nvml, handle: int, preset: int) -> int:
    return nvml.call("nvmlDevicePowerSmoothingActivatePresetProfile", handle, {"profile.profileId": preset}).code


def update(nvml: Nvml, handle: int, preset: int, parameter: int, number: float) -> int:
    given = {"profile.profileId": preset, "profile.paramId": parameter, "profile.value": number}
    return nvml.call("nvmlDevicePowerSmoothingUpdatePresetProfileParam", handle, given).code


@pytest.mark.spec("F20", "F21", "F22", "F28")
def test_a_blackwell_board_smooths_its_power_and_starts_with_it_off(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board()))
    assert [value(nvml, handle, field) for field in (ENABLED, ACTIVE, PRESETS, MOST, LEAST)] == [0, 0, 5, 100, 0]
    assert [value(nvml, handle, field) for field in (RAMP_NOW, LIFETIME, PRIVILEGE)] == [0, 100, "code 3"]
    assert {value(nvml, handle, field) for field in ADMIN} == {NOT_SET}
    for field in (PERCENT, RAMP_UP, RAMP_DOWN, HYSTERESIS):
        assert [value(nvml, handle, field, preset) for preset in range(6)] == [*[0] * 5, "code 3"]


@pytest.mark.spec("F21", "F22", "F23", "F24", "F25")
def test_a_profile_seeds_state_active_preset_and_presets(serve: Serve) -> None:
    preset = {"percent_tmp_floor": 65.5, "ramp_up_rate_mw_per_s": 30_000, "ramp_down_rate_mw_per_s": 15_000, "ramp_down_hysteresis_ms": 250}
    nvml, handle = serve(tuned.spec(board({"state": "enabled", "active_profile": 1, "profiles": {1: preset}})))
    assert [value(nvml, handle, field) for field in (ENABLED, ACTIVE)] == [1, 1]
    assert [value(nvml, handle, field, 1) for field in (PERCENT, RAMP_UP, RAMP_DOWN, HYSTERESIS)] == [65.5, 30_000, 15_000, 250]
    assert value(nvml, handle, FLOOR) == 262.0


@pytest.mark.spec("F21", "F22", "F23", "F26", "F27")
def test_the_floor_is_the_active_presets_share_of_the_enforced_limit_while_smoothing_is_on(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board(), board()))
    draw = nvml.call("nvmlDeviceGetPowerUsage", handle)
    assert update(nvml, handle, 2, 0, 50.5) == SUCCESS
    assert (value(nvml, handle, CEILING), value(nvml, handle, FLOOR)) == (400.0, 0.0)
    assert (state(nvml, handle, 1), value(nvml, handle, FLOOR)) == (SUCCESS, 0.0)
    assert (activate(nvml, handle, 2), value(nvml, handle, FLOOR)) == (SUCCESS, 202.0)
    assert nvml.call("nvmlDeviceSetPowerManagementLimit", handle, {"limit": 200_000}).code == SUCCESS
    assert (value(nvml, handle, CEILING), value(nvml, handle, FLOOR)) == (200.0, 101.0)
    assert (update(nvml, handle, 2, 0, 25), value(nvml, handle, FLOOR)) == (SUCCESS, 50.0)
    assert (state(nvml, handle, 0), value(nvml, handle, FLOOR)) == (SUCCESS, 0.0)
    assert nvml.call("nvmlDeviceGetPowerUsage", handle) == draw
    assert [value(nvml, nvml.device(1), field) for field in (CEILING, ACTIVE, PERCENT)] == [400.0, 0, 0]


@pytest.mark.spec("F22", "F23", "F24", "F25", "Z14")
def test_what_no_preset_can_be_is_invalid_and_changes_nothing(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board()))
    assert [update(nvml, handle, 2, parameter, number) for parameter, number in ((0, 100), (1, 30_000), (2, 15_000), (3, 250))] == [SUCCESS] * 4
    seen = [value(nvml, handle, field, 2) for field in (PERCENT, RAMP_UP, RAMP_DOWN, HYSTERESIS, ACTIVE)]
    assert seen == [100, 30_000, 15_000, 250, 0]
    wrong = ((0, 100.01), (0, -0.01), (0, float("nan")), (1, -1), (2, -0.5), (2, float("inf")), (1, 2.0**32), (3, -1), (3, 2.5))
    assert [update(nvml, handle, 2, parameter, number) for parameter, number in wrong] == [INVALID] * len(wrong)
    assert [update(nvml, handle, 5, 0, 10), activate(nvml, handle, 5), state(nvml, handle, 2), update(nvml, handle, 0, 8, 1)] == [INVALID] * 4
    assert [value(nvml, handle, field, 2) for field in (PERCENT, RAMP_UP, RAMP_DOWN, HYSTERESIS, ACTIVE)] == seen


@pytest.mark.spec("F21", "F22", "F23", "F24", "F25", "Z14")
def test_smoothing_is_the_same_in_every_process(serve: Serve, library_path: Path) -> None:
    """The writes of nvidia-smi's -s, -spp, and -p with -ptf, -rur, -rdr and -rdh, each read in a process of its own."""
    nvml, handle = serve(tuned.spec(board()))
    assert [state(nvml, handle, 1), activate(nvml, handle, 4)] == [SUCCESS] * 2
    assert [update(nvml, handle, 4, parameter, number) for parameter, number in ((0, 65.5), (1, 777), (2, 888), (3, 250))] == [SUCCESS] * 4
    read = ((ENABLED, 0), (ACTIVE, 0), (PERCENT, 4), (RAMP_UP, 4), (RAMP_DOWN, 4), (HYSTERESIS, 4))
    assert [tuned.field_elsewhere(library_path, field, preset) for field, preset in read] == [1, 4, 65.5, 777, 888, 250]


@pytest.mark.spec("F20")
@pytest.mark.parametrize(
    ("device", "code"),
    [
        (board(architecture="hopper"), NOT_SUPPORTED),
        (board({"supported": False}), NOT_SUPPORTED),
        (board({"supported": True}, architecture="hopper"), SUCCESS),
        (board(states={"power.smoothing.enabled": "no_permission"}), NO_PERMISSION),
    ],
)
def test_a_board_has_it_by_its_architecture_unless_the_profile_says_otherwise(serve: Serve, device: dict[str, Any], code: int) -> None:
    nvml, handle = serve(tuned.spec(device))
    assert [state(nvml, handle, 0), activate(nvml, handle, 1), update(nvml, handle, 1, 1, 5)] == [code] * 3
    for field in (ENABLED, CEILING, FLOOR, MOST, PRESETS, PERCENT, ACTIVE, ADMIN[0]):
        assert nvml.field_values(handle, [(field, 0)])[0].code == code


@pytest.mark.spec("F20")
def test_a_driver_before_570_has_neither_fields_nor_setters(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board(), driver="565.57.01"))
    assert [state(nvml, handle, 1), activate(nvml, handle, 1), update(nvml, handle, 1, 1, 5)] == [FUNCTION_NOT_FOUND] * 3
    assert {value(nvml, handle, field) for field in range(ENABLED, ADMIN[-1] + 1)} <= {"code 3", "code 2"}
