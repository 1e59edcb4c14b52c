"""The verbs as keys, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness.stages.overriding import verbs, verbs_faults
from harness.stores.schema import keys
from harness.words.errors import UsageError

REASON = "clocks_throttle_reasons."


@pytest.mark.parametrize(
    ("made", "changes"),
    [
        pytest.param(verbs.temperature("85", {}), {"thermal.temperature_gpu_c": 85, "dynamic_metrics.temperature.base_c": 85,
            "dynamic_metrics.temperature.variance_c": 0, "dynamic_metrics.temperature.ramp_c": 0}, marks=pytest.mark.spec("X04", "X22")),
        pytest.param(verbs.power("123.4567", {}), {"power.current_draw_mw": 123457, "dynamic_metrics.power.base_mw": 123457,
            "dynamic_metrics.power.variance_mw": 0}, marks=pytest.mark.spec("X05", "X22")),
        pytest.param(verbs.fan("40", {}), {"fan.speed_percent": "40", "fan.count": 1}, marks=pytest.mark.spec("X06", "H12")),
        pytest.param(verbs.fan("40", {"fan.count": 3}), {"fan.speed_percent": "40"}, marks=pytest.mark.spec("X06", "H12")),
        pytest.param(verbs.utilization("7", {}), {"utilization.gpu": 7, "utilization.memory": 7, "dynamic_metrics.utilization": None},
            marks=pytest.mark.spec("X07", "X22")),
        pytest.param(verbs.clocks("1200", {}), {"clocks.sm_current": 1200, "clocks.graphics_current": 1200}, marks=pytest.mark.spec("X08")),
        pytest.param(verbs.pstate("15", {}), {"performance_state": "P15"}, marks=pytest.mark.spec("X10")),
        pytest.param(verbs_faults.fail("lost", after_calls="3", xid="79"), {"failure.mode": "lost", "failure.after_calls": 3,
            "failure.probability": None, "failure.seed": None, "failure.xid.code": 79}, marks=pytest.mark.spec("X03")),
        pytest.param(verbs_faults.fail("healthy", after_calls="3"), {"failure": None}, marks=pytest.mark.spec("X03")),
        pytest.param(verbs_faults.nvlink_error("2.5", "3, 1,3"), {"nvlink_error.rate": 2.5, "nvlink_error.links": [1, 3]},
            marks=pytest.mark.spec("X11")),
        pytest.param(verbs_faults.nvlink_error("10"), {"nvlink_error.rate": 10, "nvlink_error.links": None}, marks=pytest.mark.spec("X11")),
        pytest.param(verbs_faults.nvlink_error("0", "3"), {"nvlink_error": None}, marks=pytest.mark.spec("X11")),
    ],
)  # fmt: skip
def test_a_verb_writes_its_keys(made: dict[str, Any], changes: dict[str, Any]) -> None:
    assert made == changes
    assert [type(value) for value in made.values()] == [type(changes[key]) for key in made]


@pytest.mark.parametrize(
    ("alias", "reason"),
    [("thermal", "hw_thermal_slowdown"), ("sw_thermal", "sw_thermal_slowdown"), ("power", "sw_power_cap"), ("power_brake", "hw_power_brake_slowdown"),
     ("idle", "gpu_idle"), ("app_clocks", "applications_clocks_setting"), ("display_clocks", "display_clocks_setting"),
     ("hw_slowdown", "hw_slowdown"), ("sync_boost", "sync_boost"), ("SW_Power_Cap", "sw_power_cap")],
)  # fmt: skip
@pytest.mark.spec("X09")
def test_throttle_sets_the_reasons_named_and_clears_every_other(alias: str, reason: str) -> None:
    made = verbs.throttle([alias])
    assert {key for key, value in made.items() if value is True} == {f"{REASON}{reason}"}
    assert {key for key, value in made.items() if value is False} == set(keys.FLAGS) - {f"{REASON}{reason}"}


@pytest.mark.spec("X09")
def test_none_clears_every_reason_and_several_stand_together() -> None:
    assert set(verbs.throttle(["none"]).values()) == {False}
    assert sum(verbs.throttle(["thermal,idle", "power"]).values()) == 3


@pytest.mark.spec("X12")
@pytest.mark.parametrize(
    ("kind", "source", "counter", "bucket"),
    [("secded", "l2", "uncorrectable_secded", "l2"), ("parity", "mcu", "uncorrectable_parity", "microcontroller"),
     ("correctable", None, "correctable", None), ("secded", None, "uncorrectable_secded", None)],
)  # fmt: skip
def test_sram_errors_stand_in_both_scopes_and_every_other_counter_is_cleared(kind: str, source: str | None, counter: str, bucket: str | None) -> None:
    made = verbs_faults.sram_ecc("12", kind, source, threshold_exceeded=True)
    counters = {f"ecc.sram.{scope}.{counter}" for scope in ("volatile", "aggregate")}
    counters |= {f"ecc.sram.uncorrectable_sources.{bucket}"} if bucket else set()
    assert {key for key, value in made.items() if value == 12} == counters
    assert made["ecc.sram.threshold_exceeded"] is True
    assert set(made) == {key for key in keys.device_keys() if key.startswith("ecc.sram.") and not key.endswith(".uncorrectable")}
    assert not any(verbs_faults.sram_ecc("0", kind, source, threshold_exceeded=True).values())


@pytest.mark.spec("X13", "T15")
def test_fabric_conditions_are_the_ones_named_and_release_what_was_pinned() -> None:
    made = verbs_faults.fabric_health(["bandwidth", "access_timeout,no_partition"])
    assert {key for key, value in made.items() if value is True} == {"fabric.health.degraded_bandwidth", "fabric.health.access_timeout_recovery"}
    assert {key for key, value in made.items() if value is False} == {"fabric.health.route_recovery", "fabric.health.route_unhealthy"}
    pinned = ("fabric.health.incorrect_configuration", "fabric.health_summary", "fabric.health_mask")
    assert [made[key] for key in pinned] == ["no_partition", "auto", None]
    for word in ("healthy", "none"):
        clear = verbs_faults.fabric_health([word])
        assert not any(value is True for value in clear.values())
        assert clear["fabric.health.incorrect_configuration"] == "none"


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        pytest.param(lambda: verbs.temperature("201", {}), "temp: 201 is outside 0 to 200", marks=pytest.mark.spec("X04")),
        pytest.param(lambda: verbs.temperature("-1", {}), "temp: -1 is outside 0 to 200", marks=pytest.mark.spec("X04")),
        pytest.param(lambda: verbs.temperature("4.5", {}), "temp: '4.5' is no whole number", marks=pytest.mark.spec("X04")),
        pytest.param(lambda: verbs.power("nan", {}), "power: 'nan' is no finite number", marks=pytest.mark.spec("X05")),
        pytest.param(lambda: verbs.power("-inf", {}), "power: '-inf' is no finite number", marks=pytest.mark.spec("X05")),
        pytest.param(lambda: verbs.power("100000.1", {}), "power: 100000.1 is outside 0 to 100000", marks=pytest.mark.spec("X05")),
        pytest.param(lambda: verbs.power("1e999999999", {}), "power: 1e999999999 is outside 0 to 100000", marks=pytest.mark.spec("X05")),
        pytest.param(lambda: verbs.fan("101", {}), "fan: 101 is outside 0 to 100", marks=pytest.mark.spec("X06")),
        pytest.param(lambda: verbs.utilization("x", {}), "util: 'x' is no whole number", marks=pytest.mark.spec("X07")),
        pytest.param(lambda: verbs.clocks("100001", {}), "clocks: 100001 is outside 0 to 100000", marks=pytest.mark.spec("X08")),
        pytest.param(lambda: verbs.throttle(["thermall"]), "unknown name 'thermall' (did you mean 'thermal'?)", marks=pytest.mark.spec("X09")),
        pytest.param(lambda: verbs.throttle(["none", "idle"]), "throttle: none stands alone", marks=pytest.mark.spec("X09")),
        pytest.param(lambda: verbs.throttle([]), "throttle: takes none, or at least one of", marks=pytest.mark.spec("X09")),
        pytest.param(lambda: verbs.pstate("16", {}), "pstate: 16 is outside 0 to 15", marks=pytest.mark.spec("X10")),
        pytest.param(lambda: verbs_faults.fail("los"), "fail: --mode 'los' is not one of", marks=pytest.mark.spec("X03")),
        pytest.param(lambda: verbs_faults.fail("lost", after_calls="-1"), "fail: --after-calls: -1 is outside", marks=pytest.mark.spec("X03")),
        pytest.param(lambda: verbs_faults.nvlink_error("1", "-2"), "nvlink-error: --links: -2 is outside 0 to 17", marks=pytest.mark.spec("X11")),
        pytest.param(lambda: verbs_faults.nvlink_error("1", "a"), "nvlink-error: --links: 'a' is no whole number", marks=pytest.mark.spec("X11")),
        pytest.param(lambda: verbs_faults.nvlink_error("1000000001"), "nvlink-error: 1000000001 is outside", marks=pytest.mark.spec("X11")),
        pytest.param(lambda: verbs_faults.sram_ecc("1", "correctable", "l2"), "sram-ecc: --source names where", marks=pytest.mark.spec("X12")),
        pytest.param(lambda: verbs_faults.sram_ecc("1", "dram"), "sram-ecc: --type 'dram' is not one of", marks=pytest.mark.spec("X12")),
        pytest.param(lambda: verbs_faults.sram_ecc("1000000001"), "sram-ecc: 1000000001 is outside", marks=pytest.mark.spec("X12")),
        pytest.param(lambda: verbs_faults.fabric_health(["healthy", "bandwidth"]), "healthy stands alone", marks=pytest.mark.spec("X13")),
        pytest.param(lambda: verbs_faults.fabric_health(["slow"]), "fabric-health: unknown name 'slow'", marks=pytest.mark.spec("X13")),
        pytest.param(lambda: verbs_faults.fabric_health(["no_partition", "invalid_location"]), "one misconfiguration"),
    ],
)
def test_a_verb_refuses_what_is_out_of_its_range(refused: Callable[[], object], said: str) -> None:
    with pytest.raises(UsageError) as refusal:
        refused()
    assert said in str(refusal.value)
    assert refusal.value.exit_status == 2
