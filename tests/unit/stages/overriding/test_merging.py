"""How overrides lie over one another and over a GPU of the profile."""

from __future__ import annotations

from typing import Any

import pytest

from harness.stages.overriding import merging
from harness.stores.profiles import Device
from harness.words.state import State

DEVICE = Device(
    {
        "index": 0, "thermal.temperature_gpu_c": 33, "thermal.shutdown_threshold_c": 90, "fan.count": 2,
        "clocks.locked_graphics": {"min_mhz": 300, "max_mhz": 900}, "processes": [{"pid": 1}, {"pid": 2}], "nvlink.c2c_enabled": True,
    },
    {"power.current_draw_mw": State.GPU_LOST, "ecc.mode_current": State.NOT_SUPPORTED},
)  # fmt: skip


def over(*buckets: dict[Any, Any]) -> Device:
    return merging.device_of(DEVICE, merging.laid_over(DEVICE, buckets))


def test_nothing_over_a_gpu_leaves_it_as_it_is() -> None:
    assert over() == over({}) == DEVICE


@pytest.mark.parametrize(
    ("bucket", "key", "value"),
    [
        ({"thermal": {"temperature_gpu_c": 80}}, "thermal.temperature_gpu_c", 80),
        ({"thermal": {"temperature_gpu_c": 80}}, "thermal.shutdown_threshold_c", 90),
        ({"processes": [{"pid": 7}]}, "processes", [{"pid": 7}]),
        ({"clocks": {"locked_graphics": {"max_mhz": 800}}}, "clocks.locked_graphics", {"min_mhz": 300, "max_mhz": 800}),
        ({"clocks": {"locked_graphics": None}}, "clocks.locked_graphics", None),
        ({"thermal": None}, "thermal.shutdown_threshold_c", None),
        ({"thermal": {}}, "thermal.shutdown_threshold_c", 90),
        ({"fan": None}, "nvlink.c2c_enabled", True),
        ({"pcie": {"replay_counter": 2**63 + 1}}, "pcie.replay_counter", 2**63 + 1),
    ],
)
@pytest.mark.spec("Y02")
def test_mappings_merge_lists_and_scalars_replace_null_takes_away(bucket: dict[Any, Any], key: str, value: object) -> None:
    assert over(bucket).values.get(key) == value


@pytest.mark.spec("Y02")
def test_the_gpus_own_stands_over_that_of_all() -> None:
    shared, own = {"fan": {"count": 1}, "thermal": {"temperature_gpu_c": 50}}, {"thermal": {"temperature_gpu_c": 60}}
    assert (over(shared, own).values["fan.count"], over(shared, own).values["thermal.temperature_gpu_c"]) == (1, 60)
    assert over({"thermal": None}, own).values.get("thermal.shutdown_threshold_c") is None
    assert over({"thermal": None}, own).values["thermal.temperature_gpu_c"] == 60


def test_a_value_takes_the_place_of_a_state_and_a_state_that_of_a_value() -> None:
    assert "power.current_draw_mw" not in over({"power": {"current_draw_mw": 5}}).states
    assert "power.current_draw_mw" not in over({"power": None}).states
    assert "ecc.mode_current" in over({"power": None}).states
    lost = over({"states": {"fan.count": "gpu_lost"}})
    assert (lost.states["fan.count"], lost.values.get("fan.count")) == (State.GPU_LOST, None)
    assert over({"states": {"fan.count": "gpu_lost"}}, {"fan": {"count": 4}}).values["fan.count"] == 4
    assert "fan.count" not in over({"states": {"fan.count": "gpu_lost"}}, {"fan": {"count": 4}}).states
    assert over({"states": {"ecc.mode_current": None}}).states.keys() == {"power.current_draw_mw"}


def test_changes_of_one_bucket_are_as_one_bucket_over_the_other() -> None:
    first, second = {"fan": {"count": 1}, "thermal": None}, {"fan": {"speed_percent": "40"}, "thermal": {"temperature_gpu_c": 5}}
    opened = merging.opened(first, second, merging.tree_of(DEVICE))
    assert over(merging.merge(opened, second)) == over(first, second)
    assert merging.merge(first, second)["fan"] == {"count": 1, "speed_percent": "40"}
    assert first == {"fan": {"count": 1}, "thermal": None}, "what is merged stays as it is"


def test_the_paths_of_a_bucket_are_its_keys() -> None:
    bucket = {"thermal": None, "fan": {"count": 1, "speed_percent": None}, "clocks": {"locked_graphics": {"min_mhz": 1}},
              "states": {"name": "gpu_lost"}}  # fmt: skip
    assert set(merging.paths(bucket)) == {"thermal", "fan.count", "fan.speed_percent", "clocks.locked_graphics", "name"}
