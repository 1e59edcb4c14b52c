"""What there is, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.stages.showing.catalogue import Entry

HEADS = ("id", "short", "driver", "gpus", "kind", "views", "has")
DROPPED = ("has", "views", "kind", "driver", "gpus")
"""What a narrow terminal goes without, in this order."""


def lines(entries: Iterable[Entry], width: int | None = None) -> Iterator[str]:
    """A head and a line an entry; ``width``: columns of the terminal, which the columns are chosen by, None for a pipe or a file."""
    listed = list(entries)
    shown = list(HEADS)
    made = _columns(listed, shown)
    for name in DROPPED:
        if width is None or max(map(len, made)) <= width:
            break
        shown.remove(name)
        made = _columns(listed, shown)
    yield from made
    if left_out := [name for name in HEADS if name not in shown]:
        yield f"not shown in {width} columns: {', '.join(left_out)} (--json FILE has them)"
    yield from (f"{entry.id}: {entry.problem}" for entry in listed if entry.problem)


def _columns(listed: list[Entry], shown: list[str]) -> list[str]:
    """The table with the columns ``shown``, each as wide as it needs to be."""
    rows = [{name: name for name in HEADS}, *(_cells(entry) for entry in listed)]
    widths = {name: max(len(row[name]) for row in rows) for name in shown}
    padded = ([f"{row[name]:{'>' if name == 'gpus' else '<'}{widths[name]}}" for name in shown] for row in rows)
    return ["  ".join(cells).rstrip() for cells in padded]


def _cells(entry: Entry) -> dict[str, str]:
    has = "+".join(kind for kind, there in (("capture", entry.capture), ("profile", entry.profile), ("pending", entry.pending)) if there)
    gpus = "-" if entry.gpus is None else str(entry.gpus)
    views = "+".join(entry.views) or "-"
    cells = (entry.id, ", ".join(entry.short) or "-", entry.driver or "-", gpus, entry.kind or "-", views, has)
    return dict(zip(HEADS, cells, strict=True))
