"""Lists of supported clocks as runs: ``1980..210/-15`` is 1980 down to 210 in steps of 15; steps that take turns are written one after
another, so ``1965..120/-8-7`` is 1965 1957 1950 1942 ... 120 (7.5 MHz, printed whole).

One memory clock of a capture is one element with its value and up to some 250 graphics clocks; as runs it is one line.  A text that is
no clock stands in the list in double quotes.
"""

from __future__ import annotations

import re

from harness.text import quoting
from harness.text.model import FULL, LINE, TREE, Node

TAG = "supported_mem_clock"
_VALUE = "value"
_CLOCK = "supported_graphics_clock"
_MHZ = re.compile(r"(0|[1-9][0-9]{0,6}) MHz")
_RUN = re.compile(r"([0-9]{1,7})(?:\.\.([0-9]{1,7})/((?:[+-][0-9]{1,7}){1,4}))?")
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_LIST = re.compile(rf"\{{({_QUOTED}|(?:0|[1-9][0-9]{{0,6}}) MHz): ((?:{_QUOTED}|[^ \"]+)(?: (?:{_QUOTED}|[^ \"]+))*)\}}")
_ITEM = re.compile(rf"{_QUOTED}|[^ \"]+")
_STEP = re.compile(r"[+-][0-9]+")
MAX_CLOCKS = 4096
"""The most clocks one list may hold; the longest seen holds some 260."""
_LONGEST_CYCLE = 4
_SHORTEST_RUN = 4


def encode(node: Node) -> str | None:
    """``node``, a memory clock with its graphics clocks, as text between braces; None where it is of another shape."""
    if node.tag != TAG or node.form != TREE or node.attributes or len(node.children) < 2 or len(node.children) > MAX_CLOCKS:
        return None
    clocks: list[int | str] = []
    for position, child in enumerate(node.children):
        if child.tag != (_CLOCK if position else _VALUE) or child.form != LINE or child.attributes or child.escape != FULL:
            return None
        match = _MHZ.fullmatch(child.text or "")
        clocks.append(int(match[1]) if match else child.text or "")
    head = quoting.quote(clocks[0]) if isinstance(clocks[0], str) else f"{clocks[0]} MHz"
    return f"{{{head}: {' '.join(_words(clocks[1:]))}}}"


def decode(token: str) -> Node:
    """The element that `encode` wrote as ``token``.  Raises ValueError, saying what is wrong."""
    match = _LIST.fullmatch(token)
    if match is None:
        raise ValueError(f"{token[:60]} is no clock list such as {{1215 MHz: 1410..210/-15}}")
    children = [Node(_VALUE, quoting.value(match[1]))]
    for word in _ITEM.findall(match[2]):
        if word.startswith('"'):
            children.append(Node(_CLOCK, quoting.unquote(word)))
        else:
            children.extend(Node(_CLOCK, f"{clock} MHz") for clock in _expand(word))
        if len(children) > MAX_CLOCKS:
            raise ValueError(f"more than {MAX_CLOCKS - 1} clocks in one list")
    return Node(TAG, children=children, form=TREE)


def _words(clocks: list[int | str]) -> list[str]:
    """Runs of the numbers, quoted words for what is no number."""
    out: list[str] = []
    numbers: list[int] = []
    for clock in clocks:
        if isinstance(clock, int):
            numbers.append(clock)
        else:
            out.extend(_runs(numbers))
            numbers = []
            out.append(quoting.quote(clock))
    return out + _runs(numbers)


def _runs(numbers: list[int]) -> list[str]:
    """``numbers`` as the fewest runs that a left-to-right reading finds."""
    out: list[str] = []
    start = 0
    while start < len(numbers):
        end, cycle = _longest(numbers, start)
        if end - start < _SHORTEST_RUN:
            out.append(str(numbers[start]))
            start += 1
        else:
            out.append(f"{numbers[start]}..{numbers[end - 1]}/{''.join(f'{step:+d}' for step in cycle)}")
            start = end
    return out


def _longest(numbers: list[int], start: int) -> tuple[int, list[int]]:
    """End and cycle of steps of the longest run from ``start``; of equally long ones the shortest cycle."""
    best, chosen = start + 1, list[int]()
    for size in range(1, _LONGEST_CYCLE + 1):
        cycle = [numbers[at + 1] - numbers[at] for at in range(start, min(start + size, len(numbers) - 1))]
        if len(cycle) < size or len(set(cycle)) == 1 < size or 0 in cycle:
            continue
        end = start + 1
        while end < len(numbers) and numbers[end] - numbers[end - 1] == cycle[(end - 1 - start) % size]:
            end += 1
        if end > best and end - start > size + 1 and _stops(numbers, start, end):
            best, chosen = end, cycle
    return best, chosen


def _stops(numbers: list[int], start: int, end: int) -> bool:
    """Is the last number of the run met only at its end, so that a reader stops there?"""
    return numbers[end - 1] not in numbers[start : end - 1]


def _expand(run: str) -> list[int]:
    """The numbers of ``run``."""
    match = _RUN.fullmatch(run)
    if match is None:
        raise ValueError(f"{run[:60]!r} is no run such as 1410..210/-15")
    number = int(match[1])
    numbers = [number]
    if match[2] is None:
        return numbers
    last, cycle = int(match[2]), [int(step) for step in _STEP.findall(match[3])]
    while number != last:
        number += cycle[(len(numbers) - 1) % len(cycle)]
        if number < 0 or len(numbers) > MAX_CLOCKS:
            raise ValueError(f"{run[:60]!r} never comes to {last}")
        numbers.append(number)
    return numbers
