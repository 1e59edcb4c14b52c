"""What moves with time: counters of what holds the clocks back, and the energy that is drawn."""

from __future__ import annotations

from typing import Any

import pytest

from harness.stores.schema import keys
from mocklib.image import FieldValue
from tests.unit.stages.test_compile_dynamic import dynamic, spec

COUNTERS = "clocks_throttle_reasons.counters."


def fields(values: dict[str, Any], states: dict[str, str] | None = None) -> dict[str, FieldValue]:
    return spec(values, states=states).devices[0]


@pytest.mark.spec("J10")
@pytest.mark.parametrize("reason", keys.COUNTED)
def test_the_counter_of_an_active_reason_grows_by_the_time_and_no_other(reason: str) -> None:
    made = fields({f"clocks_throttle_reasons.{reason}": True, f"{COUNTERS}{reason}_us": 39_595})
    assert made[f"{COUNTERS}{reason}_us"] == FieldValue(39_595_000, kind=1, rate=1_000_000_000)
    assert {name for name, value in made.items() if value.kind} == {f"{COUNTERS}{reason}_us"}


@pytest.mark.parametrize("reason", ["gpu_idle", "applications_clocks_setting", "hw_slowdown", "display_clocks_setting"])
def test_a_reason_without_a_counter_moves_none(reason: str) -> None:
    assert not [name for name, value in fields({f"clocks_throttle_reasons.{reason}": True}).items() if value.kind]


def test_a_counter_that_is_a_state_stays_one() -> None:
    made = fields({"clocks_throttle_reasons.sync_boost": True}, {f"{COUNTERS}sync_boost_us": "not_supported"})
    assert made[f"{COUNTERS}sync_boost_us"] == FieldValue(status=3)


@pytest.mark.spec("F10")
def test_the_energy_grows_by_the_draw_from_what_the_profile_says() -> None:
    energy = {"power.total_energy_consumption_mj": 12_345}
    name = "power.total_energy_consumption_mj"
    assert fields({**energy, "power.current_draw_mw": 68_570})[name] == FieldValue(12_345, kind=1, rate=68_570)
    assert fields({**energy, "power.average_draw_mw": 70_000})[name] == FieldValue(12_345, kind=1, rate=70_000)
    assert fields(energy)[name] == FieldValue(12_345), "a board that does not say what it draws"
    assert fields({"power.current_draw_mw": 68_570})[name] == FieldValue(status=3), "a board that does not count has no counter"


@pytest.mark.spec("F10")
def test_the_energy_of_a_draw_that_moves_grows_by_its_mean() -> None:
    made = spec({"power.total_energy_consumption_mj": 0, **dynamic("power", base_mw=250_000, variance_mw=50_000)})
    samples = made.tracks[made.devices[0]["power.current_draw_mw"].rate].samples
    assert made.devices[0]["power.total_energy_consumption_mj"].rate == sum(samples) // len(samples)
