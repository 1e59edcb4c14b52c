"""What a time line is: for each call that moved, what each member of its answer was, sample by sample."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from mocklib.answers import Asked
from mocklib.binding import Answer

MAX_SAMPLES = 1 << 22
"""Samples of all readings of a time line: eight GPUs of 50 readings for close to three hours, one each second."""
MAX_COUNT = 1_000_000
"""Samples of one reading."""
_SECOND = 1_000_000_000
_MEMBER = re.compile(r"[A-Za-z_][A-Za-z0-9_.\[\]]*")
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{9})Z", re.ASCII)


@dataclass(frozen=True)
class Code:
    """A sample that is no value: the call answered this nvmlReturn_t."""

    number: int


@dataclass(frozen=True)
class Reading:
    """One member of a call's answer over the whole time line.

    ``samples`` are values as the binding gives them (``mocklib.answers``) or ``Code``.  A ``member`` of None is the whole answer, for a call that has
    not the same members in every sample; its samples are ``Answer``.
    """

    asked: Asked
    member: str | None
    samples: tuple[Any, ...]

    @property
    def moves(self) -> bool:
        """Whether one sample differs from another."""
        return not all(same(self.samples[0], sample) for sample in self.samples)


@dataclass(frozen=True)
class TimeLine:
    """How the answers of a recording moved.

    ``count`` samples, one each ``interval_ns``; the first is the recording's own, at ``start_ns`` (nanoseconds since 1970).  ``readings`` hold every
    member of each call that moved, the members of a call together.  ``late`` are the samples whose asking began more than a tenth of the interval
    after their instant: they stand where they were due.
    """

    interval_ns: int
    start_ns: int
    count: int
    readings: tuple[Reading, ...] = ()
    late: tuple[int, ...] = ()

    def calls(self) -> Iterator[tuple[Asked, tuple[Reading, ...]]]:
        """The readings by call, in order."""
        for asked, group in groupby(self.readings, lambda reading: reading.asked):
            yield asked, tuple(group)


def answer_at(readings: Sequence[Reading], number: int) -> Answer:
    """What a call with these readings (all of one call) answered in sample ``number``."""
    if readings[0].member is None:
        found: Answer = readings[0].samples[number]
        return found
    samples = {str(reading.member): reading.samples[number] for reading in readings}
    code = next((sample for sample in samples.values() if isinstance(sample, Code)), None)
    return Answer(0, samples) if code is None else Answer(code.number)


def readings_of(asked: Asked, answers: Sequence[Answer]) -> tuple[Reading, ...]:
    """The readings of a call that answered ``answers``, one a sample."""
    good = [answer for answer in answers if answer.code == 0]
    names = list(good[0].out) if good else []
    plain = all(list(answer.out) == names for answer in good) and not any(answer.missing or (answer.code and answer.out) for answer in answers)
    if not plain or not names or not all(map(is_member, names)):
        return (Reading(asked, None, tuple(answers)),)
    return tuple(Reading(asked, name, tuple(Code(one.code) if one.code else one.out[name] for one in answers)) for name in names)


def is_member(name: str) -> bool:
    """Whether ``name`` is one that a member can have in the text of a time line: ``parameter`` or ``parameter.member``."""
    return _MEMBER.fullmatch(name) is not None


def same(one: Any, other: Any) -> bool:
    """Whether two samples are one: equal and of one type, all the way down (1 is not 1.0, nor is -0.0 0.0)."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return repr(one) == repr(other)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Mapping):
        return list(one) == list(other) and all(map(same, one.values(), other.values()))
    if isinstance(one, Answer):
        return one.code == other.code and one.missing == other.missing and same(one.out, other.out)
    return bool(one == other)


def instant_text(nanoseconds: int) -> str:
    """An instant (nanoseconds since 1970) as ``2026-08-21T08:54:01.250000000Z``."""
    moment = datetime.datetime.fromtimestamp(nanoseconds // _SECOND, datetime.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{nanoseconds % _SECOND:09d}Z"


def instant(text: str) -> int:
    """The instant that ``instant_text`` writes; ValueError for another form, and for one that 64 bits do not hold (1970 to 2554)."""
    match = _INSTANT.fullmatch(text)
    try:
        moment = datetime.datetime.strptime(match[1] if match else "", "%Y-%m-%dT%H:%M:%S").replace(tzinfo=datetime.UTC)
    except ValueError:
        raise ValueError(f"{text[:40]!r} is no instant such as 2026-08-21T08:54:01.250000000Z") from None
    nanoseconds = int(moment.timestamp()) * _SECOND + int(match[2] if match else 0)
    if not 0 <= nanoseconds < 1 << 64:
        raise ValueError(f"{text} is not between 1970 and 2554")
    return nanoseconds
