"""Dynamic metrics: what is drawn for a loop, that its end meets its beginning, and that a seed says all of it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import yaml

from harness.stages import compile as compiling
from harness.stages.compile_randoms import Randoms, of_device, randoms
from harness.stores import profiles
from harness.tables import drivers
from harness.words.errors import InputError
from mocklib.image import FieldValue, ImageSpec, Track
from tests.unit.stores.key_samples import nested

SECOND = 1_000_000_000
THERMAL = {"thermal.temperature_gpu_c": 40, "thermal.shutdown_threshold_c": 92}


def spec(values: dict[str, Any], seed: int = 1, count: int = 1, states: dict[str, str] | None = None) -> ImageSpec:
    """The image of ``count`` GPUs with the same dotted keys."""
    devices = [{"index": index, **nested({"architecture": "hopper", **values}), "states": states or {}} for index in range(count)]
    document = {"version": "1.0", "system": {"driver_version": "580.105.08"}, "devices": devices}
    profile = profiles.parse(yaml.safe_dump(document).encode(), "p.yaml")
    return compiling.compile_profile(profile, drivers.load().resolve("580.105.08"), seed)


def dynamic(block: str, **members: Any) -> dict[str, Any]:
    return {f"dynamic_metrics.{block}.{name}": value for name, value in members.items()}


def track(made: ImageSpec, name: str, device: int = 0) -> Track:
    value = made.devices[device][name]
    assert value.kind == 2, f"{name} stands: {value}"
    assert value.value == made.tracks[value.rate].samples[0]
    return made.tracks[value.rate]


@pytest.mark.spec("U02", "G10")
def test_the_temperature_is_its_base_and_one_swing_of_the_ramp() -> None:
    found = track(spec({**THERMAL, **dynamic("temperature", base_c=50, ramp_c=20, ramp_period_sec=120)}), "thermal.temperature_gpu_c")
    assert (len(found.samples), found.period_ns, found.start_ns, found.loop) == (120, SECOND, 0, True)
    assert [found.samples[at] for at in (0, 30, 60, 90)] == [60, 70, 60, 50]
    assert max(abs(one - other) for one, other in itertools.pairwise((*found.samples, found.samples[0]))) <= 1, "the end meets the beginning"


@pytest.mark.spec("U02")
def test_the_temperatures_noise_is_within_its_variance_and_its_period_a_minute() -> None:
    still = track(spec({**THERMAL, **dynamic("temperature", base_c=50, ramp_c=20)}), "thermal.temperature_gpu_c").samples
    noisy = track(spec({**THERMAL, **dynamic("temperature", base_c=50, ramp_c=20, variance_c=3)}), "thermal.temperature_gpu_c").samples
    assert len(still) == len(noisy) == 60
    assert {one - other for one, other in zip(noisy, still, strict=True)} == set(range(-3, 4))


@pytest.mark.spec("U02")
def test_the_temperature_stays_between_zero_and_the_shutdown_threshold() -> None:
    hot = track(spec({**THERMAL, **dynamic("temperature", base_c=85, ramp_c=20)}), "thermal.temperature_gpu_c").samples
    cold = track(spec({**THERMAL, **dynamic("temperature", base_c=1, variance_c=9)}), "thermal.temperature_gpu_c").samples
    assert (max(hot), min(cold)) == (92, 0)
    assert max(track(spec(dynamic("temperature", base_c=95, ramp_c=20)), "thermal.temperature_gpu_c").samples) == 115, "unknown, it caps nothing"


def test_the_margin_moves_against_the_temperature() -> None:
    made = spec({**THERMAL, "thermal.slowdown_threshold_c": 87, **dynamic("temperature", base_c=50, ramp_c=20)})
    both = zip(track(made, "thermal.temperature_gpu_c").samples, track(made, "thermal.tlimit.margin_c").samples, strict=True)
    assert {temperature + margin for temperature, margin in both} == {87}


@pytest.mark.spec("U03", "F30")
def test_the_power_is_its_base_and_noise_within_the_limits() -> None:
    free = track(spec(dynamic("power", base_mw=250_000, variance_mw=50_000)), "power.current_draw_mw").samples
    assert 200_000 <= min(free) < 225_000
    assert 275_000 < max(free) <= 300_000
    limits = {"power.min_limit_mw": 240_000, "power.max_limit_mw": 260_000}
    held = track(spec({**limits, **dynamic("power", base_mw=250_000, variance_mw=50_000)}), "power.current_draw_mw").samples
    assert (min(held), max(held)) == (240_000, 260_000)


def test_all_readings_of_the_draw_that_the_board_has_are_one() -> None:
    given = {"power.current_draw_mw": 1, "power.average_draw_mw": 2, **dynamic("power", base_mw=250_000, variance_mw=50_000)}
    made = spec(given)
    assert track(made, "power.current_draw_mw").samples == track(made, "power.average_draw_mw").samples
    assert track(made, "power.current_draw_mw").samples == track(made, "power.instant_draw_mw").samples
    assert made.devices[0]["power.module.average_draw_mw"] == FieldValue(status=3)


@pytest.mark.spec("U04")
@pytest.mark.parametrize(
    ("pattern", "least", "most"),
    [(None, 10, 50), ("steady", 10, 50), ("idle", 10, 20), ("busy", 40, 50)],
)
def test_utilization_is_of_the_band_or_of_a_quarter_of_it(pattern: str | None, least: int, most: int) -> None:
    block = dynamic("utilization", gpu_min=10, gpu_max=50, memory_min=10, memory_max=50, **({} if pattern is None else {"pattern": pattern}))
    for engine in ("gpu", "memory"):
        samples = track(spec(block), f"utilization.{engine}").samples
        assert least <= min(samples) < least + 5
        assert most - 5 < max(samples) <= most


@pytest.mark.spec("U04")
def test_a_burst_follows_as_long_an_idle_time() -> None:
    found = track(spec(dynamic("utilization", pattern="burst", burst_period_sec=45, gpu_min=10, gpu_max=50)), "utilization.gpu")
    assert len(found.samples) * found.period_ns == 90 * SECOND
    half = len(found.samples) // 2
    assert 10 <= min(found.samples[:half]) <= max(found.samples[:half]) <= 20
    assert 40 <= min(found.samples[half:]) <= max(found.samples[half:]) <= 50
    whole = track(spec(dynamic("utilization", pattern="burst")), "utilization.gpu")
    assert len(whole.samples) * whole.period_ns == 60 * SECOND
    assert (min(whole.samples) <= 25, max(whole.samples) >= 75, max(whole.samples) <= 100) == (True, True, True)


@pytest.mark.spec("U06", "U08")
def test_a_block_of_utilization_alone_leaves_temperature_and_power_alone() -> None:
    """The block of the reference's shipped profiles: 10 to 45 % of the GPU and 5 to 25 % of its memory, never 0."""
    block = dynamic("utilization", pattern="steady", gpu_min=10, gpu_max=45, memory_min=5, memory_max=25)
    made = spec({**THERMAL, "power.current_draw_mw": 70_000, **block})
    assert {name for name, value in made.devices[0].items() if value.kind} == {"utilization.gpu", "utilization.memory"}
    assert 10 <= min(track(made, "utilization.gpu").samples) <= max(track(made, "utilization.gpu").samples) <= 45
    assert 5 <= min(track(made, "utilization.memory").samples) <= max(track(made, "utilization.memory").samples) <= 25


@pytest.mark.spec("X22", "K02")
def test_a_block_masks_the_static_reading_and_a_state_masks_the_block() -> None:
    values = {**THERMAL, "utilization.gpu": 7, **dynamic("temperature", base_c=50), **dynamic("utilization", gpu_min=30, gpu_max=30, memory_max=9)}
    made = spec(values, states={"utilization.memory": "not_supported"}).devices[0]
    assert made["thermal.temperature_gpu_c"] == FieldValue(50), "one that never moves stands"
    assert (made["utilization.gpu"], made["utilization.memory"]) == (FieldValue(30), FieldValue(status=3))


@pytest.mark.spec("U01")
def test_a_seed_says_every_sample_and_none_is_the_nodes() -> None:
    block = dynamic("power", base_mw=250_000, variance_mw=50_000)
    own = [track(spec({**block, "dynamic_metrics.seed": 7}, seed), "power.current_draw_mw") for seed in (1, 2)]
    assert own[0] == own[1]
    assert own[0] != track(spec({**block, "dynamic_metrics.seed": 8}), "power.current_draw_mw")
    of_node = [track(spec({**block, "dynamic_metrics.seed": 0}, seed), "power.current_draw_mw") for seed in (1, 2, 1)]
    assert (of_node[0] == of_node[2], of_node[0] == of_node[1]) == (True, False)
    both = spec(block, count=2)
    assert track(both, "power.current_draw_mw", 0) != track(both, "power.current_draw_mw", 1)


@pytest.mark.spec("U01")
def test_the_generator_is_the_published_one() -> None:
    """The first words of the two seeds 1 and 2, as the reference implementation of PCG-DXSM gives them."""
    numbers = Randoms(1, 2)
    assert [numbers.word() for _ in range(3)] == [0xC4F5A58656EEF510, 0x9DCEC3AD077DEC6C, 0xC8D04605312F8088]
    assert (randoms(5, 0).word(), randoms(5, 0).word()) == (Randoms(5, 5 ^ 0x9E3779B97F4A7C15).word(),) * 2
    assert len({randoms(5, stream).word() for stream in range(3)}) == 3
    assert len({of_device(1, index) for index in range(64)}) == 64


def test_numbers_within_a_range_reach_both_ends_and_an_empty_range_is_its_start() -> None:
    numbers = Randoms(3, 4)
    assert {numbers.within(-2, 2) for _ in range(200)} == {-2, -1, 0, 1, 2}
    assert numbers.within(5, 5) == numbers.within(5, 1) == 5


@pytest.mark.parametrize(("period", "samples"), [(0, 60), (1e-300, 60), (0.5, 60), (600, 240), (1e12, 240)])
def test_a_loop_is_small_however_long_its_period(period: float, samples: int) -> None:
    found = track(spec(dynamic("temperature", ramp_c=40, ramp_period_sec=period)), "thermal.temperature_gpu_c")
    assert len(found.samples) == samples
    assert found.period_ns == max(round((period or 60) * SECOND) // samples, 1000)


def test_a_metric_that_has_no_room_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"device 0: dynamic_metrics: thermal.temperature_gpu_c: 4294967305 does not fit the 32 bits"):
        spec(dynamic("temperature", base_c=2**32 - 1, ramp_c=10))
