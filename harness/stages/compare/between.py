"""Readings that moved between a node's `-q -x` and its `-q`: two commands, one after the other, of which the profile says the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.stages import seen
from harness.stages.derive_walk import Walker
from harness.stages.importing import source

if TYPE_CHECKING:
    from harness.stages.derive_walk import Reading
    from harness.stores.captures import Capture
    from harness.tables.drivers import DriverTree
    from harness.text.outline import Queried

Key = tuple[str | None, int | None, tuple[int, ...]]


def moved(capture: Capture, tree: DriverTree) -> frozenset[str]:
    """Paths of the `-q` view whose row has another reading in the `-q -x` view of the same capture; none of a capture that lacks either."""
    if capture.query is None or capture.outline is None or (version := source.driver_of(capture.query)) is None:
        return frozenset()
    driver = tree.resolve(version)
    texts: tuple[Queried, Queried] = (capture.query, capture.outline)
    first, second = ({_key(one): one for one in Walker(text, seen.by(text, driver)).readings()} for text in texts)
    return frozenset(one.path for key, one in second.items() if key[0] is not None and key in first and _said(one) != _said(first[key]))


def _key(reading: Reading) -> Key:
    return reading.row, reading.gpu, reading.entry


def _said(reading: Reading) -> tuple[object, ...]:
    return reading.kind, reading.raw, reading.state
