"""Paths of elements with wildcards, as rules and the command line name them: ``gpu[*]/pci/tx_util``, ``gpu[0-3]/clocks/*``, ``gpu/**``."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from harness.words.errors import InputError

_STEP = re.compile(r"(@?[^\[\]/]+)(?:\[([^\[\]/]*)\])?")
_INDEX = re.compile(r"\[([0-9]+)\]")
_MOST = 4096
"""Entries that an index range may span; no list of a capture is as long."""


def distinct(path: str) -> str:
    """``path`` without its indices: the same for every GPU, process and clock line."""
    return _INDEX.sub("", path)


def indices(path: str) -> tuple[str, ...]:
    """The indices in ``path``, outermost first."""
    return tuple(_INDEX.findall(path))


def matches(pattern: str, path: str) -> bool:
    """Whether ``pattern`` names the element ``path``.

    ``*`` in a step stands for any part of its name, a step ``**`` for any number of steps (none, too); a step without an index means every
    entry of a list, ``[*]`` too, ``[2]`` the third, ``[0-3]`` the first four.  Raises InputError for what is no pattern.
    """
    return _compiled(pattern).fullmatch(path) is not None


def check(pattern: str) -> str:
    """``pattern`` itself; InputError, which says what is wrong, where it is none."""
    _compiled(pattern)
    return pattern


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as a pattern's index has them: 0, 1, 2, 5 -> ``0-2,5``."""
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


@functools.lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    made = ""
    steps = pattern.split("/")
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        if step == "**":
            made += r"(?:[^/]+(?:/[^/]+)*)" if last else r"(?:[^/]+/)*"
            continue
        match = _STEP.fullmatch(step)
        if match is None:
            raise InputError(f"path {pattern!r}: {step!r} is no step; a step is a name, perhaps with an index, as in gpu[*]/pci/tx_util")
        name = "".join("[^/\\[\\]]*" if char == "*" else re.escape(char) for char in match[1])
        made += name + _index(pattern, match[2]) + ("" if last else "/")
    return re.compile(made, re.DOTALL)


def _index(pattern: str, given: str | None) -> str:
    if given is None:
        return r"(?:\[[0-9]+\])?"
    if given == "*":
        return r"\[[0-9]+\]"
    chosen: list[str] = []
    for part in given.split(","):
        span = re.fullmatch(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", part)
        first, last = (int(span[1]), int(span[2] or span[1])) if span is not None else (1, 0)
        if not first <= last < first + _MOST:
            raise InputError(f"path {pattern!r}: [{given}] is no index; an index is a number, a range as in [0-3], or [*]")
        chosen += [str(number) for number in range(first, last + 1)]
    return rf"\[(?:{'|'.join(chosen)})\]"
