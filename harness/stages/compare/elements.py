"""The elements that the layouts of two drivers have, by path without indices: what a rule of kind binary can be of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.text.transcript import VIEW_TEXT
from harness.words.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.tables.drivers import DriverTree
    from harness.tables.layout import Element


def check(path: str, of: str | None, versions: tuple[str, str], view: str, tree: DriverTree, where: str) -> None:
    """Raises InputError, from ``where``, for a ``path`` or an ``of`` that no layout of ``versions`` has in ``view`` (q-x or q)."""
    known: dict[str, None] = {}
    for version in versions:
        driver = tree.resolve(version)
        known |= dict.fromkeys(below(driver.text if view == VIEW_TEXT else driver.layout))
    for name, given in (("path", path), ("of", of)):
        if given is not None and given not in known:
            raise InputError(f"{where}: {name} {given!r} is no element of {' or '.join(versions)} in view {view}{did_you_mean(given, known)}")


def below(element: Element, prefix: str = "") -> Iterator[str]:
    """The paths of what stands below ``element``, attributes too; an entry without a line of its own is no step."""
    yield from (f"{prefix}@{name}" for name, _ in element.attributes)
    for child in element.children:
        path = prefix if child.bare else f"{prefix}{child.name}/"
        if not child.bare:
            yield path[:-1]
        yield from below(child, path)
