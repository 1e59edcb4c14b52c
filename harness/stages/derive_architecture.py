"""The architecture of a board whose driver prints none: the oldest one for which the layout prints the elements that stand there.

Drivers before 495 have no product_architecture, and still choose by it which elements a board gets (ECC counters by family).  What is there
says what nvmlDeviceGetArchitecture answered, up to boards that the driver prints alike; of those the oldest is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from harness.tables.layout import ARCHITECTURES, Element, Predicate
from harness.text.model import Node
from harness.text.outline import Queried

ROW = "architecture"


class Told(NamedTuple):
    """What the elements say: nvmlDeviceArchitecture_t's number, and the ``place`` of the first element that only such a board prints."""

    number: int
    place: str


class _Choice(NamedTuple):
    """A place whose elements hang on the architecture alone: their predicates, and whether the board prints one."""

    place: str
    predicates: tuple[Predicate, ...]
    shown: bool

    def fits(self, number: int | None) -> bool:
        return any(predicate.holds_for(number) for predicate in self.predicates) == self.shown


def tell(document: Queried, gpu: int, layout: Element) -> Told | None:
    """The architecture of GPU block ``gpu`` by the elements it prints, where ``layout`` has no element for it.

    None where the layout prints the architecture, where a board without one prints the same, and where no architecture explains more of them.
    """
    block = layout.child("gpu")
    if block is None or ROW in layout.rows():
        return None
    choices = list(_choices(document.gpus[gpu], block, "gpu"))
    candidates: list[int | None] = [None, *sorted(ARCHITECTURES.values())]
    number = max(candidates, key=lambda known: sum(choice.fits(known) for choice in choices))  # the first of equals
    if number is None:
        return None
    return Told(number, next(choice.place for choice in choices if choice.fits(number) and not choice.fits(None)))


def _choices(node: Node, element: Element, place: str) -> Iterator[_Choice]:
    names = dict.fromkeys(child.name for child in element.children)
    for name in names:
        same = [child for child in element.children if child.name == name]
        inside = [child for child in node.children if child.tag == name]
        where = f"{place}/{name}"
        predicates = tuple(child.when for child in same if child.when is not None and child.when.kind == "arch")
        if len(predicates) == len(same):
            yield _Choice(where, predicates, bool(inside))
        if len(same) == 1 and inside and inside[0].children:
            yield from _choices(inside[0], same[0], where)
