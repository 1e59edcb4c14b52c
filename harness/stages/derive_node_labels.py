"""Labels that no driver's `-q` text has, named by the rows of `-q -x`: what a row is called is what `-q` prints for it.

A label is a row's where exactly one row of that name is printed by the driver's `-q -x`, else by another's, and by no label of its text already.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.tables import rows
from harness.tables.layout import Element, Predicate, with_children
from harness.text.model import REPEATED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.tables.drivers import Driver, DriverTree


def named(root: Element, driver: Driver, tree: DriverTree) -> tuple[Element, dict[str, Driver]]:
    """``root``, what a `-q` text of ``driver`` prints, with rows for its labels, and their predicates; row -> the driver whose `-q -x` prints it."""
    unnamed = [element for element in _leaves(root) if element.row is None]
    if not unnamed:
        return root, {}
    used = set(root.rows())
    once = {label for label, count in Counter(_plain(element.name) for element in unnamed).items() if count == 1}
    nearest = sorted(tree.versions(), key=lambda version: abs(version.branch - driver.version.branch))
    found: dict[str, tuple[str, Driver]] = {}
    for donor in (tree.resolve(driver.version), *(tree.resolve(version) for version in nearest)):
        for label, row in _sole(donor.layout.rows(), used).items():
            if label in once:
                found.setdefault(label, (row, donor))
    elements = {label: Element(row, row, when=_when(donor.layout, row)) for label, (row, donor) in found.items()}
    return _with_rows(root, elements), dict(found.values())


def _when(layout: Element, row: str) -> Predicate | None:
    """The predicate on the element that prints ``row``."""
    return next((element.when for _, element in layout.walk() if element.row == row), None)


def _plain(label: str) -> str:
    return label.strip().casefold()


def _sole(printed: Iterable[str], used: set[str]) -> dict[str, str]:
    """Label -> row, of the rows ``printed`` and not ``used`` that share their label with no other such row."""
    table = rows.load()
    free = [row for row in dict.fromkeys(printed) if row not in used]
    counted = Counter(_plain(table[row].label) for row in free)
    return {label: row for row in free if counted[label := _plain(table[row].label)] == 1}


def _leaves(element: Element) -> Iterator[Element]:
    """The elements without others inside, entries of lists left out."""
    for child in element.children:
        if child.name in REPEATED and child.name != "gpu":
            continue
        if child.children:
            yield from _leaves(child)
        else:
            yield child


def _with_rows(element: Element, found: dict[str, Element]) -> Element:
    children = []
    for child in element.children:
        if child.name in REPEATED and child.name != "gpu":
            children.append(child)
        elif child.children:
            children.append(_with_rows(child, found))
        else:
            known = found.get(_plain(child.name)) if child.row is None else None
            children.append(child if known is None else replace(child, row=known.row, when=known.when))
    return with_children(element, tuple(children))
