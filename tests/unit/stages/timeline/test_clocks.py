"""``--clock``: which clock each word asks for, and one clear message for what is none."""

from __future__ import annotations

import re

import pytest

from harness.stages.timeline.clocks import choose, now_ns
from harness.words.errors import InputError, NvparityError, UsageError
from mocklib.spec import Clock

AT = 1_800_000_000_000_000_000
REAL = 1_900_000_000_000_000_000
OWN = Clock("frozen", AT)
SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("wanted", "clock"),
    [
        ("frozen", OWN),
        ("real", Clock("real")),
        ("play", Clock("scaled", AT, 1.0, REAL)),
        ("scaled:10", Clock("scaled", AT, 10.0, REAL)),
        ("scaled:0.25", Clock("scaled", AT, 0.25, REAL)),
        ("at:+90s", Clock("frozen", AT + 90 * SECOND)),
        ("at:+0s", OWN),
        ("at:+1.5m", Clock("frozen", AT + 90 * SECOND)),
        ("at:+250ms", Clock("frozen", AT + SECOND // 4)),
        ("at:+0.000000001s", Clock("frozen", AT + 1)),
        ("at:1970-01-01T00:00:01Z", Clock("frozen", SECOND)),
        ("at:1970-01-01T00:00:01.5Z", Clock("frozen", SECOND * 3 // 2)),
    ],
)
def test_each_word_asks_for_its_clock(wanted: str, clock: Clock) -> None:
    assert choose(wanted, OWN, REAL, "x.yaml") == clock


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("frozn", "no clock 'frozn' (did you mean 'frozen'?)"),
        ("", "no clock ''"),
        ("real:2", "no clock 'real:2'"),
        ("play:2", "no clock 'play:2'"),
        ("scaled:", "a speed is a number from 0.000001 to 1000000"),
        ("scaled:0", "a speed is a number"),
        ("scaled:-1", "a speed is a number"),
        ("scaled:1e3", "a speed is a number"),
        ("scaled:1000001", "a speed is a number"),
        ("at:", "an instant is written at:"),
        ("at:+90", "after + stand a number and its unit (ns, us, ms, s, m, h, d)"),
        ("at:+-90s", "after + stand a number and its unit"),
        ("at:+999999999999d", "is after 2554"),
        ("at:2026-02-30T00:00:00Z", "an instant is written at:"),
        ("at:1969-12-31T23:59:59Z", "is not between 1970 and 2554"),
        ("at:9999-12-31T23:59:59Z", "is not between 1970 and 2554"),
    ],
)
def test_what_is_no_clock_is_refused(wanted: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        choose(wanted, OWN, REAL, "x.yaml")


@pytest.mark.parametrize("wanted", ["frozen", "play", "scaled:2", "at:+1s"])
def test_a_profile_without_an_instant_cannot_be_the_start(wanted: str) -> None:
    with pytest.raises(InputError, match=r"x\.yaml: names no instant .* --clock at:INSTANT"):
        choose(wanted, Clock("real"), REAL, "x.yaml")
    for other in ("real", "at:2026-08-21T08:54:01Z"):
        choose(other, Clock("real"), REAL, "x.yaml")


def test_a_clock_that_is_none_is_refused_before_the_profile_is_blamed() -> None:
    with pytest.raises(NvparityError) as caught:
        choose("scaled:x", Clock("real"), REAL, "x.yaml")
    assert isinstance(caught.value, UsageError)


def test_a_clock_says_what_the_library_says() -> None:
    assert now_ns(OWN, REAL) == AT
    assert now_ns(Clock("real"), REAL) == REAL
    assert now_ns(Clock("scaled", AT, 0.5, REAL), REAL + 3) == AT + 1
    assert now_ns(Clock("scaled", AT, 2.0, REAL), REAL - 3) == AT
