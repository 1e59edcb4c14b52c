"""How a driver spells a reading: where its parent's format cannot read what a capture prints, another driver's that can, with its route."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.stages.derive_walk import UNMODELLED, VALUE, Walker
from harness.tables import formats

if TYPE_CHECKING:
    from harness.tables.drivers import Driver, DriverTree
    from harness.tables.layout import Element
    from harness.text.outline import Queried


def donors(document: Queried, driver: Driver, root: Element, tree: DriverTree) -> dict[str, Driver]:
    """Row -> the driver, nearest by branch, whose format reads every text that ``document`` prints for it, for the rows ``driver`` cannot read."""
    texts: dict[str, set[str]] = {}
    unread: set[str] = set()
    for reading in Walker(document, replace(driver, layout=root)).readings():
        if reading.row is not None and reading.kind in (VALUE, UNMODELLED):
            texts.setdefault(reading.row, set()).add(reading.text)
            if reading.kind == UNMODELLED:
                unread.add(reading.row)
    others = [tree.resolve(version) for version in sorted(tree.versions(), key=lambda known: abs(known.branch - driver.version.branch))]
    found: dict[str, Driver] = {}
    for row in sorted(unread):
        donor = next((other for other in others if row in other.routes and _reads(other, row, texts[row])), None)
        if donor is not None and donor.forms.get(row) != driver.forms.get(row):
            found[row] = donor
    return found


def _reads(driver: Driver, row: str, texts: set[str]) -> bool:
    """Whether a driver's format of ``row`` reads every text."""
    form = driver.form(row)
    try:
        for text in texts:
            form.parse(text)
    except formats.FormatError:
        return False
    return True


def respelt(driver: Driver, found: Mapping[str, Driver]) -> Driver:
    """``driver`` with the formats of ``found``."""
    forms = {**driver.forms, **{row: donor.forms[row] for row, donor in found.items() if row in donor.forms}}
    for row, donor in found.items():
        if row not in donor.forms:
            forms.pop(row, None)
    return replace(driver, forms=forms)
