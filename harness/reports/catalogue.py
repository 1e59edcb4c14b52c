"""What there is, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.stages.showing.catalogue import Entry

HEADS = ("id", "driver", "gpus", "kind", "views", "has", "short")


def lines(entries: Iterable[Entry]) -> Iterator[str]:
    """A head and a line an entry, in columns as wide as they need to be."""
    listed = list(entries)
    rows = [HEADS, *(_cells(entry) for entry in listed)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    for row in rows:
        cells = [f"{cell:>{width}}" if head == "gpus" else f"{cell:<{width}}" for head, cell, width in zip(HEADS, row, widths, strict=True)]
        yield "  ".join(cells).rstrip()
    yield from (f"{entry.id}: {entry.problem}" for entry in listed if entry.problem)


def _cells(entry: Entry) -> tuple[str, ...]:
    has = "+".join(kind for kind, there in (("capture", entry.capture), ("profile", entry.profile)) if there)
    gpus = "-" if entry.gpus is None else str(entry.gpus)
    return (entry.id, entry.driver or "-", gpus, entry.kind or "-", "+".join(entry.views) or "-", has, ", ".join(entry.short))
