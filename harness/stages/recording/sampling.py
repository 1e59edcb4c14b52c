"""Samples of what moves on a node: the first are the recording's own answers, the others are asked every so often, by a clock that is handed in.

The second sample asks every call of the list, and shows which of them moved.  From then on those are followed, with the calls that the list marks as
moving and every call that answers from a field of one of these, but for those that refused twice.  So a call that answers from a field that moves,
and is not in the time line, stayed as the recording has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from harness.text.timeline_model import MAX_COUNT, MAX_SAMPLES, TimeLine, readings_of, same
from harness.words.errors import UsageError
from mocklib import getters

if TYPE_CHECKING:
    from harness.stages.timeline.routes import Routes
    from mocklib.answers import Asked, Recording
    from mocklib.binding import Answer

SECOND = 1_000_000_000
SHORTEST_NS, LONGEST_NS = SECOND // 1000, 86_400 * SECOND
LATE = 10
"""A sample is late where its asking begins more than one part in this many of the interval after its instant."""


class Clock(Protocol):
    """Time on the node, in nanoseconds."""

    def monotonic_ns(self) -> int:
        """A clock that never jumps."""

    def wall_ns(self) -> int:
        """Since 1970."""

    def wait_until(self, instant_ns: int) -> None:
        """Return at an instant of ``monotonic_ns``, or after it."""


class Asker(Protocol):
    """An open library: the answers of ``calls``, of every call of the list where it is None."""

    def __call__(self, calls: Sequence[Asked] | None) -> Recording:
        """The answers, now."""


@dataclass(frozen=True)
class Plan:
    """``count`` samples, one every ``interval_ns``, the recording's own among them."""

    interval_ns: int
    count: int


def plan(interval: float | None, count: int | None) -> Plan | None:
    """What ``--interval`` (seconds) and ``--count`` ask for; None for neither.  UsageError names the option that is off or missing."""
    if interval is None and count is None:
        return None
    if interval is None or count is None:
        raise UsageError(f"--{'interval' if interval is None else 'count'} is missing: a time line needs --interval SECONDS and --count SAMPLES")
    if not SHORTEST_NS <= interval * SECOND <= LONGEST_NS:
        raise UsageError(f"--interval {interval:g}: samples stand {SHORTEST_NS / SECOND:g} to {LONGEST_NS // SECOND} seconds apart")
    if not 2 <= count <= MAX_COUNT:
        raise UsageError(f"--count {count}: a time line has 2 to {MAX_COUNT} samples, the recording's own among them")
    return Plan(round(interval * SECOND), count)


@dataclass
class Sampled:
    """What was taken.

    ``start_ns``: the instant of the first sample, nanoseconds since 1970; sample k was due ``k x plan.interval_ns`` later.  ``answers``: of each
    call followed, one a sample.  ``late``: samples asked late, which stand where they were due.  ``interrupted``: by the user; ``full``: a time
    line cannot hold more.
    """

    plan: Plan
    start_ns: int
    answers: dict[Asked, list[Answer]] = field(default_factory=dict)
    count: int = 1
    late: list[int] = field(default_factory=list)
    interrupted: bool = False
    full: bool = False

    def moved(self) -> list[Asked]:
        """The calls whose answer changed."""
        return [asked for asked, given in self.answers.items() if any(answer is not given[0] for answer in given)]


def marked(asked: Asked) -> bool:
    """Whether the list of getters says of a call that something in its answer is a reading of a moment."""
    getter = getters.getters().get(asked.function)
    if getter is None:
        return False
    if asked.function == getters.FIELD_VALUES:
        return getters.moving(asked, "value")
    return getter.moving is None or bool(getter.moving)


def sample(ask: Asker, first: Recording, wanted: Plan, clock: Clock, routes: Routes, moving: Callable[[Asked], bool] = marked) -> Sampled:
    """Take the samples of ``wanted`` after the answers ``first``, which are sample 0; the samples are due at fixed instants from now on.

    ``moving``: whether a call is followed whether it moved or not.  A symbol that the library lacks is asked no more.  KeyboardInterrupt ends it
    with the samples that are whole.
    """
    start = clock.monotonic_ns()
    taken = Sampled(wanted, clock.wall_ns())
    try:
        for number in range(1, wanted.count):
            due = start + number * wanted.interval_ns
            clock.wait_until(due)
            behind = clock.monotonic_ns() - due
            if number == 1:
                second = ask(None)
                there = {asked: answer for asked, answer in first.items() if not answer.missing}
                moved = [asked for asked, answer in there.items() if moving(asked) or not same(answer, second.get(asked, answer))]
                refused = {asked for asked, answer in there.items() if answer.code} - set(moved)
                taken.answers = {asked: [first[asked]] for asked in routes.beside(moved, there) if asked not in refused}
            else:
                second = ask(list(taken.answers))
            _take(taken, second)
            if behind * LATE > wanted.interval_ns:
                taken.late.append(number)
            if _full(taken):
                taken.full = number + 1 < wanted.count
                break
    except KeyboardInterrupt:
        taken.interrupted = True
        for given in taken.answers.values():
            del given[taken.count :]
    return taken


def _take(taken: Sampled, answers: Recording) -> None:
    """One more sample, whole: a call that is not answered any more keeps its answer, an answer as before is the same object."""
    for asked, given in taken.answers.items():
        answer = answers.get(asked, given[-1])
        earlier = next((one for one in (given[-1], given[0]) if same(one, answer)), answer)
        given.append(earlier)
    taken.count += 1


def _full(taken: Sampled) -> bool:
    """Whether one more sample of what moved is more than a time line holds."""
    return (taken.count + 1) * sum(max(1, len(taken.answers[asked][0].out)) for asked in taken.moved()) > MAX_SAMPLES


def line(taken: Sampled) -> TimeLine | None:
    """The time line of what was taken: the calls that moved; None where nothing but the recording's own answers was taken."""
    if taken.count < 2:
        return None
    readings = chain.from_iterable(readings_of(asked, taken.answers[asked]) for asked in taken.moved())
    return TimeLine(taken.plan.interval_ns, taken.start_ns, taken.count, tuple(readings), tuple(taken.late))


def summary(taken: Sampled) -> str:
    """One line for people: what was taken, what moved, what was late, why it ended early."""
    moved = taken.moved()
    parts = [f"{taken.count} of {taken.plan.count} samples, one every {taken.plan.interval_ns / SECOND:g} s"]
    parts.append(f"{len(moved)} of {len(taken.answers)} calls followed moved")
    if taken.late:
        parts.append(f"{len(taken.late)} late")
    if taken.interrupted:
        parts.append("interrupted: what was taken is kept")
    if taken.full:
        parts.append(f"ended: a time line holds {MAX_SAMPLES} samples of all readings")
    return "time line: " + "; ".join(parts)
