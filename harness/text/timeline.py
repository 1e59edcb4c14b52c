"""The text of a time line: how the answers of a recording moved, one reading a line, delta coded.

    format: 1
    recorded: 2026-08-21T08:54:01.250000000Z
    interval_ns: 1000000000
    count: 600
    readings: 3

    gpu0 nvmlDeviceGetPowerUsage power = 68570 +12 -5 0*30 !GPU_IS_LOST*2 +7 0*564
    gpu0 nvmlDeviceGetMemoryInfo memory.total = 85899345920
    gpu0 nvmlDeviceGetPerformanceState - = SUCCESS{"pState":8} =NOT_SUPPORTED 0*598

A line is the call as in the text of answers, the member of the answer, and its samples: the first as it is, then for each sample the difference to
the last number (0: the last value again, of whatever type), ``=VALUE`` for a value that is no such difference, ``!CODE`` where the call answered a
code instead, each with ``*N`` where it comes N times.  A line with nothing after its first sample stays as it is.  ``-`` stands for the whole
answer, of a call that has not the same members in every sample.  A call stands in the file with all its members, or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from harness.text import answer_values, answers
from harness.text.timeline_model import MAX_COUNT, MAX_SAMPLES, Code, Reading, TimeLine, instant, instant_text, is_member, same
from harness.words import fileformat
from harness.words.errors import InputError, did_you_mean
from mocklib.answers import Asked
from mocklib.binding import Answer

MAX_CHARS = 16 << 20
"""The longest time line read; eight GPUs of 50 moving readings and 600 samples have about a million characters."""
HEAD = ("format", "recorded", "interval_ns", "count", "readings")
LATE = "recorded_late"
WHOLE = "-"
_TOKEN = re.compile(r'(?:[^ "]|"(?:[^"\\]|\\.)*")+')
_TIMES = re.compile(r"(.*[^*])\*([1-9][0-9]{0,9})", re.DOTALL)
_DELTA = re.compile(r"[+-][1-9][0-9]{0,19}")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_LATE = re.compile(r"(?:([1-9][0-9]{0,9})(?:-([1-9][0-9]{0,9}))?)")


def dump(line: TimeLine) -> str:
    """The text of ``line``; the same for equal ones.  ValueError where a value is none that an answer can have."""
    numbers = (fileformat.FORMAT, instant_text(line.start_ns), line.interval_ns, line.count, len(line.readings))
    out = [f"{key}: {value}" for key, value in zip(HEAD, numbers, strict=True)]
    if line.late:
        out.append(f"{LATE}: {' '.join(_ranges(line.late))}")
    return "\n".join([*out, "", *map(_line, line.readings)]) + "\n"


def load(text: str, name: str) -> TimeLine:
    """The time line in ``text``, the content of the file ``name``.

    Raises InputError with file and line: another spelling than ``dump``'s, samples that are not as many as the head says, a number beyond 64 bits,
    a call twice or without its members together, and more samples than ``MAX_SAMPLES``.
    """
    if len(text) > MAX_CHARS:
        raise InputError(f"{name}: {len(text)} characters, a time line has at most {MAX_CHARS}; is it one of nvparity?")
    fileformat.check_format(fileformat.number_of(text), f"{name}:1")
    lines = fileformat.upgraded("timeline", text).split("\n")
    if lines.pop():
        raise InputError(f"{name}:{len(lines) + 1}: the last line has no line end: the file is cut short; take the whole file or record again")
    end = lines.index("") if "" in lines else len(lines)
    head = _Head(lines[:end], name)
    if end == len(lines):
        raise InputError(f"{name}:{end + 1}: no empty line stands below the head: the file is cut short; take the whole file or record again")
    body = lines[end + 1 :]
    if len(body) != head.readings:
        raise InputError(f"{name}: {len(body)} readings, the head says {head.readings}; take the whole file or record again")
    if head.count * len(body) > MAX_SAMPLES:
        raise InputError(f"{name}: {len(body)} readings of {head.count} samples; a time line has at most {MAX_SAMPLES} samples in all")
    readings = tuple(_reading(content, head.count, f"{name}:{end + 2 + number}") for number, content in enumerate(body))
    _check_calls(readings, name, end + 2)
    return TimeLine(head.interval_ns, head.start_ns, head.count, readings, head.late)


class _Head:
    """The lines above the first empty one."""

    def __init__(self, lines: list[str], name: str) -> None:
        self.name = name
        values: dict[str, str] = {}
        for number, (line, key) in enumerate(zip(lines, (*HEAD, LATE), strict=False), 1):
            found, colon, values[key] = line.partition(": ")
            if not colon or found != key:
                raise InputError(f"{name}:{number}: {key!r} stands here, not {line[:40]!r}{did_you_mean(found[:40], [*HEAD, LATE])}")
        if len(lines) not in (len(HEAD), len(HEAD) + 1):
            raise InputError(f"{name}: above the first empty line stand {', '.join(HEAD)} and, where samples were late, {LATE}")
        self._number(values["format"], 1)  # which format is told by others, who read it in more than one spelling
        self.start_ns = self._instant(values["recorded"])
        self.interval_ns = self._number(values["interval_ns"], 3)
        self.count = self._number(values["count"], 4, MAX_COUNT)
        self.readings = self._number(values["readings"], 5, MAX_SAMPLES, least=0)
        self.late = self._late(values[LATE]) if LATE in values else ()

    def _instant(self, text: str) -> int:
        try:
            return instant(text)
        except ValueError as error:
            raise InputError(f"{self.name}:2: {error}") from None

    def _number(self, text: str, line: int, most: int = (1 << 63) - 1, least: int = 1) -> int:
        number = int(text) if _NUMBER.fullmatch(text) else -1
        if not least <= number <= most:
            raise InputError(f"{self.name}:{line}: {text[:40]!r} is no number from {least} to {most}")
        return number

    def _late(self, text: str) -> tuple[int, ...]:
        found: list[int] = []
        for word in text.split(" "):
            match = _LATE.fullmatch(word)
            first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
            if not (found[-1] if found else 0) < first <= last < self.count:
                raise InputError(f"{self.name}:6: {word[:40]!r} is no sample, or out of order; late samples ascend from 1 to {self.count - 1}")
            found.extend(range(first, last + 1))
        if " ".join(_ranges(tuple(found))) != text:
            raise InputError(f"{self.name}:6: not as nvparity writes it; write: {' '.join(_ranges(tuple(found)))[:80]}")
        return tuple(found)


def _ranges(numbers: tuple[int, ...]) -> Iterator[str]:
    """``3 7-9`` for 3 7 8 9."""
    for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        members = [number for _, number in group]
        yield f"{members[0]}-{members[-1]}" if len(members) > 1 else str(members[0])


def _check_calls(readings: tuple[Reading, ...], name: str, first: int) -> None:
    """Members of a call stand together and each once, all with a code in the same samples; a whole answer stands alone."""
    seen: set[Asked] = set()
    number = first
    for asked, group in groupby(readings, lambda reading: reading.asked):
        members = list(group)
        names = [member.member for member in members]
        if asked in seen:
            raise InputError(f"{name}:{number}: {answers.call(asked)} stands above already; the members of a call stand together")
        if len(set(names)) < len(names) or (None in names and len(names) > 1):
            raise InputError(f"{name}:{number}: a member of {answers.call(asked)} stands twice, or beside the whole answer")
        codes = [[sample if isinstance(sample, Code) else None for sample in member.samples] for member in members if member.member is not None]
        for place, other in enumerate(codes[1:], 1):
            if other != codes[0]:
                raise InputError(f"{name}:{number + place}: its codes are not those of the line above: a call answers all its members or none")
        seen.add(asked)
        number += len(members)


def _line(reading: Reading) -> str:
    """One reading."""
    subject = "node" if reading.asked.gpu is None else f"gpu{reading.asked.gpu}"
    member = WHOLE if reading.member is None else reading.member
    return f"{subject} {answers.call(reading.asked)} {member} = {' '.join(_coded(reading))}"


def _coded(reading: Reading) -> Iterator[str]:
    """The tokens of its samples, runs of one token put together."""
    samples = iter(reading.samples)
    value: Any = None  # the last that was no code
    first = next(samples)
    yield _whole(first, reading.member)
    if all(sample is first or same(sample, first) for sample in reading.samples):
        return
    if not isinstance(first, Code):
        value = first

    def tokens() -> Iterator[str]:
        nonlocal value
        for sample in samples:
            if isinstance(sample, Code):
                yield _whole(sample, reading.member)
                continue
            yield _token(value, sample, reading.member)
            value = sample

    for token, run in groupby(tokens()):
        times = sum(1 for _ in run)
        yield token if times == 1 else f"{token}*{times}"


def _token(value: Any, sample: Any, member: str | None) -> str:
    """A value after the last one, ``value`` (None where there was none)."""
    if type(value) is int and type(sample) is int:
        return f"{sample - value:+d}" if sample != value else "0"
    return "0" if value is not None and same(value, sample) else f"={_whole(sample, member)}"


def _whole(sample: Any, member: str | None) -> str:
    """A sample by itself."""
    if isinstance(sample, Code):
        return f"!{answers.answer_text(Answer(sample.number))}"
    if member is None:
        return answers.answer_text(sample).replace(" ", "", 1)
    return answer_values.text({"": sample})[4:-1]


def _reading(content: str, count: int, where: str) -> Reading:
    """The reading in a line."""
    words = content.split(" ") if '"' not in content else _TOKEN.findall(content)
    if len(words) < 5 or "" in words or " ".join(words) != content:
        raise InputError(f"{where}: a line is the subject, the call, the member, ` = ` and samples, one space between them: {content[:60]!r}")
    arguments = [words.pop(2)] if words[2].startswith("{") else []
    subject, function, member, equals, *tokens = words
    if equals != "=" or not tokens:
        raise InputError(f"{where}: after the call stand the member, ` = ` and samples, not {equals[:40]!r}")
    asked = answers.call_of(" ".join([function, *arguments]), where)
    found = Asked(function, _gpu(subject, where), asked.arguments)
    name = None if member == WHOLE else member
    if name is not None and not is_member(name):
        raise InputError(f"{where}: {name[:40]!r} is no member of an answer; `-` stands for the whole answer")
    reading = Reading(found, name, _samples(tokens, name, count, where))
    if (right := _line(reading)) != content:
        differing = (place for place, (ours, theirs) in enumerate(zip(right, content, strict=False)) if ours != theirs)
        place = next(differing, min(len(right), len(content)))
        raise InputError(f"{where}: column {place + 1}: not as nvparity writes it; write {right[place : place + 40]!r} there")
    return reading


def _gpu(subject: str, where: str) -> int | None:
    number = subject.removeprefix("gpu")
    if subject == "node":
        return None
    if not subject.startswith("gpu") or not _NUMBER.fullmatch(number) or int(number) >= answers.GPU_LIMIT:
        raise InputError(f"{where}: a line starts with `node` or `gpuN`, not {subject[:40]!r}")
    return int(number)


def _samples(tokens: list[str], member: str | None, count: int, where: str) -> tuple[Any, ...]:
    """``count`` samples out of their tokens."""
    first = _parsed(tokens[0], member, where)
    if len(tokens) == 1:
        return (first,) * count
    found = [first]
    value = None if isinstance(first, Code) else first
    for number, token in enumerate(tokens[1:], 2):
        match = _TIMES.fullmatch(token)
        word, times = (match[1], int(match[2])) if match else (token, 1)
        if len(found) + times > count:
            raise InputError(f"{where}: more than {count} samples, which the head says (at the sample {token[:40]!r}); take the whole file again")
        if _DELTA.fullmatch(word):
            if type(value) is not int:
                raise InputError(f"{where}: {token[:40]!r} is a difference, and no number stands before it")
            step = int(word)
            found.extend(range(value + step, value + step * (times + 1), step))
            value += step * times
            if not answer_values.SMALLEST <= value <= answer_values.LARGEST:
                raise InputError(f"{where}: sample {len(found)} is beyond 64 bits (at {token[:40]!r})")
        elif word[:1] == "!":
            found.extend([_parsed(word, member, where)] * times)
        elif word == "0" or word[:1] == "=":
            value = value if word == "0" else _parsed(word[1:], member, where)
            if value is None or isinstance(value, Code):
                raise InputError(f"{where}: {token[:40]!r} is no value; a code is !CODE, and 0 repeats a value that stands before it")
            found.extend([value] * times)
        else:
            raise InputError(f"{where}: {token[:40]!r} (sample {number}) is no sample: +N, -N, 0, =VALUE or !CODE, with *N for more of them")
    if len(found) != count:
        raise InputError(f"{where}: {len(found)} samples, the head says {count}; take the whole file or record again")
    return tuple(found)


def _parsed(word: str, member: str | None, where: str) -> Any:
    """A sample that stands by itself."""
    if word[:1] == "!" and member is not None:
        answer = answers.answer_of(word[1:], where)
        if answer.out or answer.missing or not answer.code:
            raise InputError(f"{where}: {word[:40]!r} is no code that stands in place of a value")
        return Code(answer.code)
    if member is None:
        return answers.answer_of(word.replace("{", " {", 1), where)
    values, end = answer_values.read(f'{{"":{word}}}', 0, where, floats=True)
    if end != len(word) + 5 or len(values) != 1:
        raise InputError(f"{where}: {word[:40]!r} is no value")
    return values[""]
