"""A check as text for people: one line a case, then what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from harness.stages.compare import Case, Finding

SHOWN = 20
"""Findings printed in full for a case; the JSON has them all."""
MAX_WIDTH = 10_000


def check(cases: Iterable[Case], console: Console, drift: Iterable[str] = ()) -> None:
    """Print the cases on ``console``: a table, the first findings of each, ``drift`` of other files, a last line with the outcome."""
    listed, others = list(cases), list(drift)
    table = _table(listed)
    # As wide as its content: a terminal wraps what is wider, a pipe and a log lose nothing.
    console.width = max(console.width, console.measure(table, options=console.options.update(max_width=MAX_WIDTH)).maximum)
    console.print(table)
    for case in listed:
        _findings(case, console)
    for line in others:
        console.print(Text(f"drift: {line}"))
    console.print(Text(summary(listed, len(others))))


def summary(cases: list[Case], others: int = 0) -> str:
    """The last line: how many cases reach parity, over how many elements; ``others``: drifted files that belong to no case."""
    good = sum(1 for case in cases if case.parity)
    elements = sum(case.counts.elements for case in cases)
    findings = sum(len(case.findings) for case in cases)
    drift = sum(len(case.drift) for case in cases) + others
    line = f"parity: {good} of {len(cases)} captures, {elements} elements, {findings} findings"
    return line + (f", {drift} drifted" if drift else "")


def _table(cases: list[Case]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("capture", "driver", "layout"):
        table.add_column(name, no_wrap=True)
    for name in ("gpus", "elements", "exact", "unmodelled", "assumed", "rules", "findings"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("bytes", no_wrap=True)
    table.add_column("baselines", no_wrap=True)
    for case in cases:
        counts = case.counts
        ruled = counts.volatile + counts.tolerated + counts.gaps + counts.deferred
        based = ", ".join(f"{view} {outcome}" for view, outcome in case.baselines.items())
        numbers = (case.gpus, counts.elements, counts.exact, counts.unmodelled, counts.assumed, ruled, len(case.findings))
        table.add_row(Text(case.id), Text(case.driver), Text(case.layout), *(str(number) for number in numbers), Text(case.bytes), Text(based))
    return table


def _findings(case: Case, console: Console) -> None:
    for line in case.drift:
        console.print(Text(f"drift: {line}"))
    for finding in case.findings[:SHOWN]:
        console.print(Text(f"{case.id}: {line_of(finding)}"))
    more = len(case.findings) - SHOWN
    if more > 0:
        console.print(Text(f"{case.id}: and {more} more (--json FILE has them all)"))


def line_of(finding: Finding) -> str:
    """One finding as one line: kind, path, both sides."""
    rule = f" ({finding.rule})" if finding.rule else ""
    return f"{finding.kind} {finding.path}: expected {_side(finding.expected)}, got {_side(finding.actual)}{rule}"


def _side(text: str | None) -> str:
    return "nothing" if text is None else repr(text)
