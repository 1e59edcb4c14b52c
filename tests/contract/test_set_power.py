"""Power: limits and what follows them, draws, scopes, PowerMizer, power profiles by workload."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.stores.schema import readers
from mocklib.binding import Nvml
from tests.contract import tuned
from tests.contract.tuned import FUNCTION_NOT_FOUND, INVALID, NO_PERMISSION, NOT_SUPPORTED, SUCCESS

Serve = Callable[..., tuple[Nvml, int]]
LIMITS = {"management_mode": "enabled", "enforced_limit_mw": 400_000, "default_limit_mw": 380_000, "min_limit_mw": 100_000, "max_limit_mw": 500_000}
AVERAGE, INSTANT, LEAST, MOST, DEFAULT, CURRENT, REQUESTED, ENERGY = 185, 186, 187, 188, 189, 190, 192, 83
GPU, MODULE, MEMORY = 0, 1, 2


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "run.state"))


def value(nvml: Nvml, handle: int, field: int, scope: int = GPU) -> Any:
    """A field id's value, or its code where it has none, as a text."""
    answer = nvml.field_values(handle, [(field, scope)])[0]
    return answer.value if answer.code == 0 else f"code {answer.code}"


def limit(nvml: Nvml, handle: int, milliwatts: int) -> int:
    return nvml.call("nvmlDeviceSetPowerManagementLimit", handle, {"limit": milliwatts}).code


def scoped(nvml: Nvml, handle: int, scope: int, milliwatts: int) -> int:
    return nvml.call("nvmlDeviceSetPowerManagementLimit_v2", handle, {"powerValue.powerScope": scope, "powerValue.powerValueMw": milliwatts}).code


@pytest.mark.spec("F03", "F04", "F05")
def test_a_limit_moves_the_requested_and_the_enforced_one_and_never_the_default(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec({"power": LIMITS}))
    for milliwatts, code in ((100_000, SUCCESS), (99_999, INVALID), (500_000, SUCCESS), (500_001, INVALID), (0, INVALID), (123_456, SUCCESS)):
        assert limit(nvml, handle, milliwatts) == code, milliwatts
    constraints = nvml.call("nvmlDeviceGetPowerManagementLimitConstraints", handle).out
    assert (constraints["minLimit"], constraints["maxLimit"]) == (100_000, 500_000)
    assert nvml.call("nvmlDeviceGetPowerManagementLimit", handle).out["limit"] == 123_456
    assert nvml.call("nvmlDeviceGetEnforcedPowerLimit", handle).out["limit"] == 123_456
    assert nvml.call("nvmlDeviceGetPowerManagementDefaultLimit", handle).out["defaultLimit"] == 380_000
    found = [value(nvml, handle, field) for field in (LEAST, MOST, DEFAULT, CURRENT, REQUESTED)]
    assert found == [100_000, 500_000, 380_000, 123_456, 123_456]


@pytest.mark.spec("F05")
def test_a_bound_that_is_not_given_bounds_nothing(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec({"power": {"enforced_limit_mw": 400_000, "min_limit_mw": 100_000}}))
    assert [limit(nvml, handle, milliwatts) for milliwatts in (99_999, 4_000_000_000)] == [INVALID, SUCCESS]


@pytest.mark.spec("F06")
def test_the_limit_of_another_scope_is_not_supported_and_one_past_the_last_is_invalid(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec({"power": LIMITS}))
    assert [scoped(nvml, handle, scope, 200_000) for scope in (0, 1, 2, 3, 4, 99)] == [SUCCESS, *[NOT_SUPPORTED] * 3, INVALID, INVALID]
    assert nvml.call("nvmlDeviceGetEnforcedPowerLimit", handle).out["limit"] == 200_000


@pytest.mark.spec("F04")
def test_a_limit_holds_for_every_process_and_without_a_place_to_write_it_nothing_changes(
    serve: Serve, library_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nvml, handle = serve(tuned.spec({"power": LIMITS}))
    assert limit(nvml, handle, 200_000) == SUCCESS
    assert tuned.elsewhere(library_path, "nvmlDeviceGetEnforcedPowerLimit") == (0, {"limit": 200_000})
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "no folder" / "state"))
    nvml, handle = serve(tuned.spec({"power": LIMITS}))
    assert limit(nvml, handle, 200_000) == NO_PERMISSION
    assert nvml.call("nvmlDeviceGetEnforcedPowerLimit", handle).out["limit"] == 400_000


@pytest.mark.spec("F02")
@pytest.mark.parametrize(("word", "mode"), [("enabled", 1), ("disabled", 0), ("sometimes", 0)])
def test_power_management_is_enabled_or_else_it_is_disabled(serve: Serve, word: str, mode: int) -> None:
    nvml, handle = serve(tuned.spec({"power": {"management_mode": word}}))
    assert nvml.call("nvmlDeviceGetPowerManagementMode", handle).out["mode"] == mode


@pytest.mark.spec("F01")
def test_that_power_is_managed_is_said_and_asked_for_by_no_call() -> None:
    said, other = (tuned.spec({"power": {**LIMITS, "management_supported": word}}).devices[0] for word in (True, False))
    assert {name for name in said if said[name] != other[name]} == {"power.management_supported"}
    assert readers.of_key("power.management_supported") == ()


@pytest.mark.spec("F07", "F08")
def test_the_draw_is_that_of_the_gpu_and_of_no_other_scope(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec({"power": {**LIMITS, "current_draw_mw": 72_000}}))
    assert nvml.call("nvmlDeviceGetPowerUsage", handle).out["power"] == 72_000
    assert [value(nvml, handle, field) for field in (AVERAGE, INSTANT)] == [72_000, 72_000]
    for field in (AVERAGE, INSTANT, LEAST, MOST, DEFAULT, CURRENT, REQUESTED):
        assert [value(nvml, handle, field, scope) for scope in (MODULE, MEMORY)] == ["code 3", "code 3"], field


@pytest.mark.spec("F09")
@pytest.mark.parametrize(("given", "state"), [({}, 2), ({"power_state": "P5"}, 5)])
def test_the_power_state_is_the_performance_state_unless_it_is_given(serve: Serve, given: dict[str, Any], state: int) -> None:
    nvml, handle = serve(tuned.spec({"performance_state": "P2", "power": {**LIMITS, **given}}))
    assert nvml.call("nvmlDeviceGetPowerState", handle).out["pState"] == state


@pytest.mark.spec("F11")
def test_the_power_source_is_the_mains(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec({}))
    assert nvml.call("nvmlDeviceGetPowerSource", handle).out["powerSource"] == 0


def mizer(nvml: Nvml, handle: int, mode: int) -> int:
    return nvml.call("nvmlDeviceSetPowerMizerMode_v1", handle, {"powerMizerMode.mode": mode}).code


@pytest.mark.spec("F29")
def test_a_power_mizer_mode_is_set_for_every_process(serve: Serve, library_path: Path) -> None:
    nvml, handle = serve(tuned.spec({"architecture": "maxwell"}))
    out = nvml.call("nvmlDeviceGetPowerMizerMode_v1", handle).out
    assert (out["powerMizerMode.currentMode"], out["powerMizerMode.supportedPowerMizerModes"]) == (2, 0b1111)
    for mode in (0, 1, 3, 2, 1):
        assert mizer(nvml, handle, mode) == SUCCESS
        assert nvml.call("nvmlDeviceGetPowerMizerMode_v1", handle).out["powerMizerMode.currentMode"] == mode
    assert mizer(nvml, handle, 4) == INVALID
    assert tuned.elsewhere(library_path, "nvmlDeviceGetPowerMizerMode_v1")[1]["powerMizerMode.currentMode"] == 1


@pytest.mark.spec("F29")
@pytest.mark.parametrize(
    ("architecture", "driver", "code"), [("kepler", "580.105.08", NOT_SUPPORTED), ("maxwell", "570.148.08", FUNCTION_NOT_FOUND)]
)
def test_power_mizer_needs_maxwell_and_driver_580(serve: Serve, architecture: str, driver: str, code: int) -> None:
    nvml, handle = serve(tuned.spec({"architecture": architecture}, driver=driver))
    assert nvml.call("nvmlDeviceGetPowerMizerMode_v1", handle).code == code
    assert mizer(nvml, handle, 1) == code


@pytest.mark.parametrize(
    "function", ["nvmlDeviceSetPowerManagementLimit", "nvmlDeviceSetPowerManagementLimit_v2", "nvmlDevicePowerSmoothingSetState",
                 "nvmlDeviceSetGpuLockedClocks", "nvmlDeviceSetMemoryLockedClocks", "nvmlDeviceSetFanControlPolicy", "nvmlDeviceGetClkMonStatus"]
)  # fmt: skip
def test_what_nvml_h_keeps_for_root_a_user_may_not(serve: Serve, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    monkeypatch.setenv("MOCK_NVML_PRIVILEGE", "user")
    nvml, handle = serve(tuned.spec({"architecture": "blackwell", "power": LIMITS}))
    assert nvml.call(function, handle).code == NO_PERMISSION
    monkeypatch.delenv("MOCK_NVML_PRIVILEGE")
    nvml, handle = serve(tuned.spec({"architecture": "blackwell", "power": LIMITS}))
    assert nvml.call(function, handle).code != NO_PERMISSION
