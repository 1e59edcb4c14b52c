"""The matrix of views, binaries and boards: as text for people, as JSON, and as the page docs/views.md."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from harness.stages.matrix.cells import EMPTY, FAULT, NONE, REFUSED, UNKNOWN, VALUES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.stages.matrix.cells import Cell
    from harness.tables.views import View

VERSION = 1
SHOWN = 20
"""Faults printed in full; the JSON has them all."""
NAMED = 3
"""As many profiles of a line as are named; of more, how many there are."""
_MARKS = {VALUES: "values", NONE: "none", EMPTY: "empty", UNKNOWN: "-", FAULT: "FAULT"}

@dataclass(frozen=True)
class Line:
    """What ``view`` gives with each binary, in the order of the branches, for the ``profiles`` of which that is so."""

    view: str
    marks: tuple[str, ...]
    profiles: tuple[str, ...]


def mark(cell: Cell, *, counted: bool = False) -> str:
    """A cell in a word; ``counted``: how many fields of how many have a value, where there are any to name."""
    if cell.outcome == REFUSED:
        return str(cell.status)
    if counted and cell.given is not None:
        return f"{cell.given[0]}/{cell.given[1]}"
    return _MARKS[cell.outcome]


def lines(cells: Iterable[Cell], *, counted: bool = False) -> list[Line]:
    """The cells by view; profiles of which all binaries give the same share a line, the line of the most comes first."""
    rows: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        rows[cell.view][cell.profile].append(mark(cell, counted=counted))
    found = []
    for view, by_profile in rows.items():
        alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for profile, marks in by_profile.items():
            alike[tuple(marks)].append(profile)
        found += [Line(view, marks, tuple(names)) for marks, names in sorted(alike.items(), key=lambda item: -len(item[1]))]
    return found


def text(cells: Sequence[Cell], branches: Sequence[int], reasons: Sequence[View]) -> str:
    """The matrix for people: a line a view, or several where profiles differ; what was said instead of readings; faults; a last line."""
    listed = lines(cells, counted=len({cell.profile for cell in cells}) == 1)
    table = [("view", *map(str, branches), "profiles"), *((line.view, *line.marks, _names(line.profiles)) for line in listed)]
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]) - 1)]
    out = ["  ".join((*(word.ljust(width) for word, width in zip(row[:-1], widths, strict=True)), row[-1])).rstrip() for row in table]
    out += ["", *(f"{line}" for line in said(cells, reasons))]
    faults = [cell for cell in cells if cell.faults]
    out += [f"{cell.profile} {cell.branch} {cell.view}: {fault}" for cell in faults[:SHOWN] for fault in cell.faults]
    if len(faults) > SHOWN:
        out.append(f"{len(faults) - SHOWN} more cells with faults (--json FILE has them)")
    return "\n".join([*out, total(cells)]) + "\n"


def total(cells: Sequence[Cell]) -> str:
    """One line: how much was run and what came of it."""
    views, branches, boards = ({getattr(cell, name) for cell in cells} for name in ("view", "branch", "profile"))
    counts = Counter(cell.outcome for cell in cells)
    outcomes = ", ".join(f"{counts[name]} {name}" for name in (VALUES, NONE, EMPTY, REFUSED, UNKNOWN) if counts[name])
    size = f"{len(views)} views x {len(branches)} binaries x {len(boards)} profiles = {len(cells)} cells, each run twice"
    return f"matrix: {size}: {outcomes}; {counts[FAULT]} with faults"


def said(cells: Iterable[Cell], reasons: Sequence[View]) -> list[str]:
    """What is said instead of readings, each sentence of a view and a status once, with the branches that say it and the reason of the table."""
    why = {view.name: view.ends for view in reasons}
    found: dict[tuple[str, int, str], set[int]] = defaultdict(set)
    for cell in cells:
        if cell.outcome in (NONE, REFUSED) and cell.status is not None:
            found[cell.view, cell.status, cell.said].add(cell.branch)
    return [
        f"{view}: {status}: {sentence} ({', '.join(map(str, sorted(branches)))})" + (f": {why[view][status]}" if status in why[view] else "")
        for (view, status, sentence), branches in found.items()
    ]


def document(cells: Sequence[Cell], binaries: Mapping[int, str]) -> dict[str, Any]:
    """The matrix as JSON: the binaries' versions by branch, every cell."""
    return {"version": VERSION, "binaries": {str(branch): version for branch, version in binaries.items()}, "cells": [asdict(cell) for cell in cells]}


def page(cells: Sequence[Cell], branches: Sequence[int], reasons: Sequence[View]) -> str:
    """What docs/views.md has below its words: the total, and a part for each view with the table of it and what it says instead of readings."""
    heading = "| " + " | ".join((*map(str, branches), "profiles")) + " |\n" + "|---" * (len(branches) + 1) + "|\n"
    listed, sentences = lines(cells), said(cells, reasons)
    parts = [f"{total(cells)}\n"]
    for view in reasons:
        mine = [line for line in listed if line.view == view.name]
        together = sum(len(line.profiles) for line in mine)
        rows = "".join(f"| {' | '.join((*line.marks, _profiles(line, place, together)))} |\n" for place, line in enumerate(mine))
        start = f"{view.name}: "
        told = "".join(f"- {one.removeprefix(start)}\n" for one in sentences if one.startswith(start))
        command = " ".join(("nvidia-smi", *view.arguments))
        parts.append(f"### {view.name}\n`{command}`\n\n{heading}{rows}" + (f"\n{told}" if told else ""))
    return "\n".join(parts)


def read_page(text_: str) -> dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]]:
    """The tables of a page: view -> (marks, profiles named); the line of all others names none."""
    found: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
    view = ""
    for line in text_.splitlines():
        if line.startswith("### "):
            view = line.removeprefix("### ")
            found[view] = []
        elif view and line.startswith("| ") and not line.endswith("| profiles |"):
            *marks, named = (word.strip() for word in line.strip("|").split("|"))
            found[view].append((tuple(marks), () if named.startswith("all") else tuple(named.split(", "))))
    return found


def on_page(page_: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]], view: str, profile: str) -> tuple[str, ...]:
    """What a page that was read says of a view and a profile, in the order of its branches; empty where it says nothing."""
    others: tuple[str, ...] = ()
    for marks, named in page_.get(view, []):
        if profile in named:
            return marks
        others = others if named else marks
    return others


def _profiles(line: Line, place: int, together: int) -> str:
    """The profiles of a line of the page: the first line is that of all that no other one names."""
    if place:
        return ", ".join(line.profiles)
    return f"all {together}" if len(line.profiles) == together else f"all others: {len(line.profiles)}"


def _names(profiles: Sequence[str]) -> str:
    return ", ".join(profiles) if len(profiles) <= NAMED else f"{len(profiles)} profiles"
