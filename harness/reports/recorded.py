"""A recording as a table and text for people: what was asked, what came of it, where it went."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from harness.reports import document, imported
from mocklib.answers import RETURN_CODES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import Console

    from harness.stages.recording.pipeline import Recording

SHOWN = 20


def show(done: Recording, root: Path, console: Console) -> None:
    """Print ``done`` on ``console``: its views as a table, then a fact a line; paths are shown from ``root``."""
    if done.take is None or done.outcome == "left alone":
        console.print(Text(f"{done.id}: there already, left alone"))
        return
    console.print(Text(_head(done)))
    table = _views(done)
    console.width = max(console.width, console.measure(table, options=console.options.update(max_width=10_000)).maximum)
    if table.row_count:
        console.print(table)
    for line in _lines(done, root):
        console.print(Text(line))


def to_json(done: Recording) -> dict[str, Any]:
    """``done`` as JSON, version 1, with the import's."""
    found: dict[str, Any] = {"version": document.VERSION, "id": done.id, "outcome": done.outcome}
    recorded = None if done.take is None else done.take.given.recorded
    if done.take is None or recorded is None or recorded.taken is None:
        return found
    views = {
        view: {"command": list(run.command), "status": run.status, "outcome": done.take.outcomes[view], "said": done.take.said.get(view, "")}
        for view, run in recorded.runs.items()
    }
    return {
        **found,
        "driver": done.take.given.driver,
        "nvidia_smi": recorded.taken.nvidia_smi,
        "root": recorded.taken.root,
        "views": views,
        "answers": _codes(done),
        "moved": list(recorded.taken.moved),
        "timeline": done.take.sampled or None,
        "explained": None if done.made is None else done.made.explained,
        "residual": None if done.made is None else dict(done.made.residual),
        "scrubbed": {family: count for family, count in done.take.given.report.items() if count},
        "import": None if done.made is None else imported.to_json(done.made),
    }


def _head(done: Recording) -> str:
    assert done.take is not None
    given = done.take.given
    taken = None if given.recorded is None else given.recorded.taken
    binary = "no nvidia-smi run" if taken is None or not done.take.outcomes else f"nvidia-smi {taken.nvidia_smi or 'of a version it does not say'}"
    asked = "as root" if taken is not None and taken.root else "not as root"
    return f"{done.id}: driver {given.driver or 'not said'}, {binary}, asked {asked}"


def _views(done: Recording) -> Table:
    """A row a view: its command, exit status, what came of it and, where that is not a text, what it printed."""
    assert done.take is not None
    table = Table(box=None, pad_edge=False)
    for name in ("  view", "outcome", "status", "ms", "said"):
        table.add_column(name, justify="right" if name in ("status", "ms") else "left", no_wrap=True)
    for view, run in done.take.given.recorded.runs.items() if done.take.given.recorded is not None else ():
        status = "-" if run.status is None else str(run.status)
        cells = (f"  {view}", done.take.outcomes[view], status, str(run.duration_ms), done.take.said.get(view, ""))
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _codes(done: Recording) -> dict[str, int]:
    """Answers by code, the most frequent first; ``missing``: no such symbol."""
    recorded = None if done.take is None else done.take.given.recorded
    answers = () if recorded is None else recorded.answers.values()
    named = Counter("missing" if answer.missing else RETURN_CODES.get(answer.code, str(answer.code)) for answer in answers)
    return dict(sorted(named.items(), key=lambda entry: (-entry[1], entry[0])))


def _lines(done: Recording, root: Path) -> Iterator[str]:
    assert done.take is not None
    codes = _codes(done)
    yield f"  answers {sum(codes.values())}: " + ", ".join(f"{code} {count}" for code, count in codes.items())
    odd = [f"{view} ({outcome})" for view, outcome in done.take.outcomes.items() if outcome != "whole"]
    if odd:
        yield f"  not whole: {', '.join(odd)}"
    if done.take.sampled:
        yield f"  {done.take.sampled}"
    moved = done.take.given.recorded.moved if done.take.given.recorded is not None else ()
    if moved:
        yield from _listed("moved", list(moved))
    if done.made is not None:
        residual = sum(done.made.residual.values())
        yield f"  explained by keys {done.made.explained}, residual {residual}"
        yield from imported.facts(done.made, root, dry=done.outcome == "not written")
    else:
        report = {family: count for family, count in done.take.given.report.items() if count}
        yield "  scrubbed: " + (", ".join(f"{family} {count}" for family, count in report.items()) or "nothing to scrub")
    yield f"  {_end(done)}"


def _end(done: Recording) -> str:
    if done.outcome == "same":
        return f"same: nothing but times and hashes differs from {done.id}; nothing was written"
    if done.outcome == "not written":
        return "mode none: nothing was written"
    assert done.made is not None
    return imported.outcome(done.made)


def _listed(word: str, entries: list[str]) -> Iterator[str]:
    yield from (f"  {word}: {entry}" for entry in entries[:SHOWN])
    if len(entries) > SHOWN:
        yield f"  and {len(entries) - SHOWN} more"
