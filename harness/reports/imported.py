"""An import as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.reports import document, successions, table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.stages.importing.pipeline import Imported

SHOWN = 20
_OPERATIONS = (("add", "gained"), ("remove", "lost"), ("rename", "renamed"), ("move", "moved"), ("replace", "changed"))


def lines(made: Imported, root: Path) -> Iterator[str]:
    """What was read, replaced, written and proven, one line a fact; paths are shown from ``root``."""
    yield f"{made.id}: {made.kind}, driver {made.driver or 'not said'}"
    if made.explained or made.residual:
        answers = made.explained + sum(made.residual.values())
        yield f"  answers {answers}: explained by keys {made.explained}, residual {answers - made.explained}"
    yield from facts(made, root)
    yield f"  {outcome(made)}"
    if made.compared is not None:
        yield from successions.lines(made.compared)
    if made.pending:
        yield f"  pending: nvparity review {made.id} shows the differences, nvparity accept {made.id} takes it, nothing else changed"


def facts(made: Imported, root: Path, *, dry: bool = False) -> Iterator[str]:
    """What was read, replaced and written, and what the proof found; ``dry``: nothing was written, whatever ``made`` says."""
    readings = made.readings
    apart = {kind: readings.get(kind, 0) for kind in ("unmodelled", "redacted", "deferred")}
    reasons = f" ({table.reasons(made.deferrals)})" if made.deferrals else ""
    modelled = readings["elements"] - sum(apart.values())
    if readings["elements"] or not made.explained:
        counts = {"modelled": modelled, **apart}
        yield f"  elements {readings['elements']}: " + ", ".join(f"{kind} {count}" for kind, count in counts.items()) + reasons
    if made.states:
        yield "  states: " + ", ".join(f"{count} x {text!r}" for text, count in made.states.items())
    yield "  scrubbed: " + (", ".join(f"{family} {count}" for family, count in made.scrubbed.items()) or "nothing to scrub")
    yield from (f"  looks like an identifier still: {line}" for line in made.residue)
    yield from (f"  note: {note}" for note in made.notes)
    yield from _listed("unmodelled", [_kept(path, text, made.reasons.get(path, "")) for path, text in made.unmodelled.items()])
    yield from _node(made)
    yield from (f"  {'proposed' if made.pending else 'wrote'} {path.relative_to(root)}" for path in ([] if dry else made.written))
    for case in made.cases:
        yield from _listed("finding", [table.line_of(finding) for finding in case.findings])
        yield from (f"  drift: {line}" for line in case.drift)


def _kept(path: str, text: str, why: str) -> str:
    """An element that is printed as it stands, and why no row gives it."""
    return f"{path}: {text!r}" + (f" ({why})" if why else "")


def to_json(made: Imported) -> dict[str, Any]:
    """The import as JSON, version 1, with the document of its check."""
    return {
        "version": document.VERSION,
        "id": made.id,
        "kind": made.kind,
        "driver": made.driver,
        "readings": made.readings,
        "states": made.states,
        "unmodelled": made.unmodelled,
        "reasons": made.reasons,
        "explained": made.explained,
        "residual": dict(made.residual),
        "deferrals": made.deferrals,
        "scrubbed": made.scrubbed,
        "node": None if made.learnt is None else {"version": made.learnt.version, "changes": list(made.learnt.changes), "gains": made.learnt.gains},
        "notes": list(made.notes),
        "residue": made.residue,
        "pending": made.pending,
        "compared": None if made.compared is None else successions.document(made.compared),
        "written": [str(path) for path in made.written],
        "check": document.check(made.cases),
    }


def outcome(made: Imported) -> str:
    """The last line: whether the mock prints what the node printed, and on what grounds."""
    if not made.cases or made.kind == "edited":
        return "edited: kept, not compared"
    if not made.parity:
        return f"NO PARITY: {sum(len(case.findings) for case in made.cases)} findings"
    exact = sum(case.counts.exact for case in made.cases)
    ground = "bytes equal" if all(case.bytes == "equal" for case in made.cases) else "readings equal"
    kept = len(made.unmodelled) + sum(made.deferrals.values())
    verbatim = f", {kept} printed verbatim" if kept else ""
    moved = sum(case.counts.moved for case in made.cases)
    aside = f", {moved} moved while they were recorded" if moved else ""
    return f"parity: rendered from the mock library, {ground}, {exact} elements exact{verbatim}{aside}"


def _node(made: Imported) -> Iterator[str]:
    if made.learnt is None:
        return
    version = made.learnt.version
    count = f"{len(made.learnt.changes)} change{'s' * (len(made.learnt.changes) != 1)}"
    said = f"driver node {version} gains {count}" if made.learnt.gains else f"new driver node {version}, {count} to its parent"
    yield f"  {said} (review profiles/drivers/{version}.yaml):"
    for operation, word in _OPERATIONS:
        yield from (f"    {word} {path}" for path in made.learnt.of(operation))


def _listed(word: str, entries: list[str]) -> Iterator[str]:
    yield from (f"  {word}: {entry}" for entry in entries[:SHOWN])
    if len(entries) > SHOWN:
        yield f"  and {len(entries) - SHOWN} more"
