"""One cell of the matrix: what two runs of a view gave, judged."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.stages.recording.viewing import MAX_TEXT

if TYPE_CHECKING:
    from collections.abc import Collection

    from harness.stages.smi import SmiRun
    from harness.tables.views import View

VALUES, NONE, EMPTY, REFUSED, UNKNOWN, FAULT = "values", "none", "empty", "refused", "unknown", "fault"
"""What a view gives: text with readings; a line that says there is nothing; no text at all; another exit status, with the reason that the table has
for it; this branch does not know the view; what no view may do.
"""
SAID_BYTES = 200
_ESCAPE = re.compile(rb"\x1b\[[0-9;]*m")
"""What underlines a heading on a terminal."""
_FEW = 2
_CLOCK = re.compile(rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}|\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}")
"""The host's time, as headers and the field `timestamp` print it: the one thing in a text that is not the mock's."""


@dataclass(frozen=True)
class Cell:
    """What ``view`` gives with the binary of ``branch`` for ``profile``.

    outcome  one of the words above
    status   the exit status; minus a signal's number; None where a run did not end in time
    said     of a view that gives no readings: the line that says so
    given    of a table of values: columns with a value and all columns
    faults   what is wrong, each a sentence
    """

    profile: str
    branch: int
    view: str
    outcome: str
    status: int | None
    said: str = ""
    given: tuple[int, int] | None = None
    faults: tuple[str, ...] = ()


def judge(
    profile: str, branch: int, view: View, runs: tuple[SmiRun | None, SmiRun | None], unknown: Collection[int], absent: Collection[int] = ()
) -> Cell:
    """The cell that two ``runs`` of ``view`` make, on other memory and under another environment; None is one that did not end in time.

    ``unknown``: exit statuses of a binary that does not know a view; ``absent``: those that the profile accounts for, whose GPUs are not all there.
    """
    first = next((run for run in runs if run is None or run.status < 0), runs[0])
    faults = tuple(_faults(runs, _known(branch, view, unknown, absent), absent))
    if first is None:
        return Cell(profile, branch, view.name, FAULT, None, faults=faults)
    said = _said(first, view)
    if faults:
        return Cell(profile, branch, view.name, FAULT, first.status, said, faults=faults)
    outcome = _outcome(branch, first, view)
    given = _given(first.stdout) if outcome == VALUES and view.fields else None
    return Cell(profile, branch, view.name, outcome, first.status, "" if outcome in (VALUES, EMPTY) else said, given)


def still(data: bytes) -> bytes:
    """``data`` without the host's time."""
    return _CLOCK.sub(b"<time>", data)


def _known(branch: int, view: View, unknown: Collection[int], absent: Collection[int]) -> frozenset[int]:
    """The exit statuses that are documented."""
    return frozenset({0, *view.ends, *absent} if branch >= view.since else unknown)


def _faults(runs: tuple[SmiRun | None, SmiRun | None], known: Collection[int], absent: Collection[int]) -> list[str]:
    if any(run is None for run in runs):
        return ["does not end in time"]
    first, second = (run for run in runs if run is not None)
    for run in (first, second):
        if run.status < 0:
            return [f"ends by {signal.Signals(-run.status).name}"]
    found = []
    if first.status != second.status:
        found.append(f"ends with status {first.status} and {second.status}")
    if still(first.stdout) != still(second.stdout):
        found.append(f"prints bytes that nobody wrote: {_moved(first.stdout, second.stdout)}")
    if len(first.stdout) > MAX_TEXT:
        found.append(f"prints {len(first.stdout)} bytes")
    if first.stderr or second.stderr:
        found.append(f"says on stderr: {_line(first.stderr or second.stderr)}")
    if first.status not in {0, *absent} and not first.stdout.strip():
        found.append(f"ends with status {first.status} and says nothing")
    if first.status not in known:
        found.append(f"ends with status {first.status}, documented: {', '.join(map(str, sorted(known)))}")
    return found


def _outcome(branch: int, run: SmiRun, view: View) -> str:
    if run.status:
        return REFUSED if branch >= view.since else UNKNOWN
    if not run.stdout.strip():
        return EMPTY
    return NONE if view.none and any(_is_none(line, view) for line in run.stdout.splitlines()) else VALUES


def _is_none(line: bytes, view: View) -> bool:
    return line.strip().startswith(view.none.encode())


def _said(run: SmiRun, view: View) -> str:
    """The line that says why there are no readings: of a view that knows one, that; else all that is said, or the last line of a longer text."""
    lines = [line for line in run.stdout.splitlines() if line.strip()]
    lines = [line for line in lines if b"\t" not in line.strip()] or lines  # without the heading of a table that was not printed
    chosen = [line for line in lines if view.none and _is_none(line, view)][:1] or (lines if len(lines) <= _FEW else lines[-1:])
    return " ".join(map(_line, chosen))


def _line(data: bytes) -> str:
    """The first line of ``data``, cut, as text."""
    lines = data.strip().splitlines()
    return b" ".join(_ESCAPE.sub(b"", lines[0]).split())[:SAID_BYTES].decode("utf-8", "backslashreplace") if lines else ""


def _moved(first: bytes, second: bytes) -> str:
    """The first lines that differ."""
    one, other = still(first).splitlines(), still(second).splitlines()
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            return f"{_line(mine)!r} and {_line(theirs)!r}"
    return f"{len(one)} and {len(other)} lines"


def _given(data: bytes) -> tuple[int, int]:
    """How many columns of values between commas have one in any line below the heading, and how many there are; a body in brackets is no value."""
    heading, *lines = data.splitlines() or [b""]
    rows = [line.split(b", ") for line in lines]
    columns = heading.count(b", ") + 1
    given = sum(any(len(row) == columns and not row[i].strip().startswith(b"[") for row in rows) for i in range(columns))
    return given, columns
