"""What a render does not ask of a node's own library: rows that rest on a private table no binary of the driver's branch showed.

In the table of another branch the same slot may be one that writes (slots of a reset and of persistence stand among those that read), so such a
slot is not called, and every element whose text or presence hangs on one says nothing about our rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.stages.render import lists
from harness.tables import rows
from harness.tables.drivers import Driver
from harness.tables.layout import Element
from harness.tables.rows import Route
from harness.text import paths


@dataclass(frozen=True)
class Unasked:
    """``rows``: ids of the rows that a layout prints and that are not asked, in its order; ``places``: elements (paths without indices, attributes
    behind ``@``) whose text, entries or presence hang on one.
    """

    rows: tuple[str, ...] = ()
    places: frozenset[str] = frozenset()

    def covers(self, path: str) -> bool:
        """Whether the element at ``path`` (indices allowed) is one of these or stands in one."""
        steps = paths.distinct(path).split("/")
        return any("/".join(steps[:end]) in self.places for end in range(1, len(steps) + 1))


def of(driver: Driver) -> Unasked:
    """What is not asked on ``driver``; nothing where a binary of its branch showed its private table."""
    if driver.slots_are_own:
        return Unasked()
    resting = _resting(driver)
    places: set[str] = set()
    named: dict[str, None] = {}
    for path, element in driver.layout.walk():
        place = path.partition("/")[2]
        if _undecided(element, resting):
            places.add(place)
        if element.repeat is not None and resting.intersection(lists.rows_of(element.repeat)):
            places.add(place.rpartition("/")[0])
        places.update(f"{place}/@{name}" for name, row in element.attributes if row in resting)
        own = (element.row, element.collapse, *(row for _, row in element.attributes), *lists.rows_of(element.repeat or ""))
        named.update((row, None) for row in own if row is not None and row in resting)
    return Unasked(tuple(named), frozenset(places))


def _undecided(element: Element, resting: frozenset[str]) -> bool:
    """Whether an element's text, or whether it is there, hangs on a row that is not asked."""
    asked = {element.row, element.collapse}
    if element.when is not None and element.when.kind != "arch":
        asked.add(f"{element.when.name}.mode_current" if element.when.kind == "mode" else element.when.name)
    return bool(resting.intersection(row for row in asked if row is not None))


def _resting(driver: Driver) -> frozenset[str]:
    """Every row that a slot answers, or that is computed from or gated by one that a slot answers."""
    routes = {name: route for name, row in rows.load().items() if (route := driver.routes.get(name) or row.route) is not None}
    found = {name for name, route in routes.items() if route.kind == "slot"}
    while more := {name for name, route in routes.items() if name not in found and found.intersection(_needed(route))}:
        found |= more
    return frozenset(found)


def _needed(route: Route) -> tuple[str, ...]:
    """The rows that must be read before a route says anything."""
    return (*route.operands, *(() if route.gate is None else route.gate[:1]))
