"""The table of ``nvparity ctl watch``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from harness.stages.overriding import watching

MAX_WIDTH = 10_000


def width(console: Console, made: Table) -> int:
    """Columns that the whole table takes: a pipe or a log loses nothing."""
    return Measurement.get(console, console.options.update(max_width=MAX_WIDTH), made).maximum


def table(rows: Iterable[Sequence[str]], title: str = "") -> Table:
    """The readings of a frame (``watching.frame``); ``title``: where the state is."""
    made = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    made.add_column("GPU")
    for column in watching.COLUMNS:
        made.add_column(column.title, justify="left" if column.title in ("name", "event reasons") else "right")
    for row in rows:
        made.add_row(*row)
    return made
