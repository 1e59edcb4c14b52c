"""Elements that some boards of one driver print and others do not: the predicate, of the closed set, that tells those boards apart.

Tried in the order of what is least to claim: the element's own row answered, the architecture, a mode.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from harness.stages.derive_walk import VALUE, Walker
from harness.tables.drivers import Driver
from harness.tables.layout import ARCHITECTURES, Element, Predicate, with_children
from harness.text.outline import Queried

_MODES = ("ecc", "mig")
_ENABLED = 1
_INDEX = re.compile(r"\[[0-9]+\]")


@dataclass(frozen=True)
class Board:
    """One GPU block of a capture.

    places    of every element it prints, without indices; ``blocks`` of those with others inside
    answered  rows that have a value; ``modes`` that are on
    """

    architecture: int | None
    places: frozenset[str]
    blocks: frozenset[str]
    answered: frozenset[str]
    modes: frozenset[str]

    def holds(self, predicate: Predicate) -> bool | None:
        """Whether ``predicate`` holds for the board; None where its elements do not say it."""
        if predicate.kind == "arch":
            return predicate.holds_for(self.architecture)
        if predicate.kind == "answered":
            return (predicate.name in self.answered) != (predicate.sign == "!")
        return predicate.name in self.modes if predicate.kind == "mode" else None


def boards(document: Queried, driver: Driver) -> list[Board]:
    """The GPU blocks of ``document``, read along the layout of ``driver``."""
    walker = Walker(document, driver)
    values: list[dict[str, object]] = [{} for _ in document.gpus]
    for reading in walker.readings():
        if reading.gpu is not None and reading.row is not None and reading.kind == VALUE:
            values[reading.gpu].setdefault(reading.row, reading.raw)
    return [
        Board(
            walker.architecture(number),
            frozenset(_place(path) for path, _ in gpu.walk()),
            frozenset({"gpu", *(_place(path) for path, node in gpu.walk() if node.children)}),
            frozenset(values[number]),
            frozenset(mode for mode in _MODES if values[number].get(f"{mode}.mode_current") == _ENABLED),
        )
        for number, gpu in enumerate(document.gpus)
    ]


def settle(old: Element, new: Element, known: Sequence[Board]) -> Element:
    """``new``, a root that prints one capture of ``known``, so that it prints all of them; ``old``, the root before it, printed the others.

    What no predicate tells apart stays as ``new`` has it.
    """
    before, after = old.child("gpu"), new.child("gpu")
    if before is None or after is None:
        return new
    gpu = _settle(before, after, "gpu", known)
    return with_children(new, tuple(gpu if child is after else child for child in new.children))


def _place(path: str) -> str:
    return f"gpu/{_INDEX.sub('', path)}"


def _settle(old: Element, new: Element, place: str, known: Sequence[Board]) -> Element:
    children: list[Element] = []
    for child in new.children:
        where = f"{place}/{child.name}"
        twins = [other for other in new.children if other.name == child.name]
        before = [other for other in old.children if other.name == child.name]
        kept = child
        if len(twins) == 1 and child.repeat is None:
            if len(before) == 1 and child.children:
                kept = _settle(before[0], child, where, known)
            kept = _fitting(kept, place, known)
        children.append(kept)
    for number, gone in enumerate(old.children):
        if gone.when is None and gone.repeat is None and new.child(gone.name) is None:
            kept = _fitting(gone, place, known)
            if kept.when is not None:
                earlier = {sibling.name for sibling in old.children[:number]}
                children.insert(max((at + 1 for at, other in enumerate(children) if other.name in earlier), default=0), kept)
    return with_children(new, tuple(children))


def _fitting(element: Element, place: str, known: Sequence[Board]) -> Element:
    """``element`` of the block at ``place`` with a predicate that holds for exactly the boards that print it, where one is needed and found."""
    if not any(True for _ in element.rows()):
        return element  # kept verbatim with the capture that prints it
    where = f"{place}/{element.name}"
    shown = [(board, where in board.places) for board in known if place in board.blocks]
    if not any(there for _, there in shown) or (element.when is None and all(there for _, there in shown)):
        return element
    if element.when is not None and all(board.holds(element.when) in (None, there) for board, there in shown):
        return element
    for predicate in _candidates(element):
        if all(board.holds(predicate) == there for board, there in shown):
            return replace(element, when=predicate)
    return element


def _candidates(element: Element) -> Iterator[Predicate]:
    for row in dict.fromkeys(row for row in (element.collapse, *element.rows()) if row is not None):
        yield Predicate("answered", row)
    for sign in (">=", "<", "="):
        yield from (Predicate("arch", name, sign) for name in ARCHITECTURES)
    yield from (Predicate("mode", name) for name in _MODES)
