"""A check as text for people: one line a case, then what was found."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from harness.reports import document
from harness.stages.compare import ruling
from harness.stages.compare.case import CONTRADICTION
from harness.stages.compare.rules import BinaryRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.console import Console

    from harness.stages.compare import Case, Finding
    from harness.stages.compare.ruling import Use

SHOWN = 20
"""Findings printed in full for a case; the JSON has them all."""
MAX_WIDTH = 10_000
COLUMNS = (
    "capture", "view", "kind", "driver", "layout", "gpus", "elements", "exact", "unmodelled", "redacted", "deferred", "moved", "assumed", "rules",
    "findings", "bytes", "baselines",
)  # fmt: skip
DROPPED = (
    "layout", "baselines", "rules", "assumed", "moved", "redacted", "deferred", "unmodelled", "gpus", "view", "driver", "exact", "elements", "kind",
)  # fmt: skip
"""What a narrow terminal goes without, in this order; the other columns stay whatever its width."""
_TEXTS = ("capture", "view", "kind", "driver", "layout", "bytes", "baselines")


def check(
    cases: Iterable[Case],
    console: Console,
    drift: Iterable[str] = (),
    uses: Iterable[Use] = (),
    width: int | None = None,
    pending: Iterable[str] = (),
) -> None:
    """Print the cases on ``console``: a table, the first findings of each, ``drift`` of other files, rules, a last line with the outcome.

    ``width``: columns of the terminal, which columns of the table are chosen by; None for a pipe or a log, which lose nothing.
    ``pending``: ids for which something is proposed, which was not compared.
    """
    every, others, ruled = list(cases), list(drift), list(uses)
    listed = [case for case in every if not case.skipped]
    shown = list(COLUMNS)
    for name in DROPPED:
        if width is None or _measure(console, _table(listed, shown)) <= width:
            break
        shown.remove(name)
    table = _table(listed, shown)
    console.width = max(console.width, _measure(console, table))
    console.print(table)
    if left_out := [name for name in COLUMNS if name not in shown]:
        console.print(Text(f"not shown in {width} columns: {', '.join(left_out)} (--json FILE has them)"))
    for case in listed:
        _findings(case, console)
    for line in [*_printed(listed), *filter(None, [skipped(every)])]:
        console.print(Text(line))
    for line in others:
        console.print(Text(f"drift: {line}"))
    for use in ruled:
        if isinstance(use.rule, BinaryRule) and not (use.covers or use.problem):
            continue  # of a pair of releases that nothing here is of
        console.print(Text(f"rule {use.line}"))
    if waiting := list(pending):
        console.print(Text(f"{len(waiting)} pending, not compared (nvparity review): {', '.join(waiting)}"))
    if any(case.printed is not None for case in every):
        console.print(Text(f"binary rules used: {ruling.binary_rules_used(ruled)}"))
    console.print(Text(summary(every, len(others), sum(1 for use in ruled if use.problem))))


def summary(cases: list[Case], others: int = 0, idle: int = 0) -> str:
    """The last line: how many captures reach parity, over how many elements.

    ``others``: drifted files that belong to no case; ``idle``: rules that are expired or do nothing.
    """
    outcomes = document.outcomes(cases)
    elements = sum(case.counts.elements for case in cases)
    findings = sum(len(case.findings) for case in cases)
    drift = sum(len(case.drift) for case in cases) + others
    line = f"parity: {outcomes['parity']} of {outcomes['captures']} captures, {elements} elements, {findings} findings"
    line += f", {outcomes['edited']} edited: not compared" if outcomes["edited"] else ""
    line += f", {outcomes['skipped']} without a binary: not compared" if outcomes["skipped"] else ""
    return line + (f", {drift} drifted" if drift else "") + (f", {idle} rules fail" if idle else "")


def skipped(cases: Iterable[Case]) -> str:
    """The captures that nothing was compared of though nobody changed them, by reason and driver; empty where there are none."""
    reasons: dict[str, dict[str, set[str]]] = {}
    for case in cases:
        if case.skipped:
            reasons.setdefault(case.skipped, {}).setdefault(case.driver, set()).add(case.id)
    told = []
    for reason, drivers in reasons.items():
        count = sum(map(len, drivers.values()))
        by_driver = ", ".join(f"{driver}: {len(ids)}" for driver, ids in sorted(drivers.items()) if driver != "-")
        told.append(f"{count} captures, {reason}" + (f" ({by_driver})" if by_driver else ""))
    return f"not compared: {'; '.join(told)}" if told else ""


def _printed(cases: Iterable[Case]) -> list[str]:
    """What real binaries printed, and what could not be the capture's; nothing for another renderer."""
    printed = [(case, case.printed) for case in cases if case.printed is not None]
    if not printed:
        return []
    pairs = Counter((facts.origin, facts.version) for _, facts in printed)
    served = ", ".join(f"{origin} as {version}{f' ({count})' if count > 1 else ''}" for (origin, version), count in sorted(pairs.items()))
    aside = sum(case.counts.aside for case, _ in printed)
    lines = [f"printed by nvidia-smi, re-targeted: {served}", f"set aside: {aside} elements (timestamp: the host's; driver_version: the binary's)"]
    for case, facts in printed:
        if facts.lacking:
            lines.append(f"{case.id}: {len(facts.lacking)} rows of {facts.version} without data, not supported: {', '.join(facts.lacking)}")
    return lines


def _measure(console: Console, table: Table) -> int:
    """How wide the table is with nothing wrapped."""
    return console.measure(table, options=console.options.update(max_width=MAX_WIDTH)).maximum


def _table(cases: list[Case], shown: list[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in shown:
        table.add_column(name, justify="left" if name in _TEXTS else "right", no_wrap=True)
    for case in cases:
        cells = _cells(case)
        table.add_row(*(Text(cells[name]) for name in shown))
    return table


def _cells(case: Case) -> dict[str, str]:
    """Column -> what it says of the case."""
    counts = case.counts
    ruled = counts.volatile + counts.tolerated + counts.gaps + case.excused
    based = ", ".join(f"{view} {outcome}" for view, outcome in case.baselines.items())
    kind = case.kind if case.compared else f"{case.kind}: not compared"
    deferred = reasons(case.deferrals) or "0"
    numbers = (case.gpus, counts.elements, counts.exact, counts.unmodelled, counts.redacted, deferred, counts.moved, counts.assumed, ruled,
               len(case.findings))  # fmt: skip
    driver = case.driver if case.printed is None or not case.printed.retargeted else f"{case.printed.origin} as {case.printed.version}"
    texts = (case.id, case.view, kind, driver, case.layout)
    return dict(zip(COLUMNS, (*texts, *map(str, numbers), case.bytes, based), strict=True))


def reasons(deferrals: Mapping[str, int]) -> str:
    """Why elements are deferred and how many: ``mig: 57``."""
    return ", ".join(f"{reason}: {count}" for reason, count in deferrals.items())


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
    if finding.kind == CONTRADICTION:
        made = f"row {finding.row} makes {_side(finding.actual)} of {finding.call}"
        return f"{finding.kind} {finding.path}: nvidia-smi printed {_side(finding.expected)}, {made}{rule}"
    return f"{finding.kind} {finding.path}: expected {_side(finding.expected)}, got {_side(finding.actual)}{rule}"


def _side(text: str | None) -> str:
    return "nothing" if text is None else repr(text)
