"""Random time lines and random damage: the same time line and the same text come back, or one clear refusal does."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.text import timeline
from harness.text.timeline_model import TimeLine, answer_at, readings_of, same
from harness.words.errors import InputError
from mocklib.answers import Asked, Gpu
from mocklib.binding import FUNCTION_NOT_FOUND, Answer

FEW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

numbers = st.one_of(
    st.integers(0, 5), st.integers(-(1 << 63), (1 << 64) - 1), st.sampled_from([0, (1 << 64) - 1, -(1 << 63), (1 << 63) - 1, 1 << 63])
)
texts = st.sampled_from(["", " ", "a b", '"', "\\", "\\u0020", "*2", 'x"*3', "= 1", "!LOST", "\n", "caf\udce9", "\U0001f600"])
others = st.one_of(texts, st.floats(allow_nan=False, allow_infinity=False), st.binary(max_size=3), st.builds(Gpu, st.integers(0, 3)))
values: st.SearchStrategy[Any] = st.one_of(
    numbers, numbers, others, st.lists(numbers, max_size=2), st.lists(st.dictionaries(st.sampled_from(["pid", "name"]), st.one_of(numbers, texts)))
)
names = st.sampled_from(["power", "memory.total", "utilization[1].percentage", "-", "odd name", ""])
calls = st.builds(
    Asked,
    st.sampled_from(["nvmlDeviceGetPowerUsage", "nvmlDeviceGetClockInfo", "nvmlDeviceGetFieldValues"]),
    st.one_of(st.none(), st.integers(0, 3)),
    st.dictionaries(st.sampled_from(["type", "fieldId"]), st.one_of(numbers, texts, st.builds(Gpu, st.integers(0, 3)))).map(
        lambda given: tuple(given.items())
    ),
)
codes = st.sampled_from([3, 4, 15, 999, 1234]).map(Answer)
odd = st.sampled_from([Answer(3), Answer(FUNCTION_NOT_FOUND, missing=True), Answer(7, {"count": 3}), Answer(0), Answer(0, {"x": 1})])
EXTRA = ('"', " ", "0", "*9", "\n")


@st.composite
def tracks(draw: st.DrawFn, count: int) -> list[Answer]:
    """``count`` answers of one call, in runs, as a slow reading gives them."""
    members = draw(st.lists(names, min_size=1, max_size=2, unique=True))
    plain = st.fixed_dictionaries(dict.fromkeys(members, values)).map(lambda out: Answer(0, out))
    found: list[Answer] = []
    while len(found) < count:
        found += [draw(st.one_of(plain, plain, plain, codes, odd))] * draw(st.integers(1, count))
    return found[:count]


@st.composite
def lines(draw: st.DrawFn) -> TimeLine:
    """A time line of a few calls."""
    count = draw(st.integers(2, 9))
    asked = draw(st.lists(calls, max_size=4, unique=True))
    readings = tuple(itertools.chain.from_iterable(readings_of(call, draw(tracks(count))) for call in asked))
    late = tuple(sorted(draw(st.sets(st.integers(1, count - 1)))))
    return TimeLine(draw(st.integers(1, 10**12)), draw(st.integers(0, (1 << 64) - 1)), count, readings, late)


@FEW
@given(st.data())
def test_the_readings_of_answers_give_the_answers(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 9))
    answers = data.draw(tracks(count))
    readings = readings_of(Asked("nvmlDeviceGetPowerUsage", 0), answers)
    assert all(same(answer_at(readings, number), answer) for number, answer in enumerate(answers))


@FEW
@given(lines())
def test_a_time_line_is_read_back_as_it_was_and_written_as_it_was(line: TimeLine) -> None:
    text = timeline.dump(line)
    found = timeline.load(text, "timeline.txt")
    assert found == line
    assert all(same(list(ours.samples), list(theirs.samples)) for ours, theirs in zip(found.readings, line.readings, strict=True))
    assert timeline.dump(found) == text
    assert text.isascii()


@FEW
@given(lines(), st.data())
def test_a_damaged_time_line_is_refused_with_its_line_or_reads_as_what_it_says(line: TimeLine, data: st.DataObject) -> None:
    text = timeline.dump(line)
    place = data.draw(st.integers(0, len(text)))
    damaged = data.draw(
        st.sampled_from([text[:place], text[:place] + text[place + 1 :], *(text[:place] + extra + text[place:] for extra in EXTRA)])
    )
    said = damaged
    try:
        said = timeline.dump(timeline.load(damaged, "timeline.txt"))
    except InputError as error:
        message = str(error)
    else:
        message = "timeline.txt: read"
    assert said == damaged
    assert message.startswith("timeline.txt:")
    assert "\n" not in message
