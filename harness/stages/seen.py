"""A driver as one view has it: of a `-q` text the tree of its labels is the layout, less what `-d` left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.tables import sections
from harness.text.outline import Outline

if TYPE_CHECKING:
    from harness.tables.drivers import Driver
    from harness.text.outline import Queried


def by(text: Queried, driver: Driver) -> Driver:
    """``driver`` as the view of ``text`` has it: what it prints there, and what it asks for that."""
    if not isinstance(text, Outline):
        return driver
    texted = driver.in_text()
    return replace(texted, layout=sections.select(texted.layout, text.sections)) if text.sections else texted
