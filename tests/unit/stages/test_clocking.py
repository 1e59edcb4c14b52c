"""The clock of a state, changed while programs use it: it goes on from where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.stages import clocking
from harness.words.errors import InputError, UsageError
from mocklib import image, state
from mocklib.spec import Clock, ImageSpec

SECOND = 1_000_000_000
AT = 1_787_302_441 * SECOND
REAL = 1_900_000_000 * SECOND


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """A state whose clock stands at AT."""
    path = tmp_path / "state"
    state.create(path, image.pack(ImageSpec(clock=Clock("frozen", AT))))
    return path


def turned(held: Path, *requests: str, real_ns: int = REAL) -> Clock:
    """The clock in the state after each of ``requests``."""
    for request in requests:
        made = clocking.turn(held, request.split(), real_ns)
        assert state.read(held).node.clock == made
    return state.read(held).node.clock


@pytest.mark.parametrize(
    ("request_", "clock"),
    [
        ("freeze", Clock("frozen", AT)),
        ("freeze 2026-08-21T08:54:01Z", Clock("frozen", AT)),
        ("freeze 1970-01-01T00:00:00.5Z", Clock("frozen", SECOND // 2)),
        ("scale 10", Clock("scaled", AT, 10.0, REAL)),
        ("scale 0.000001", Clock("scaled", AT, 0.000001, REAL)),
        ("step 90s", Clock("frozen", AT + 90 * SECOND)),
        ("step 1.5h", Clock("frozen", AT + 5400 * SECOND)),
        ("step 1ns", Clock("frozen", AT + 1)),
        ("real", Clock("real")),
    ],
)
def test_a_clock_does_what_is_asked(held: Path, request_: str, clock: Clock) -> None:
    assert turned(held, request_) == clock


def test_a_clock_goes_on_from_where_it_is(held: Path) -> None:
    clocking.turn(held, ["scale", "10"], REAL)
    later = REAL + 3 * SECOND
    assert clocking.turn(held, ["scale", "2"], later) == Clock("scaled", AT + 30 * SECOND, 2.0, later)
    assert clocking.turn(held, ["step", "5s"], later + SECOND) == Clock("frozen", AT + 37 * SECOND)
    assert clocking.turn(held, ["step", "5s"], later + 99 * SECOND) == Clock("frozen", AT + 42 * SECOND)
    clocking.turn(held, ["real"], REAL)
    assert clocking.turn(held, ["freeze"], later) == Clock("frozen", later)


def test_what_adds_up_goes_on_adding_from_where_it_began(held: Path) -> None:
    before = state.read(held).node.head.epoch_ns
    turned(held, "step 1h", "scale 3", "real", "freeze")
    assert state.read(held).node.head.epoch_ns == before == AT


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ("", "no ''; known: freeze [AT], scale X, step DURATION, real"),
        ("freez", "no 'freez' (did you mean 'freeze'?); known"),
        ("scale", "clock scale: 0 arguments are given; it is written: clock scale X"),
        ("real now", "clock real: 1 arguments are given; it is written: clock real"),
        ("freeze a b", "2 arguments are given"),
        ("freeze yesterday", "clock freeze yesterday: an instant is written 2026-08-21T08:54:01Z"),
        ("freeze 2600-01-01T00:00:00Z", "is not between 1970 and 2554"),
        ("scale 0", "clock scale 0: a speed is a number from 0.000001 to 1000000"),
        ("scale -1", "a speed is a number"),
        ("scale 1e3", "a speed is a number"),
        ("step 5", "clock step 5: a duration is a number and its unit (ns, us, ms, s, m, h, d), as in 90s"),
        ("step -5s", "a duration is a number and its unit"),
    ],
)
def test_what_is_no_request_is_refused_and_changes_nothing(held: Path, request_: str, said: str) -> None:
    before = held.read_bytes()
    with pytest.raises(UsageError) as error:
        clocking.turn(held, request_.split(), REAL)
    assert said in str(error.value)
    assert held.read_bytes() == before


def test_a_clock_does_not_pass_its_end(held: Path) -> None:
    with pytest.raises(InputError, match="clock step 300000d: is after 2554"):
        clocking.turn(held, ["step", "300000d"], REAL)
    assert state.read(held).node.clock == Clock("frozen", AT)


@pytest.mark.parametrize(
    ("clock", "said"),
    [
        (Clock("frozen", AT), "frozen: 2026-08-21T08:54:01Z"),
        (Clock("frozen", AT + 10_500_000), "frozen: 2026-08-21T08:54:01.0105Z"),
        (Clock("scaled", AT, 2.5, REAL - 2 * SECOND), "scaled, 2.5 times as fast as the real one: 2026-08-21T08:54:06Z"),
        (Clock("real"), "real: 2030-03-17T17:46:40Z"),
    ],
)
def test_a_clock_is_said_in_words(clock: Clock, said: str) -> None:
    assert clocking.said(clock, REAL) == said
