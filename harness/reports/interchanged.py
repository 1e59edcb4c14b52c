"""What an answers document of another tool did and did not say, for people."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from harness.text import dcgm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.text.dcgm import Left, Written

SHOWN = 6
"""Names given of one reason."""


def written(made: Written) -> Iterator[str]:
    """How many answers are in the document, and what it has no words for."""
    yield f"{made.kept} answers written" + (f", {len(made.left)} that the format cannot say:" if made.left else "")
    yield from left_out(made.left)


def left_out(left: Iterable[Left]) -> Iterator[str]:
    """One line a reason: how many, why, of what."""
    for why, found in dcgm.summary(tuple(left)).items():
        yield f"  {found.total()} x {why}: {_names(found)}"


def _names(found: Counter[str]) -> str:
    names = [name if count == 1 else f"{name} ({count})" for name, count in found.items()]
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
