"""The driver's samples: twenty of what is read now, one at each full second, and what the call says of lists, instants and boards without them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mocklib.image import FieldValue, Track
from tests.contract import boards, tuned

Serve = Callable[..., Any]
NEWEST_S = boards.AT_NS // 1_000_000_000
KINDS = {
    0: "power__current_draw_mw", 1: "utilization__gpu", 2: "utilization__memory", 3: "utilization__encoder", 4: "utilization__decoder",
    5: "clocks__graphics_current", 6: "clocks__memory_current", 8: "utilization__jpeg", 9: "utilization__ofa",
}  # fmt: skip
MODULE_POWER = 7


def board(**held: FieldValue) -> Any:
    return boards.spec(devices=[boards.device(0, **{"mig__mode_current": FieldValue(0), **held})])


def asked(nvml: Any, handle: int, kind: int, seen: int = 0) -> Any:
    return nvml.call("nvmlDeviceGetSamples", handle, {"type": kind, "lastSeenTimeStamp": seen})


def listed(nvml: Any, handle: int, capacity: int) -> tuple[int, int, list[int]]:
    """(code, count, full seconds of the samples) of a list with room for ``capacity``."""
    entries = nvml.ffi.new("nvmlSample_t[]", max(capacity, 1))
    kind, count = nvml.ffi.new("nvmlValueType_t *"), nvml.ffi.new("unsigned int *", capacity)
    code = nvml.library.nvmlDeviceGetSamples(nvml.ffi.cast("nvmlDevice_t", handle), 1, 0, kind, count, entries)
    return int(code), int(count[0]), [entries[at].timeStamp // 1_000_000 for at in range(count[0] if code == 0 else 0)]


@pytest.mark.spec("U15")
@pytest.mark.parametrize("kind", KINDS)
def test_twenty_samples_a_second_apart_are_what_is_read_now(serve: Serve, kind: int) -> None:
    nvml, handle = serve(board(**{name: FieldValue(100 + other) for other, name in KINDS.items()}))
    answer = asked(nvml, handle, kind)
    value = (100 + kind).to_bytes(8, "little")
    times = [(NEWEST_S - 19 + number) * 1_000_000 for number in range(20)]
    assert answer.out["samples"] == [{"timeStamp": time, "sampleValue": value} for time in times]
    assert (answer.code, answer.out["sampleValType"]) == (0, 1)


@pytest.mark.spec("U15")
@pytest.mark.parametrize(("seen_s", "number"), [(NEWEST_S - 3, 3), (NEWEST_S - 1, 1), (NEWEST_S - 100, 20)])
def test_only_samples_newer_than_the_last_seen_are_given(serve: Serve, seen_s: int, number: int) -> None:
    nvml, handle = serve(board(utilization__gpu=FieldValue(7)))
    answer = asked(nvml, handle, 1, seen_s * 1_000_000)
    assert [sample["timeStamp"] // 1_000_000 for sample in answer.out["samples"]] == list(range(NEWEST_S - number + 1, NEWEST_S + 1))


@pytest.mark.spec("U15")
def test_none_that_is_newer_is_not_found(serve: Serve) -> None:
    nvml, handle = serve(board(utilization__gpu=FieldValue(7)))
    assert [asked(nvml, handle, 1, second * 1_000_000).code for second in (NEWEST_S, NEWEST_S + 1)] == [6, 6]


def test_a_list_gets_as_many_as_it_has_room_for_and_none_at_all_is_invalid(serve: Serve) -> None:
    nvml, handle = serve(board(utilization__gpu=FieldValue(7)))
    assert listed(nvml, handle, 3) == (0, 3, [NEWEST_S - 19, NEWEST_S - 18, NEWEST_S - 17])
    assert listed(nvml, handle, 0)[0] == 2
    assert asked(nvml, handle, 10).code == 2


@pytest.mark.spec("U15")
def test_a_reading_that_is_a_state_has_no_samples_and_module_power_has_none(serve: Serve) -> None:
    nvml, handle = serve(board(utilization__gpu=FieldValue(status=15), utilization__memory=FieldValue(status=3)))
    assert [asked(nvml, handle, kind).code for kind in (1, 2, MODULE_POWER)] == [15, 3, 3]


@pytest.mark.spec("U15")
def test_with_mig_on_the_four_engines_have_no_samples(serve: Serve) -> None:
    values = {name: FieldValue(5) for name in KINDS.values()}
    nvml, handle = serve(board(mig__mode_current=FieldValue(1), **values))
    assert {kind: asked(nvml, handle, kind).code for kind in KINDS} == {kind: 3 if kind in (1, 2, 3, 4) else 0 for kind in KINDS}


@pytest.mark.spec("U15")
def test_samples_of_a_field_that_moves_are_its_history_the_same_for_every_process(serve: Serve, clock: Callable[[int], None]) -> None:
    """A track of a sample a second that began ten seconds ago: before it, the history is its first sample."""
    start = (NEWEST_S - 9) * 1_000_000_000
    spec = replace(board(utilization__gpu=FieldValue(0, kind=2, rate=0)), tracks=(Track(tuple(range(10, 30)), 1_000_000_000, start, loop=True),))
    nvml, handle = serve(spec)
    assert values(nvml, handle) == [10] * 10 + list(range(10, 20))
    clock(boards.AT_NS + 11 * 1_000_000_000 + 999_999_999)
    assert values(nvml, handle) == [*range(11, 30), 10]
    assert nvml.call("nvmlDeviceGetUtilizationRates", handle, {}).out["utilization.gpu"] == 10, "the newest is what is read now"


def values(nvml: Any, handle: int) -> list[int]:
    """The samples of the GPU's utilization."""
    return [int.from_bytes(sample["sampleValue"], "little") for sample in asked(nvml, handle, 1).out["samples"]]


@pytest.mark.spec("U15")
def test_the_samples_of_a_board_of_the_repository_end_with_what_is_read_now(serve: Serve) -> None:
    given = {"utilization": {"gpu": 81, "memory": 31, "encoder": 3, "decoder": 4, "jpeg": 5, "ofa": 6}, "power": {"current_draw_mw": 301000},
             "clocks": {"graphics_current": 1207, "memory_current": 2619}}  # fmt: skip
    nvml, handle = serve(tuned.shipped("h100-sxm5-x8_580.105.08", given))
    wanted = {0: 301000, 1: 81, 2: 31, 3: 3, 4: 4, 5: 1207, 6: 2619, 8: 5, 9: 6}
    for kind, value in wanted.items():
        samples = asked(nvml, handle, kind).out["samples"]
        assert {int.from_bytes(sample["sampleValue"], "little") for sample in samples} == {value}
        assert [later["timeStamp"] - one["timeStamp"] for one, later in itertools.pairwise(samples)] == [1_000_000] * 19
        assert asked(nvml, handle, kind, samples[-1]["timeStamp"]).code == 6
    assert asked(nvml, handle, MODULE_POWER).code == 3
    nvml, handle = serve(tuned.shipped("h100-sxm5-x8_580.105.08", {**given, "mig": {"mode_current": "enabled"}}))
    assert {kind for kind in wanted if asked(nvml, handle, kind).code == 3} == {1, 2, 3, 4}
