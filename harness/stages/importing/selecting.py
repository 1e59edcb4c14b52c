"""What `-d` named, where a `-q` text holds some sections only: the text does not say it, what it prints of the driver's labels does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.stages.importing import source
from harness.tables import sections
from harness.text.outline import Outline
from harness.text.transcript import VIEW_TEXT
from harness.words.errors import InputError

if TYPE_CHECKING:
    from harness.stages.importing.given import Given
    from harness.tables.drivers import Driver, DriverTree
    from harness.tables.layout import Element


def settle(given: Given, tree: DriverTree) -> Given:
    """``given`` with the sections told that its `-q` text is of."""
    text = given.texts.get(VIEW_TEXT)
    if not isinstance(text, Outline) or (version := source.driver_of(text)) is None:
        return given
    try:
        found = told(text, tree.resolve(version).in_text())
    except InputError:
        return given  # a version that is none, which a capture changed by hand may have
    return replace(given, texts={**given.texts, VIEW_TEXT: replace(text, sections=found)})


def told(text: Outline, driver: Driver) -> tuple[str, ...]:
    """The fewest sections of ``driver`` (as its `-q` text has it) that print every label ``text`` has below its GPUs; none where plain `-q` does, or
    where no choice of them prints just that.
    """
    gpu = driver.layout.child("gpu")
    printed = {child.tag for block in text.gpus for child in block.children}
    if gpu is None or not printed or text.cut or not _sure(sections.select(driver.layout, ())) - printed:
        return ()
    names = [name for name in sections.names(driver.layout) if _sure(sections.select(driver.layout, [name])) <= printed]
    chosen: list[str] = []
    left = set(printed)
    while left:
        best = max(names, key=lambda name: len(_labels(sections.select(driver.layout, [name])) & left), default=None)
        if best is None or not (gained := _labels(sections.select(driver.layout, [best])) & left):
            return ()
        chosen.append(best)
        left -= gained
    selected = sections.select(driver.layout, chosen)
    return tuple(name for name in names if name in chosen) if not _sure(selected) - printed else ()


def _labels(root: Element) -> set[str]:
    """The labels below a GPU in ``root``."""
    gpu = root.child("gpu")
    return set() if gpu is None else {child.name for child in gpu.children}


def _sure(root: Element) -> set[str]:
    """Those that stand there on every board."""
    gpu = root.child("gpu")
    return set() if gpu is None else {child.name for child in gpu.children if child.when is None}
