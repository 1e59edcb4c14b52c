"""The text of a time line: what stands in a line, and one clear message for each kind of damage."""

from __future__ import annotations

import re

import pytest

from harness.text import timeline
from harness.text.timeline_model import MAX_SAMPLES, Code, Reading, TimeLine, answer_at, instant, instant_text, readings_of
from harness.words.errors import InputError
from mocklib.answers import Asked
from mocklib.binding import FUNCTION_NOT_FOUND, Answer

POWER = Asked("nvmlDeviceGetPowerUsage", 0)
CLOCK = Asked("nvmlDeviceGetClockInfo", 1, (("type", 0),))
MEMORY = Asked("nvmlDeviceGetMemoryInfo", 0)
STATE = Asked("nvmlDeviceGetPerformanceState", 0)
NAME = Asked("nvmlDeviceGetName", 2)
P8 = Answer(0, {"pState": 8})
EXAMPLE = TimeLine(
    1_500_000_000,
    instant("2026-08-21T08:54:01.250000000Z"),
    6,
    (
        Reading(POWER, "power", (68570, 68582, 68577, 68577, Code(15), 68570)),
        Reading(MEMORY, "memory.total", (1 << 40,) * 6),
        Reading(MEMORY, "memory.used", (0, (1 << 64) - 1, 0, 5, 10, 15)),
        Reading(CLOCK, "clock", (Code(3), Code(3), 345, Code(4), Code(4), 345)),
        Reading(STATE, None, (P8, Answer(3), Answer(3), P8, Answer(FUNCTION_NOT_FOUND, missing=True), Answer(0))),
        Reading(NAME, "name", ("a b", "a b", 'c"*2', "a b", "a b", "a b")),
    ),
    (2, 4, 5),
)  # fmt: skip
TEXT = r"""format: 1
recorded: 2026-08-21T08:54:01.250000000Z
interval_ns: 1500000000
count: 6
readings: 6
recorded_late: 2 4-5

gpu0 nvmlDeviceGetPowerUsage power = 68570 +12 -5 0 !GPU_IS_LOST -7
gpu0 nvmlDeviceGetMemoryInfo memory.total = 1099511627776
gpu0 nvmlDeviceGetMemoryInfo memory.used = 0 +18446744073709551615 -18446744073709551615 +5*3
gpu1 nvmlDeviceGetClockInfo {"type":0} clock = !NOT_SUPPORTED !NOT_SUPPORTED =345 !NO_PERMISSION*2 0
gpu0 nvmlDeviceGetPerformanceState - = SUCCESS{"pState":8} =NOT_SUPPORTED 0 =SUCCESS{"pState":8} =missing =SUCCESS
gpu2 nvmlDeviceGetName name = "a b" 0 ="c\"*2" ="a b" 0*2
"""
HEAD = "format: 1\nrecorded: 2026-08-21T08:54:01.250000000Z\ninterval_ns: 1000000000\ncount: 4\nreadings: {readings}\n\n"
POWER_LINE = "gpu0 nvmlDeviceGetPowerUsage power = 1\n"
LINE_DAMAGE = [
    ("gpu0 nvmlDeviceGetPowerUsage power = 1 +1", "2 samples, the head says 4"),
    ("gpu0 nvmlDeviceGetPowerUsage power = 1 +1*4", "more than 4 samples"),
    ("gpu0 nvmlDeviceGetPowerUsage power = 1 +1*9999999999", "more than 4 samples"),
    ("gpu0 nvmlDeviceGetPowerUsage power = 1 +18446744073709551615 0*2", "is beyond 64 bits"),
    ("gpu0 nvmlDeviceGetPowerUsage power = 1 -9223372036854775808*2 0", "is beyond 64 bits"),
    ("gpu0 nvmlDeviceGetPowerUsage power = 18446744073709551616 0*3", "more than 64 bits"),
    ("gpu0 nvmlDeviceGetPowerUsage power = 1 2*3", "'2*3' (sample 2) is no sample"),
    ("gpu0 nvmlDeviceGetPowerUsage power = 1 +0*3", "is no sample"),
    ("gpu0 nvmlDeviceGetPowerUsage power = 1 +1 +1 0", "not as nvparity writes it; write '*2 0'"),
    ("gpu0 nvmlDeviceGetPowerUsage power = 1 =2 0*2", "not as nvparity writes it"),
    ("gpu0 nvmlDeviceGetPowerUsage power = 1 0*3", "not as nvparity writes it"),
    ("gpu0 nvmlDeviceGetPowerUsage power = !NOT_SUPPORTED +5 0*2", "is a difference, and no number stands before it"),
    ("gpu0 nvmlDeviceGetPowerUsage power = !NOT_SUPPORTED 0*3", "0 repeats a value that stands before it"),
    ("gpu0 nvmlDeviceGetPowerUsage power = 1 =!NOT_SUPPORTED 0*2", "a code is !CODE"),
    ('gpu0 nvmlDeviceGetPowerUsage power = "x" +1 0*2', "is a difference, and no number stands before it"),
    ("gpu0 nvmlDeviceGetPowerUsage power = 1 !GPU_IS_LOSS 0*2", "(did you mean 'GPU_IS_LOST'?)"),
    ("gpu0 nvmlDeviceGetPowerUsage power = 1 !SUCCESS 0*2", "is no code that stands in place of a value"),
    ("gpu0 nvmlDeviceGetPowerUsage power = 1 !missing 0*2", "is no code that stands in place of a value"),
    ("gpu0 nvmlDeviceGetPowerUsage power = 1,2 0*3", "no JSON"),
    ('gpu0 nvmlDeviceGetPowerUsage power = 1,"":2', "stands twice"),
    ('gpu0 nvmlDeviceGetPowerUsage power = 1,"x":2', "is no value"),
    ("gpu0 nvmlDeviceGetPowerUsage power = [1 0*3", "no JSON"),
    ("gpu0 nvmlDeviceGetPowerUsage power = nul", "no JSON"),
    ("gpu0 nvmlDeviceGetPowerUsage power = null", "null"),
    ("gpu0 nvmlDeviceGetPowerUsage = 1 +1*3", "after the call stand the member"),
    ("gpu0 nvmlDeviceGetPowerUsage power =", "a line is the subject, the call, the member"),
    ("gpu0 nvmlDeviceGetPowerUsage power = 1  +1*3", "a line is the subject, the call, the member"),
    ("gpu0 nvmlDeviceGetPowerUsage 5x = 1 +1*3", "'5x' is no member"),
    ("gpu0 nvmlDeviceGetPowerUsag power = 1 +1*3", "(did you mean 'nvmlDeviceGetPowerUsage'?)"),
    ("gpu4000 nvmlDeviceGetPowerUsage power = 1 +1*3", "a line starts with `node` or `gpuN`"),
    ("gpu00 nvmlDeviceGetPowerUsage power = 1 +1*3", "a line starts with `node` or `gpuN`"),
    ("gpu nvmlDeviceGetPowerUsage power = 1 +1*3", "a line starts with `node` or `gpuN`"),
    ("gpu0 nvmlDeviceGetPowerUsage - = 1 0*3", "write: UNINITIALIZED"),
    ("gpu0 nvmlDeviceGetPowerUsage - = SUCCES 0*3", "(did you mean 'SUCCESS'?)"),
    ("gpu0 nvmlDeviceGetPowerUsage - = SUCCESS +1*3", "is a difference"),
]
FILE_DAMAGE = [
    (HEAD.format(readings=1), "0 readings, the head says 1"),
    (HEAD.format(readings=0).removesuffix("\n"), ":6: no empty line stands below the head"),
    (HEAD.format(readings=0).replace("format: 1", "format:  1"), ":1: ' 1' is no number from 1"),
    (HEAD.format(readings=1).replace("format: 1", "format: 9"), ":1: format 9 needs a newer nvparity"),
    (HEAD.format(readings=1).replace("recorded:", "recordet:"), ":2: 'recorded' stands here, not 'recordet: 2026-08-21"),
    (HEAD.format(readings=1).replace("T08:54", "T28:54"), ":2: '2026-08-21T28:54:01.250000000Z' is no instant"),
    (HEAD.format(readings=1).replace("2026-", "1926-"), "is not between 1970 and 2554"),
    (HEAD.format(readings=1).replace("interval_ns: 1", "interval_ns: 0"), ":3: '0000000000' is no number from 1"),
    (HEAD.format(readings=1).replace("count: 4", "count: 1000001"), ":4: '1000001' is no number from 1 to 1000000"),
    (HEAD.format(readings=1).replace("count: 4", "count: -4"), ":4: '-4' is no number"),
    (HEAD.format(readings=1).replace("count: 4\n", ""), ":4: 'count' stands here, not 'readings: 1'"),
    (HEAD.format(readings=1).replace("readings: 1", "readings: 1\nrecorded_late: 4"), ":6: '4' is no sample, or out of order"),
    (HEAD.format(readings=1).replace("readings: 1", "readings: 1\nrecorded_late: 2 1"), ":6: '1' is no sample, or out of order"),
    (HEAD.format(readings=1).replace("readings: 1", "readings: 1\nrecorded_late: 1 2"), ":6: not as nvparity writes it; write: 1-2"),
    (HEAD.format(readings=1).replace("readings: 1", "readings: 1\nrecorded_late: 1\nmore: 1"), "stand format, recorded, interval_ns"),
    (HEAD.format(readings=1) + "gpu0 nvmlDeviceGetPowerUsage power = 1 +1", "timeline.txt:7: the last line has no line end"),
    (
        HEAD.format(readings=3) + POWER_LINE + POWER_LINE.replace("gpu0", "gpu1") + POWER_LINE,
        "timeline.txt:9: nvmlDeviceGetPowerUsage stands above already",
    ),
    (HEAD.format(readings=2) + "gpu0 nvmlDeviceGetPowerUsage power = 1\ngpu0 nvmlDeviceGetPowerUsage power = 2\n", "stands twice"),
    (HEAD.format(readings=2) + "gpu0 nvmlDeviceGetPowerUsage power = 1\ngpu0 nvmlDeviceGetPowerUsage - = SUCCESS\n", "or beside the whole answer"),
    (
        HEAD.format(readings=2) + "gpu0 nvmlDeviceGetMemoryInfo memory.used = 1 !TIMEOUT 0*2\ngpu0 nvmlDeviceGetMemoryInfo memory.free = 1\n",
        "timeline.txt:8: its codes are not those of the line above",
    ),
]


def test_each_kind_of_sample_has_its_spelling() -> None:
    assert timeline.dump(EXAMPLE) == TEXT
    assert timeline.load(TEXT, "timeline.txt") == EXAMPLE


@pytest.mark.parametrize(("line", "said"), LINE_DAMAGE)
def test_a_damaged_line_is_refused_with_its_place(line: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        timeline.load(HEAD.format(readings=1) + line + "\n", "timeline.txt")
    assert str(caught.value).startswith("timeline.txt:7: ")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(("text", "said"), FILE_DAMAGE)
def test_a_damaged_file_is_refused_with_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        timeline.load(text, "timeline.txt")


def test_a_small_file_that_unfolds_beyond_the_limit_is_refused_before_it_is_unfolded() -> None:
    lines = "".join(f"gpu{gpu} nvmlDeviceGetPowerUsage power = 1 +1*999999\n" for gpu in range(5))
    assert MAX_SAMPLES < 5 * 1_000_000
    with pytest.raises(InputError, match=f"at most {MAX_SAMPLES} samples in all"):
        timeline.load(HEAD.format(readings=5).replace("count: 4", "count: 1000000") + lines, "timeline.txt")


def test_answers_without_members_in_common_stand_whole() -> None:
    for answers in ([Answer(0), Answer(3)], [Answer(0, {"a": 1}), Answer(0, {"b": 1})], [Answer(7, {"n": 1}), Answer(0, {"n": 1})]):
        (reading,) = readings_of(POWER, answers)
        assert reading.member is None
        assert [answer_at((reading,), number) for number in range(2)] == answers


def test_a_reading_moves_where_a_sample_differs_in_value_type_or_code() -> None:
    assert not Reading(POWER, "power", (1, 1)).moves
    assert Reading(POWER, "power", (1, 1.0)).moves
    assert Reading(POWER, "power", (0, Code(3))).moves
    assert not Reading(POWER, None, (Answer(0, {"a": 1}), Answer(0, {"a": 1}))).moves


def test_an_instant_is_exact_to_the_nanosecond() -> None:
    for nanoseconds in (0, 1, 999_999_999, (1 << 64) - 1):
        assert instant(instant_text(nanoseconds)) == nanoseconds
