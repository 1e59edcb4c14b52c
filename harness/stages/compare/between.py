"""Readings that moved between a node's `-q -x` and its `-q`: two commands, one after the other, of which the profile says the first.

Only a reading of a moment can move so, which the list of getters tells (mocklib.getters); any other that the two have otherwise is a difference, and
one by which a GPU is known says that they are of two nodes.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from harness.stages import seen
from harness.stages.derive_walk import VALUE, Walker
from harness.stages.importing import source
from harness.tables import rows, serving
from harness.text.transcript import VIEW_QUERY, VIEW_TEXT
from harness.words.errors import InputError
from mocklib import getters, members
from mocklib.answers import Asked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from harness.stages.derive_walk import Reading
    from harness.stages.importing.source import Source
    from harness.stores.captures import Capture
    from harness.tables.drivers import Driver, DriverTree
    from harness.text.outline import Queried

Key = tuple[str | None, int | None, tuple[int, ...]]
KNOWN_BY = ("name", "serial", "vbios_version", "memory.total_bytes")
"""The rows by which a GPU is known beside its UUID."""


def moved(capture: Capture, tree: DriverTree) -> frozenset[str]:
    """Paths of the `-q` view whose row is a reading of a moment and has another in the `-q -x` view of the same capture; none of a capture that lacks
    either.
    """
    if capture.query is None or capture.outline is None or (version := source.driver_of(capture.query)) is None:
        return frozenset()
    driver = tree.resolve(version)
    texted = seen.by(capture.outline, driver)
    return frozenset(second.path for _, second in _otherwise(capture.query, capture.outline, driver) if moves(second.row or "", texted))


def same_node(texts: Mapping[str, Source], names: Mapping[str, str], tree: DriverTree) -> None:
    """Raises InputError where the `-q` among ``texts`` has another product name, serial number, VBIOS or memory total than the `-q -x`;
    ``names``: what messages call each view.
    """
    query, text = texts.get(VIEW_QUERY), texts.get(VIEW_TEXT)
    if query is None or text is None or (version := source.driver_of(query)) is None:
        return
    hidden = source.redacted(source.leaves(query)), source.redacted(source.leaves(text))
    for first, second in _otherwise(query, text, tree.resolve(version)):  # type: ignore[arg-type] # a view q-x is a Document, a view q an Outline
        told = first.kind == second.kind == VALUE and first.path not in hidden[0] and second.path not in hidden[1]
        if told and first.row in KNOWN_BY:
            sides = f"{names[VIEW_QUERY]} has {first.text} at {first.path}, {names[VIEW_TEXT]} has {second.text} at {second.path}"
            raise InputError(f"{names[VIEW_QUERY]} and {names[VIEW_TEXT]} are not of one node: {sides}; capture both again")


def moves(row: str, driver: Driver) -> bool:
    """Whether ``row`` is a reading of a moment on ``driver``, as its view has it: by its call, its field id, or what its slot or list comes from."""
    known = rows.load()
    route = driver.routes.get(row, known[row].route if row in known else None)
    if route is None:
        return False
    if route.kind == "call":
        return bool(route.summary) or getters.moving(Asked(route.target), route.out)
    if route.kind == "fieldvalue":
        number = driver.field_ids.get(route.target, -1)
        return getters.moving(Asked(getters.FIELD_VALUES, None, (("fieldId", number), ("scopeId", route.scope))), "value")
    if route.kind == "slot":
        return route.moving or serving.slot_fields().get(route.target) in _moving_fields()
    if route.kind == "member":
        beside = [other for other in known.values() if other.field and other.field == known[row].field]  # the list is kept in the same key
        return any(moves(other.id, driver) for other in beside if other.route is not None and other.route.kind != "member")
    return route.kind == "clock" or any(moves(operand, driver) for operand in route.operands)


@functools.cache
def _moving_fields() -> frozenset[str]:
    """The fields of the image that a call answers from of which the list of getters says that it moves."""
    return frozenset(name for function in getters.asked_functions() for name in _moving_fields_of(function))


def _moving_fields_of(function: str) -> Iterator[str]:
    getter = getters.getters()[function]
    if getter.moving is None:
        yield from members.reads(function)
    yield from (one.field for one in members.of(function, {}) if one.field is not None and getters.moving(Asked(function), one.out))


def _otherwise(query: Queried, text: Queried, driver: Driver) -> Iterator[tuple[Reading, Reading]]:
    """The readings of one row that the two views have otherwise."""
    first, second = ({_key(one): one for one in Walker(view, seen.by(view, driver)).readings()} for view in (query, text))
    yield from ((first[key], one) for key, one in second.items() if key[0] is not None and key in first and _said(one) != _said(first[key]))


def _key(reading: Reading) -> Key:
    return reading.row, reading.gpu, reading.entry


def _said(reading: Reading) -> tuple[object, ...]:
    return reading.kind, reading.raw, reading.state
