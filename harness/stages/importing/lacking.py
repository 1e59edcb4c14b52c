"""What a profile made from `-q` text alone lacks, which `-q -x` of the node would say: for the report of an import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.stages import seen
from harness.stages.importing import source
from harness.tables import rows, sections
from harness.text.outline import Outline

if TYPE_CHECKING:
    from harness.stages.importing.given import Given
    from harness.tables.drivers import DriverTree

SHOWN = 6
"""Readings that a note names."""


def notes(given: Given, tree: DriverTree) -> list[str]:
    """One sentence that names the readings which the driver's `-q -x` prints and its `-q`, or the sections of it that were given, does not."""
    text = given.queried
    version = None if text is None else source.driver_of(text)
    if not isinstance(text, Outline) or version is None:
        return []
    driver, table = tree.resolve(version), rows.load()
    told = {table[row].field or row for row in sections.select(seen.by(text, driver).layout, text.sections).rows()}
    left = [row for row in dict.fromkeys(driver.layout.rows()) if (table[row].field or row) not in told]
    named = list(dict.fromkeys(table[row].field or row for row in left))
    if not named:
        return []
    more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    what = f"the sections {', '.join(text.sections)} of `nvidia-smi -q`" if text.sections else "`nvidia-smi -q`"
    return [f"{what} alone: the profile lacks what `-q -x` prints beside ({', '.join(named[:SHOWN])}{more}); give that of the node, too, to have it"]
