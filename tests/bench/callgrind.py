"""What callgrind counted: its out file as calls from one function to another, with the instructions each took, callees' own callees included.

The format is that of the Valgrind manual, "Callgrind Format Specification": names may be shortened to ``(id)`` after their first appearance, and
positions may be relative; only names and costs are read here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

NAME = re.compile(r"\((\d+)\)(?: (.*))?")


class CallgrindError(ValueError):
    """A callgrind out file that cannot be read; the message names the line."""


@dataclass(frozen=True)
class Calls:
    """All calls from one function to another: how many, and instructions (event Ir) executed until they returned."""

    count: int
    instructions: int

    @property
    def each(self) -> float:
        """Instructions per call."""
        return self.instructions / self.count


class _Names:
    """Function names by their number in the file."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def of(self, text: str, line: int) -> str:
        match = NAME.fullmatch(text)
        if match is None:
            return text
        number, name = match.groups()
        if name is not None:
            self.known[number] = name
        if number not in self.known:
            raise CallgrindError(f"line {line}: function ({number}) has no name yet")
        return self.known[number]


def _ir_column(events: str, line: int) -> int:
    names = events.split()
    if "Ir" not in names:
        raise CallgrindError(f"line {line}: the events are {' '.join(names) or 'none'}; Ir (instructions) is not among them")
    return names.index("Ir")


def _inclusive(text: str, column: int, line: int) -> int:
    numbers = text.split()
    try:
        return int(numbers[column])
    except (IndexError, ValueError):
        raise CallgrindError(f"line {line}: a line of costs is expected after calls=, here is {text!r}") from None


def calls_from(text: str, caller: str) -> dict[str, Calls]:
    """Every function that ``caller`` called, with its calls: {callee: Calls}.

    ``text`` is a whole out file.  Raises CallgrindError where it does not follow the format, has no instruction counts or does not know ``caller``.
    """
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    names = _Names()
    function = callee = ""
    callers = set()
    column, positions, pending = -1, 1, 0
    for number, line in enumerate(text.splitlines(), 1):
        if pending:
            cost = _inclusive(line, column, number)
            if function == caller:
                found[callee][0] += pending
                found[callee][1] += cost
            pending = 0
        elif line.startswith("fn="):
            function = names.of(line[3:], number)
            callers.add(function)
        elif line.startswith("cfn="):
            callee = names.of(line[4:], number)
        elif line.startswith("calls="):
            pending = int(line[6:].split()[0])
            if column < 0:
                raise CallgrindError(f"line {number}: calls= before events:")
        elif line.startswith("positions:"):
            positions = len(line.split()) - 1
        elif line.startswith("events:"):
            column = positions + _ir_column(line.partition(":")[2], number)
    if pending:
        raise CallgrindError("the file ends after calls=")
    if caller not in callers:
        raise CallgrindError(f"no function {caller} in the file ({len(callers)} functions)")
    return {callee: Calls(count, instructions) for callee, (count, instructions) in found.items()}
