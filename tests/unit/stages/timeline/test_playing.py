"""A time line in an image: what becomes a field's track, what is served by its samples, and that nothing else moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from harness.stages.timeline.playing import play
from harness.text.timeline_model import Reading, TimeLine, readings_of
from mocklib.answers import Asked
from mocklib.binding import Answer
from mocklib.spec import FieldId, FieldValue, ImageError, ImageSpec, Recorded, Track

POWER = Asked("nvmlDeviceGetPowerUsage", 0)
BY_ID = Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", 186), ("scopeId", 0)))
MEMORY = Asked("nvmlDeviceGetMemoryInfo", 0)
MEMORY_V2 = Asked("nvmlDeviceGetMemoryInfo_v2", 0)
FAN = Asked("nvmlDeviceGetFanSpeed_v2", 0, (("fan", 0),))
NAME = Asked("nvmlDeviceGetName", 0)
MARGIN = Asked("nvmlDeviceGetMarginTemperature", 0)
FIELDS = {
    "power.current_draw_mw": 100, "memory.total_bytes": 900, "memory.free_bytes": 800, "memory.used_bytes": 100, "memory.v1_used_bytes": 100,
    "memory.reserved_bytes": 0, "fan.count": 1, "fan.speed_percent": 30, "thermal.tlimit.margin_c": -5,
}  # fmt: skip
SPEC = ImageSpec(devices=[{name: FieldValue(value) for name, value in FIELDS.items()}], field_ids=[FieldId(186, 0, "power.current_draw_mw")])
START, PERIOD = 5_000, 100


def played(*calls: tuple[Asked, list[Answer]], spec: ImageSpec = SPEC, loop: bool = False) -> ImageSpec:
    """``SPEC`` with a time line of these calls."""
    readings: list[Reading] = []
    for asked, answers in calls:
        readings += readings_of(asked, answers)
    return play(TimeLine(PERIOD, 1, len(calls[0][1]), tuple(readings)), spec, START, loop=loop)


def numbers(member: str, *values: Any) -> list[Answer]:
    return [Answer(0, {member: value}) for value in values]


def tracks(made: ImageSpec) -> Mapping[str, tuple[int, ...]]:
    """Field -> samples of every field that moves on GPU 0."""
    return {name: made.tracks[value.rate].samples for name, value in made.devices[0].items() if value.kind == 2}


def test_a_number_that_is_a_field_becomes_its_track() -> None:
    made = played((POWER, numbers("power", 100, 120, 90)), loop=True)
    assert made.devices[0]["power.current_draw_mw"] == FieldValue(100, kind=2, rate=0)
    assert made.tracks == (Track((100, 120, 90), PERIOD, START, loop=True),)
    assert made.answers == ()
    assert {name: value for name, value in made.devices[0].items() if value.kind == 0} == {
        name: value for name, value in SPEC.devices[0].items() if name != "power.current_draw_mw"
    }


def test_what_a_reading_follows_again_when_a_setter_lets_go_of_it_moves_along() -> None:
    spec = ImageSpec(devices=[{name: FieldValue(800) for name in ("clocks.sm_current", "clocks.unlocked.sm_mhz")}])
    made = played((Asked("nvmlDeviceGetClockInfo", 0, (("type", 1),)), numbers("clock", 800, 900, 700)), spec=spec)
    assert tracks(made) == dict.fromkeys(("clocks.sm_current", "clocks.unlocked.sm_mhz"), (800, 900, 700))
    assert len(made.tracks) == 1


def test_a_field_below_zero_moves_too() -> None:
    made = played((MARGIN, numbers("marginTempInfo.marginTemperature", -5, -6, 4)))
    assert tracks(made) == {"thermal.tlimit.margin_c": (-5, -6, 4)}


def test_another_call_of_the_field_that_moved_alike_moves_along() -> None:
    made = played((POWER, numbers("power", 100, 120)), (BY_ID, [Answer(0, {"valueType": 1, "value": value}) for value in (100, 120)]))
    assert tracks(made) == {"power.current_draw_mw": (100, 120)}
    assert made.answers == ()


@pytest.mark.parametrize("values", [(100, 121), (100, 100)])
def test_another_call_of_the_field_that_moved_otherwise_or_stayed_is_served_by_its_samples(values: tuple[int, int]) -> None:
    answers = [Answer(0, {"valueType": 1, "value": value}) for value in values]
    made = played((POWER, numbers("power", 100, 120)), (BY_ID, answers))
    assert tracks(made) == {"power.current_draw_mw": (100, 120)}
    stays = values[0] == values[1]
    assert made.answers == (Recorded(BY_ID, answers[0]) if stays else Recorded(BY_ID, answers[0], tuple(answers), PERIOD, START),)


def test_members_of_a_struct_move_each_by_its_field() -> None:
    first = [Answer(0, {"memory.total": 900, "memory.free": 900 - used, "memory.used": used}) for used in (100, 200)]
    second = [Answer(0, {"memory.total": 900, "memory.reserved": 0, "memory.free": 900 - used, "memory.used": used}) for used in (100, 200)]
    made = played((MEMORY, first), (MEMORY_V2, second))
    assert tracks(made) == {"memory.free_bytes": (800, 700), "memory.v1_used_bytes": (100, 200), "memory.used_bytes": (100, 200)}
    assert made.answers == ()


def test_a_code_in_the_middle_is_served_as_an_answer_and_is_no_number() -> None:
    answers = [Answer(0, {"power": 100}), Answer(15), Answer(0, {"power": 120})]
    made = played((POWER, answers))
    assert tracks(made) == {}
    assert made.answers == (Recorded(POWER, answers[0], tuple(answers), PERIOD, START),)


@pytest.mark.parametrize(
    ("asked", "answers"),
    [
        (NAME, numbers("name", "one", "two")),
        (FAN, numbers("speed", 30, 40)),  # its handler is C
        (POWER, numbers("power", 99, 120)),  # the profile says 100
        (POWER, numbers("power", 100, 1 << 32)),  # more than the field's 32 bits
        (BY_ID, [Answer(0, {"valueType": 0, "value": value}) for value in (100.0, 120.5)]),
        (Asked("nvmlDeviceGetAPIRestriction", 0, (("apiType", 0),)), numbers("isRestricted", 0, 1)),
        (Asked("nvmlSystemGetHicVersion"), [Answer(3), Answer(999)]),
    ],
)
def test_what_no_field_gives_is_served_by_its_samples(asked: Asked, answers: list[Answer]) -> None:
    made = played((asked, answers))
    assert tracks(made) == {}
    assert made.answers == (Recorded(asked, answers[0], tuple(answers), PERIOD, START),)


def test_a_call_whose_handler_is_c_is_held_to_its_samples_where_its_field_moves() -> None:
    made = played((Asked("nvmlDeviceGetFanSpeed", 0), numbers("speed", 30, 40)), (FAN, numbers("speed", 30, 30)))
    assert tracks(made) == {"fan.speed_percent": (30, 40)}
    assert made.answers == (Recorded(FAN, Answer(0, {"speed": 30})),)


def test_a_call_of_the_recording_that_stayed_is_held_where_its_field_moves_and_no_other_is() -> None:
    recording = {POWER: Answer(0, {"power": 100}), BY_ID: Answer(0, {"valueType": 1, "value": 100}), NAME: Answer(3), MEMORY: Answer(4)}
    line = TimeLine(PERIOD, 1, 2, readings_of(POWER, numbers("power", 100, 120)))
    assert play(line, SPEC, START, loop=False, recording=recording).answers == (Recorded(BY_ID, recording[BY_ID]),)


def test_a_residual_answer_that_moved_is_replaced_by_its_samples_and_the_others_stay() -> None:
    spec = ImageSpec(devices=SPEC.devices, answers=(Recorded(POWER, Answer(0, {"power": 7})), Recorded(NAME, Answer(4))))
    answers = numbers("power", 7, 8)
    made = played((POWER, answers), spec=spec)
    assert made.answers == (Recorded(POWER, answers[0], tuple(answers), PERIOD, START), Recorded(NAME, Answer(4)))
    assert tracks(made) == {}


def test_a_gpu_that_the_profile_has_not_is_refused() -> None:
    with pytest.raises(ImageError, match="GPU 1 moves, and the profile has 1 GPUs"):
        played((Asked("nvmlDeviceGetPowerUsage", 1), numbers("power", 1, 2)))


def test_nothing_moves_without_readings() -> None:
    assert play(TimeLine(PERIOD, 1, 5), SPEC, START, loop=False) == SPEC


@pytest.mark.parametrize(("values", "becomes"), [((7, 9), FieldValue(7, kind=2, rate=0)), ((7, 7), FieldValue(7))])
def test_what_would_grow_by_itself_moves_as_the_line_says_or_not_at_all(values: tuple[int, int], becomes: FieldValue) -> None:
    energy, growing = Asked("nvmlDeviceGetTotalEnergyConsumption", 0), "power.total_energy_consumption_mj"
    spec = ImageSpec(devices=[{**SPEC.devices[0], growing: FieldValue(7, kind=1, rate=3), "utilization.gpu": FieldValue(1, kind=1, rate=2)}])
    made = played((energy, numbers("energy", *values)), spec=spec)
    assert made.devices[0][growing] == becomes
    assert made.devices[0]["utilization.gpu"] == FieldValue(1, kind=1, rate=2), "nothing was sampled that answers from it"
    assert made.answers == ()
