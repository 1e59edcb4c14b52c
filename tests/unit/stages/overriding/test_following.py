"""Readings that follow an overridden one."""

from __future__ import annotations

from typing import Any

import pytest

from harness.stages.overriding import following, merging
from harness.stores.profiles import Device
from harness.words.state import State

BASE = Device(
    {
        "thermal.temperature_gpu_c": 30, "thermal.tlimit.margin_c": 57, "power.current_draw_mw": 70000, "power.average_draw_mw": 71000,
        "power.enforced_limit_mw": 300000, "power.requested_limit_mw": 250000, "performance_state": "P0", "power.power_state": "P0",
        "remapped_rows.pending": False, "repair.channel_pending": False, "ecc.sram.volatile.uncorrectable": 3,
    },
    {},
)  # fmt: skip


def over(*buckets: dict[Any, Any]) -> dict[str, Any]:
    made = following.device(BASE, merging.laid_over(BASE, buckets), following.overridden(*buckets))
    return dict(made.values)


@pytest.mark.parametrize(
    ("bucket", "changed"),
    [
        ({"thermal": {"temperature_gpu_c": 80}}, {"thermal.temperature_gpu_c": 80, "thermal.tlimit.margin_c": 7}),
        ({"thermal": {"temperature_gpu_c": 95}}, {"thermal.temperature_gpu_c": 95, "thermal.tlimit.margin_c": -8}),
        ({"thermal": {"temperature_gpu_c": 80, "tlimit": {"margin_c": 1}}}, {"thermal.temperature_gpu_c": 80, "thermal.tlimit.margin_c": 1}),
        ({"power": {"current_draw_mw": 5}}, {"power.current_draw_mw": 5, "power.average_draw_mw": 5}),
        ({"power": {"enforced_limit_mw": 9}}, {"power.enforced_limit_mw": 9, "power.requested_limit_mw": 9}),
        ({"power": {"requested_limit_mw": 9}}, {"power.requested_limit_mw": 9}),
        ({"performance_state": "P8"}, {"performance_state": "P8", "power.power_state": "P8"}),
        ({"ecc": {"sram": {"volatile": {"uncorrectable_parity": 5, "uncorrectable_secded": 2}}}},
         {"ecc.sram.volatile.uncorrectable_parity": 5, "ecc.sram.volatile.uncorrectable_secded": 2, "ecc.sram.volatile.uncorrectable": 7}),
    ],
)  # fmt: skip
def test_a_reading_moves_with_the_one_that_is_overridden(bucket: dict[Any, Any], changed: dict[str, Any]) -> None:
    assert over(bucket) == {**BASE.values, **changed}


def test_what_is_worked_out_from_the_overridden_is_worked_out_again() -> None:
    made = over({"remapped_rows": {"pending": True}})
    assert made["remapped_rows.pending"] is True
    assert "repair.channel_pending" not in made


def test_a_follower_that_the_board_has_not_is_none() -> None:
    assert "power.instant_draw_mw" not in over({"power": {"current_draw_mw": 5}})
    assert over({"thermal": None}).keys() & {"thermal.temperature_gpu_c", "thermal.tlimit.margin_c"} == set()


REFUSED = "power.smoothing.enabled"


@pytest.mark.parametrize(("bucket", "refused"), [
    ({"power": {"smoothing": {"state": "enabled"}}}, False), ({"power": {"smoothing": {"profiles": {1: {"percent_tmp_floor": 5}}}}}, False),
    ({"power": {"smoothing": {"state": None}}}, True), ({"power": {"current_draw_mw": 5}}, True),
    ({"power": {"smoothing": {"state": "enabled"}}, "states": {REFUSED: "no_permission"}}, True),
])  # fmt: skip
def test_a_feature_that_is_refused_is_there_once_one_of_its_keys_is_given(bucket: dict[Any, Any], refused: bool) -> None:
    base = Device(BASE.values, {REFUSED: State.NO_PERMISSION, "serial": State.NOT_SUPPORTED})
    made = following.device(base, merging.laid_over(base, (bucket,)), following.overridden(bucket))
    assert made.states == {"serial": State.NOT_SUPPORTED, **({REFUSED: State.NO_PERMISSION} if refused else {})}
