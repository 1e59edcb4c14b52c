"""Sampling: instants that do not drift, what is followed, what is kept when it ends early."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from harness.stages.recording import sampling
from harness.stages.recording.sampling import Plan
from harness.stages.timeline.routes import Routes
from harness.text import timeline
from harness.text.timeline_model import answer_at
from harness.words.errors import UsageError
from mocklib.answers import Asked, Recording
from mocklib.binding import Answer
from mocklib.spec import FieldId

SECOND = 1_000_000_000
POWER = Asked("nvmlDeviceGetPowerUsage", 0)
OTHER_POWER = Asked("nvmlDeviceGetPowerUsage", 1)
AVERAGE = Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", 185), ("scopeId", 0)))
MODULE_POWER = Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", 185), ("scopeId", 1)))
ENERGY = Asked("nvmlDeviceGetTotalEnergyConsumption", 0)
NAME = Asked("nvmlDeviceGetName", 0)
MEMORY = Asked("nvmlDeviceGetMemoryInfo", 0)
MEMORY_V2 = Asked("nvmlDeviceGetMemoryInfo_v2", 0)
UTILIZATION = Asked("nvmlDeviceGetUtilizationRates", 0)
ROUTES = Routes([FieldId(185, None, "power.current_draw_mw")])


@dataclass
class Hands:
    """A clock that stands still until it is waited for, and moves on by ``cost`` with each ask."""

    cost: int = 0
    now: int = 5_000
    waited: list[int] = field(default_factory=list)

    def monotonic_ns(self) -> int:
        return self.now

    def wall_ns(self) -> int:
        return 1_700_000_000 * SECOND + self.now

    def wait_until(self, instant_ns: int) -> None:
        self.waited.append(instant_ns)
        self.now = max(self.now, instant_ns)


@dataclass
class Node:
    """A library whose calls answer by the number of the sample."""

    clock: Hands
    calls: dict[Asked, Callable[[int], Answer]]
    asked: list[tuple[Asked, ...] | None] = field(default_factory=list)
    stop_at: int = -1

    def first(self) -> Recording:
        return {asked: answer(0) for asked, answer in self.calls.items()}

    def __call__(self, calls: Sequence[Asked] | None) -> Recording:
        self.asked.append(None if calls is None else tuple(calls))
        number = len(self.asked)
        if number == self.stop_at:
            raise KeyboardInterrupt
        self.clock.now += self.clock.cost
        return {asked: self.calls[asked](number) for asked in (self.calls if calls is None else calls)}


def number(member: str, *values: int) -> Callable[[int], Answer]:
    """A call whose one member takes these values, the last one from then on."""
    return lambda sample: Answer(0, {member: values[min(sample, len(values) - 1)]})


def unmarked(_: Asked) -> bool:
    return False


def take(node: Node, count: int = 4, moving: Callable[[Asked], bool] = unmarked, interval: int = SECOND) -> sampling.Sampled:
    return sampling.sample(node, node.first(), Plan(interval, count), node.clock, ROUTES, moving)


def test_samples_are_due_at_fixed_instants_however_long_asking_takes() -> None:
    clock = Hands(cost=SECOND // 3)
    taken = take(Node(clock, {POWER: number("power", 1, 2, 3)}))
    assert clock.waited == [5_000 + SECOND, 5_000 + 2 * SECOND, 5_000 + 3 * SECOND]
    assert taken.late == []
    assert taken.start_ns == 1_700_000_000 * SECOND + 5_000


def test_a_late_sample_is_noted_and_shifts_none_after_it() -> None:
    clock = Hands(cost=2 * SECOND + SECOND // 5)
    node = Node(clock, {POWER: number("power", 1, 2, 3)})
    taken = take(node, count=5)
    assert taken.late == [2, 3, 4]
    assert clock.waited == [5_000 + number * SECOND for number in range(1, 5)]
    assert taken.count == 5
    line = sampling.line(taken)
    assert line is not None
    assert line.late == (2, 3, 4)
    assert "; 3 late" in sampling.summary(taken)


def test_the_second_sample_asks_everything_and_what_moved_is_followed() -> None:
    node = Node(Hands(), {NAME: number("name", 7), POWER: number("power", 1, 2, 3), ENERGY: number("energy", 1, 1, 5)})
    taken = take(node)
    assert node.asked == [None, (POWER,), (POWER,)]
    assert taken.moved() == [POWER]


def test_what_the_list_marks_is_followed_and_calls_of_the_same_field_beside_it() -> None:
    node = Node(
        Hands(),
        {
            POWER: number("power", 1),
            OTHER_POWER: number("power", 1),
            AVERAGE: lambda _: Answer(0, {"valueType": 1, "value": 1}),
            ENERGY: number("energy", 1),
            MEMORY: lambda sample: Answer(0, {"memory.total": 9, "memory.free": 9 - sample, "memory.used": sample}),
            MEMORY_V2: lambda _: Answer(0, {"memory.total": 9, "memory.reserved": 0, "memory.free": 9, "memory.used": 0}),
            MODULE_POWER: lambda _: Answer(3),
        },
    )
    taken = take(node, moving=lambda asked: asked == POWER)
    assert node.asked[1] == (POWER, AVERAGE, MEMORY, MEMORY_V2)
    assert taken.moved() == [MEMORY]
    line = sampling.line(taken)
    assert line is not None
    assert [asked for asked, _ in line.calls()] == [MEMORY]
    assert timeline.load(timeline.dump(line), "timeline.txt") == line


def test_every_answer_of_a_call_that_moved_is_kept_codes_and_lists_too() -> None:
    listed = [Answer(0, {"infos": [{"pid": 1}], "infoCount": 1}), Answer(0, {"infos": [], "infoCount": 0}), Answer(15), Answer(0, {"infos": []})]
    node = Node(Hands(), {UTILIZATION: lambda sample: listed[sample]})
    line = sampling.line(take(node))
    assert line is not None
    ((_, readings),) = line.calls()
    assert [answer_at(readings, sample) for sample in range(4)] == listed


@pytest.mark.parametrize("stop_at", [1, 2, 3])
def test_an_interruption_keeps_the_samples_that_are_whole(stop_at: int) -> None:
    node = Node(Hands(), {POWER: number("power", 1, 2, 3, 4)}, stop_at=stop_at)
    taken = take(node)
    assert (taken.count, taken.interrupted) == (stop_at, True)
    line = sampling.line(taken)
    assert (None if line is None else line.readings[0].samples) == (None if stop_at == 1 else (1, 2, 3)[:stop_at])
    assert "interrupted" in sampling.summary(taken)


def test_sampling_ends_where_a_time_line_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MAX_SAMPLES", 6)
    node = Node(Hands(), {POWER: lambda sample: Answer(0, {"power": sample}), ENERGY: lambda sample: Answer(0, {"energy": sample})})
    taken = take(node, count=9)
    assert (taken.count, taken.full) == (3, True)
    assert "ended: a time line holds 6 samples" in sampling.summary(taken)


def test_a_symbol_that_the_library_lacks_is_not_asked_again() -> None:
    node = Node(Hands(), {Asked("nvmlDeviceGetPowerUsage"): lambda _: Answer(13, missing=True), ENERGY: number("energy", 1)})
    take(node, moving=lambda _: True)
    assert node.asked == [None, (ENERGY,), (ENERGY,)]


def test_the_list_says_which_calls_and_field_ids_move() -> None:
    assert sampling.marked(POWER)
    assert sampling.marked(MEMORY)
    assert sampling.marked(AVERAGE)
    assert not sampling.marked(NAME)
    assert not sampling.marked(Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", 1), ("scopeId", 0))))
    assert not sampling.marked(Asked("nvmlDeviceReset", 0))


def test_a_call_that_is_no_longer_answered_keeps_its_answer() -> None:
    node = Node(Hands(), {POWER: number("power", 1, 2), ENERGY: number("energy", 1, 2)})
    first = node.first()

    def forgetful(calls: Sequence[Asked] | None) -> Recording:
        answers = node(calls)
        return answers if calls is None else {asked: answer for asked, answer in answers.items() if asked == POWER}

    taken = sampling.sample(forgetful, first, Plan(SECOND, 4), node.clock, ROUTES, lambda _: False)
    assert [answer.out["energy"] for answer in taken.answers[ENERGY]] == [1, 2, 2, 2]


@pytest.mark.parametrize(
    ("interval", "count", "said"),
    [
        (1.0, None, "--count is missing"),
        (None, 5, "--interval is missing"),
        (0.0, 5, "--interval 0: samples stand 0.001 to 86400 seconds apart"),
        (-1.0, 5, "--interval -1"),
        (float("nan"), 5, "--interval nan"),
        (86401.0, 5, "--interval 86401"),
        (1.0, 1, "--count 1: a time line has 2 to"),
        (1.0, 1_000_001, "--count 1000001"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(interval: float | None, count: int | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        sampling.plan(interval, count)


def test_a_plan_is_exact_in_nanoseconds() -> None:
    assert sampling.plan(None, None) is None
    assert sampling.plan(0.1, 2) == Plan(100_000_000, 2)
