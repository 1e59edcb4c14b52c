"""The handlers one by one: an image in which one does not answer, and every way to call the functions of the tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness.tables.drivers import Driver
from mocklib.spec import ImageSpec
from tests.parity.expect_calls import HANDLERS, NOT_SUPPORTED, functions
from tests.parity.expect_sources import handlers_of, printed_rows

FIELD, SLOT = "field ", "slot "


def asked_handlers(driver: Driver) -> list[str]:
    """Every function, field id and slot that some row of the driver asks, as ``expect_sources.handlers_of`` names them."""
    return sorted(set().union(*(handlers_of(driver, row) for row in printed_rows(driver))))


def without(spec: ImageSpec, driver: Driver, handler: str) -> ImageSpec:
    """``spec`` in which the handler does not answer: a gate for a function, a field id or slot (of several ids, one) taken out of its table."""
    if handler.startswith(FIELD):
        number = driver.field_ids[handler.removeprefix(FIELD)]
        return replace(spec, field_ids=[row for row in spec.field_ids if row.id != number])
    if handler.startswith(SLOT):
        slot = driver.slots[handler.removeprefix(SLOT)]
        return replace(spec, slots=[row for row in spec.slots if (row.number, row.key) != (slot.number, slot.key)])
    return replace(spec, gates={**spec.gates, handler: NOT_SUPPORTED})


@dataclass(frozen=True)
class Call:
    """One way to call a function: its other arguments, and where the answer is read (``out``)."""

    function: str
    args: tuple[tuple[str, Any], ...]
    out: str

    @property
    def mapping(self) -> dict[str, Any]:
        """The arguments by name; ``@version`` is the struct version wanted."""
        return dict(self.args)


def calls() -> Iterator[Call]:
    """Every entry of the function tables that says which fields it answers from, with every key it knows."""
    for function, entry in functions().items():
        if "handler" in entry or "program" in entry:
            continue
        for version, items in _items(entry):
            for out, item in items.items():
                for keys in _keys(item, len(entry.get("by", ()))):
                    args = [*zip(entry.get("by", ()), keys, strict=True), *([("@version", version)] if version else [])]
                    yield Call(function, tuple(args), out)


def _items(entry: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    if "version" in entry:
        return [(number, inner["out"]) for number, inner in entry["version"].items()]
    return [(0, entry.get("out") or entry["string"])]


def _keys(item: Any, depth: int) -> list[tuple[int, ...]]:
    if depth == 0 or not isinstance(item, dict) or set(item) in ({"const"}, {"field", "absent"}):
        return [(0,) * depth]
    return list(itertools.chain.from_iterable(((key, *rest) for rest in _keys(inner, depth - 1)) for key, inner in item.items()))


def by_hand() -> frozenset[str]:
    """Functions with a handler written in C that ``expect_calls`` does not model: handles, events, init, lists that are always empty."""
    return frozenset(name for name, entry in functions().items() if entry.get("handler") and entry["handler"] not in HANDLERS)
