"""A bar on a terminal while many files are worked on."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.console import Console

T = TypeVar("T")


def watched(items: Iterable[T], total: int, console: Console, doing: str, named: Callable[[T], str]) -> Iterator[T]:
    """``items``, ``total`` of them, with a bar on ``console`` while they come, where that is a terminal.

    ``doing``: the word before the bar; ``named``: what stands behind it of the item that came last.
    """
    columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[last]}", markup=False))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=total, last="")
        for item in items:
            progress.update(task, advance=1, last=named(item))
            yield item
