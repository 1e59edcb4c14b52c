"""A live check: its lines, and what its JSON has beside that of any check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.reports import document
from harness.reports.table import SHOWN
from mocklib.answers import RETURN_CODES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.stages.compare import Finding
    from harness.stages.live import Live
    from harness.stages.live.judging import Asked, Verdict

IMPORT = "`nvidia-smi -q -x > FILE`, then `nvparity import FILE`, writes the layout that this driver prints"


def lines(live: Live) -> Iterator[str]:
    """What was held against what, each finding with the call behind it, what was set aside and by what evidence, the outcome."""
    yield f"live: driver {live.driver}, layout {live.layout}{' (assumed)' if live.assumed else ''}, {live.library} against {live.smi}"
    for verdict in live.verdicts:
        yield _sum(verdict)
        for finding in verdict.case.findings[:SHOWN]:
            yield from _told(finding, verdict.asked.get(finding.path))
        if (more := len(verdict.case.findings) - SHOWN) > 0:
            yield f"  and {more} more (--json FILE has them all)"
        if verdict.moved:
            yield f"  moved between two runs of nvidia-smi, not compared: {', '.join(verdict.moved[:SHOWN])}{_rest(len(verdict.moved))}"
    if live.not_asked:
        yield f"not asked, no binary of this branch showed its private table: {', '.join(live.not_asked)}"
    if live.layout_differs:
        yield f"elements differ: {IMPORT}"
    elif live.assumed:
        yield f"driver {live.driver} has no node: {IMPORT}"
    findings = sum(len(verdict.case.findings) for verdict in live.verdicts)
    yield "parity" if live.parity else f"{findings} finding{'' if findings == 1 else 's'}"


def _sum(verdict: Verdict) -> str:
    case, counts = verdict.case, verdict.case.counts
    deferred = "".join(f", {number} {reason}" for reason, number in case.deferrals.items())
    kept = f", {counts.unmodelled} unmodelled" if counts.unmodelled else ""
    whole = f"{case.view}: {counts.elements} elements of {case.gpus} GPU{'' if case.gpus == 1 else 's'}: {counts.exact} exact"
    return f"{whole}, {counts.volatile} moved{deferred}{kept}, {len(case.findings)} findings, bytes {case.bytes}"


def _told(finding: Finding, asked: Asked | None) -> Iterator[str]:
    sides = (_side(finding.expected), _side(finding.actual))
    yield f"  {finding.kind} {finding.path}: nvidia-smi prints {sides[0]}, we print {sides[1]}"
    if asked is not None and (said := _answer(asked)):
        yield f"    {said}"


def _side(text: str | None) -> str:
    return "nothing" if text is None else repr(text)


def _answer(asked: Asked) -> str:
    """The row, its call and what that gave."""
    told = [f"row {asked.row}"] if asked.row else []
    if asked.route:
        told.append(asked.route if asked.code is None else f"{asked.route} -> {_code(asked.code)}{_value(asked)}")
    return ", ".join([*told, *filter(None, [asked.why])])


def _code(code: int) -> str:
    return RETURN_CODES.get(code, str(code))


def _value(asked: Asked) -> str:
    return "" if asked.answer is None else f" {asked.answer!r}"


def _rest(count: int) -> str:
    return f" and {count - SHOWN} more" if count > SHOWN else ""


def document_of(live: Live) -> dict[str, Any]:
    """The JSON of a check, version 1, and ``live``: library, nvidia-smi, rows not asked, and of each view what moved and where findings come from."""
    views = {
        verdict.case.view: {"moved": list(verdict.moved), "asked": {path: _asked(asked) for path, asked in verdict.asked.items()}}
        for verdict in live.verdicts
    }
    about = {"driver": live.driver, "layout": live.layout, "assumed": live.assumed, "library": live.library, "smi": live.smi, "raw": live.raw}
    return {**document.check([verdict.case for verdict in live.verdicts]), "live": {**about, "not_asked": list(live.not_asked), "views": views}}


def _asked(asked: Asked) -> dict[str, Any]:
    code = None if asked.code is None else _code(asked.code)
    return {"row": asked.row, "route": asked.route, "code": code, "answer": asked.answer, "why": asked.why}
