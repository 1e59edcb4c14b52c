"""The import of a folder: its progress and one summary at the end."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from harness.reports import document, progress
from harness.stages.importing import folder
from harness.text import quoting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console

    from harness.stages.importing.folder import Outcome


HEADS = ("outcome", "file", "capture", "reason")


def watched(outcomes: Iterable[Outcome], total: int, console: Console) -> Iterator[Outcome]:
    """``outcomes``, ``total`` of them, with a bar on ``console`` while they come, where that is a terminal."""
    return progress.watched(outcomes, total, console, "importing", lambda outcome: _named(outcome.files[0]))


def summary(outcomes: list[Outcome], console: Console) -> None:
    """Print the outcomes on ``console``, those of one kind together, and a last line that counts them."""
    listed = [one for kind in folder.OUTCOMES for one in outcomes if one.outcome == kind]
    rows = [HEADS, *((one.outcome, " + ".join(map(_named, one.files)), one.id or "-", _named(_said(one))) for one in listed)]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:  # the last cell is not filled up to the longest reason: a terminal would fold the blanks into empty lines
        line = "  ".join([*map(set_cell_size, row[:-1], widths[:-1]), row[-1]])
        console.print(Text(line.rstrip(), style="bold" if row is HEADS else ""), soft_wrap=True)
    console.print(Text(_line(outcomes)))


def to_json(outcomes: list[Outcome]) -> dict[str, Any]:
    """The outcomes as JSON, version 1: ``totals`` by outcome, and ``files`` with one entry an outcome."""
    return {"version": document.VERSION, "totals": _totals(outcomes), "files": [_entry(outcome) for outcome in outcomes]}


def _entry(outcome: Outcome) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "files": list(outcome.files),
        "outcome": outcome.outcome,
        "id": outcome.id or None,
        "reason": outcome.reason or None,
        "status": outcome.status,
    }
    made = outcome.made
    if made is not None:
        node = None if made.learnt is None else made.learnt.version
        entry |= {"kind": made.kind, "driver": made.driver, "parity": made.parity, "readings": made.readings, "node": node, "residue": made.residue}
    return entry


def _named(text: str) -> str:
    """``text`` on one line: what does not print, as a line end in a file's name, is spelt out in quotes."""
    return text if text.isprintable() else quoting.quote(text)


def _said(outcome: Outcome) -> str:
    """The reason, or what an import without one has to tell."""
    made = outcome.made
    if made is None or outcome.reason:
        return outcome.reason
    told = [made.kind] if made.kind != "own" else []
    if made.unmodelled:
        told.append(f"{len(made.unmodelled)} unmodelled")
    if made.learnt is not None:
        told.append(f"{'more of' if made.learnt.gains else 'new'} driver node {made.learnt.version}")
    if made.residue:
        told.append(f"{len(made.residue)} that look like identifiers still")
    return ", ".join(told)


def _totals(outcomes: list[Outcome]) -> dict[str, int]:
    counted = Counter(outcome.outcome for outcome in outcomes)
    return {kind: counted[kind] for kind in folder.OUTCOMES}


def _line(outcomes: list[Outcome]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in _totals(outcomes).items())
