"""Fans: the driver's curve, duties they are held at, the window of a write; and no S-class units anywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mocklib.binding import Nvml
from tests.contract import tuned
from tests.contract.tuned import INVALID, NO_PERMISSION, NOT_SUPPORTED, SUCCESS

Serve = Callable[..., tuple[Nvml, int]]
FAN = {"count": 2, "speed_percent": "40", "target_speed_percent": "45", "max_speed_rpm": 5000, "min_speed_percent": 30, "max_speed_percent": 90}
SPEED, TARGET, RPM = "nvmlDeviceGetFanSpeed_v2", "nvmlDeviceGetTargetFanSpeed", "nvmlDeviceGetFanSpeedRPM"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "run.state"))


def board(**given: Any) -> dict[str, Any]:
    return {"architecture": "turing", "fan": {**FAN, **given}}


def read(nvml: Nvml, handle: int, fan: int) -> tuple[Any, ...]:
    """(speed, target, rpm, policy) of one fan; a code as a text."""
    asked = ((SPEED, {"fan": fan}, "speed"), (TARGET, {"fan": fan}, "targetSpeed"), (RPM, {"fanSpeed.fan": fan}, "fanSpeed.speed"),
             ("nvmlDeviceGetFanControlPolicy_v2", {"fan": fan}, "policy"))  # fmt: skip
    answers = [(nvml.call(function, handle, arguments), out) for function, arguments, out in asked]
    return tuple(answer.out[out] if answer.code == 0 else f"code {answer.code}" for answer, out in answers)


def first(nvml: Nvml, handle: int) -> Any:
    """The one speed that nvidia-smi shows."""
    answer = nvml.call("nvmlDeviceGetFanSpeed", handle)
    return answer.out["speed"] if answer.code == 0 else f"code {answer.code}"


def hold(nvml: Nvml, handle: int, fan: int, percent: int) -> int:
    return nvml.call("nvmlDeviceSetFanSpeed_v2", handle, {"fan": fan, "speed": percent}).code


def release(nvml: Nvml, handle: int, fan: int) -> int:
    return nvml.call("nvmlDeviceSetDefaultFanSpeed_v2", handle, {"fan": fan}).code


def policy(nvml: Nvml, handle: int, fan: int, number: int) -> int:
    return nvml.call("nvmlDeviceSetFanControlPolicy", handle, {"fan": fan, "policy": number}).code


@pytest.mark.spec("H01", "H02", "H03", "H04", "H05", "H06", "H11")
def test_fans_stand_where_the_curve_has_them(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board()))
    assert nvml.call("nvmlDeviceGetNumFans", handle).out["numFans"] == 2
    assert [read(nvml, handle, fan) for fan in (0, 1)] == [(40, 45, 2000, 0)] * 2
    assert (first(nvml, handle), read(nvml, handle, 2)) == (40, ("code 2",) * 4)
    window = nvml.call("nvmlDeviceGetMinMaxFanSpeed", handle).out
    assert (window["minSpeed"], window["maxSpeed"]) == (30, 90)


@pytest.mark.spec("H01", "H02")
def test_a_board_without_fans_answers_no_question_of_them(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board(count=0)))
    assert (first(nvml, handle), read(nvml, handle, 0)) == ("code 3", ("code 3",) * 4)
    codes = [hold(nvml, handle, 0, 50), release(nvml, handle, 0), policy(nvml, handle, 0, 1), nvml.call("nvmlDeviceGetMinMaxFanSpeed", handle).code]
    assert codes == [NOT_SUPPORTED] * 4


@pytest.mark.spec("H02", "H03", "H04")
def test_fans_that_are_driven_and_not_reported_or_not_measured(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board(speed_percent="N/A", target_speed_percent="N/A"), board(max_speed_rpm=None)))
    assert (first(nvml, handle), read(nvml, handle, 0)) == ("code 3", ("code 3", "code 3", "code 3", 0))
    assert read(nvml, nvml.device(1), 0) == (40, 45, "code 3", 0)
    assert (hold(nvml, handle, 0, 50), first(nvml, handle)) == (SUCCESS, 50)
    assert (release(nvml, handle, 0), first(nvml, handle)) == (SUCCESS, "code 3")


@pytest.mark.spec("H05", "H06", "H08")
def test_a_speed_outside_the_window_and_a_fan_there_is_not_are_invalid(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board(), board(min_speed_percent=None, max_speed_percent=None)))
    assert [hold(nvml, handle, 0, percent) for percent in (29, 91, 30, 90)] == [INVALID, INVALID, SUCCESS, SUCCESS]
    assert [hold(nvml, nvml.device(1), 0, percent) for percent in (0, 100, 101)] == [SUCCESS, SUCCESS, INVALID]
    assert [hold(nvml, handle, 2, 50), release(nvml, handle, 2), policy(nvml, handle, 2, 1)] == [INVALID] * 3
    assert read(nvml, handle, 0) == (90, 90, 4500, 1)


@pytest.mark.spec("H08", "H09", "H11")
def test_a_fan_that_is_held_is_manual_and_goes_back_to_the_curve(serve: Serve, library_path: Path) -> None:
    nvml, handle = serve(tuned.spec(board()))
    assert hold(nvml, handle, 0, 80) == SUCCESS
    assert (first(nvml, handle), read(nvml, handle, 0), read(nvml, handle, 1)) == (80, (80, 80, 4000, 1), (40, 45, 2000, 0))
    assert hold(nvml, handle, 1, 60) == SUCCESS
    assert (first(nvml, handle), read(nvml, handle, 1)) == (80, (60, 60, 3000, 1))
    assert tuned.elsewhere(library_path, "nvmlDeviceGetFanSpeed") == (0, {"speed": 80})
    assert release(nvml, handle, 0) == SUCCESS
    assert (first(nvml, handle), read(nvml, handle, 0), read(nvml, handle, 1)) == (40, (40, 45, 2000, 0), (60, 60, 3000, 1))


@pytest.mark.spec("H10", "H11")
def test_manual_control_keeps_the_speed_and_automatic_control_drops_the_duty(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board()))
    assert (policy(nvml, handle, 1, 1), read(nvml, handle, 1)) == (SUCCESS, (40, 45, 2000, 1))
    assert (hold(nvml, handle, 1, 70), read(nvml, handle, 1)) == (SUCCESS, (70, 70, 3500, 1))
    assert (policy(nvml, handle, 1, 1), read(nvml, handle, 1)) == (SUCCESS, (70, 70, 3500, 1))
    assert (policy(nvml, handle, 1, 0), read(nvml, handle, 1)) == (SUCCESS, (40, 45, 2000, 0))
    assert policy(nvml, handle, 1, 2) == INVALID


@pytest.mark.spec("H07")
def test_a_profile_says_which_fans_start_held(serve: Serve) -> None:
    held = [{"fan": fan, "policy": "manual", "speed_percent": percent} for fan, percent in ((1, 70), (7, 1))]
    controls = [*held, {"fan": 0, "policy": "manual"}]
    nvml, handle = serve(tuned.spec(board(controls=controls), board(controls=[{"fan": 0, "speed_percent": 55}])))
    assert [read(nvml, handle, fan) for fan in (0, 1)] == [(40, 45, 2000, 1), (70, 70, 3500, 1)]
    assert (first(nvml, nvml.device(1)), read(nvml, nvml.device(1), 0)) == (55, (55, 55, 2750, 1))


@pytest.mark.spec("H08", "H09", "H10")
def test_nowhere_to_write_is_no_permission(serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "no folder" / "state"))
    nvml, handle = serve(tuned.spec(board()))
    assert [hold(nvml, handle, 0, 50), release(nvml, handle, 0), policy(nvml, handle, 0, 1)] == [NO_PERMISSION] * 3
    assert read(nvml, handle, 0) == (40, 45, 2000, 0)


def test_fans_of_a_board_before_maxwell_are_read_and_not_set(serve: Serve) -> None:
    """nvml.h, nvmlDeviceSetFanSpeed_v2 and nvmlDeviceGetFanControlPolicy_v2."""
    nvml, handle = serve(tuned.spec({**board(), "architecture": "kepler"}))
    assert read(nvml, handle, 0) == (40, 45, 2000, "code 3")
    assert [hold(nvml, handle, 0, 50), release(nvml, handle, 0), policy(nvml, handle, 0, 1)] == [NOT_SUPPORTED] * 3


UNITS = ("nvmlUnitGetFanSpeedInfo", "nvmlUnitGetUnitInfo", "nvmlUnitGetPsuInfo", "nvmlUnitGetLedState", "nvmlUnitGetTemperature",
         "nvmlUnitSetLedState")  # fmt: skip


@pytest.mark.spec("H14")
def test_a_node_has_no_units_and_no_handle_is_one(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board()))
    assert (nvml.call("nvmlUnitGetCount").code, nvml.call("nvmlUnitGetCount").out["unitCount"]) == (SUCCESS, 0)
    assert nvml.call("nvmlUnitGetHandleByIndex", None, {"index": 0}).code == INVALID
    for function in UNITS:
        assert nvml.call(function, None, {"unit": handle}).code == INVALID, function
