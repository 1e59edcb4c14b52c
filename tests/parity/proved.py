"""Which driver nodes prove a handler or field, and which captures stand for the others; every node and capture in a full run (``nox -s proofs``).

A node proves what its rows ask, print or are there by as no newer node's do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

from harness.stores.captures import SIDECAR, Sidecar, load_sidecar
from harness.stores.workspace import Workspace
from harness.tables.drivers import Driver, DriverTree
from harness.tables.layout import Element
from harness.words.version import DriverVersion
from mocklib import fields as tables
from tests.parity.expect_sources import LISTS, asked, handlers_of, printed_rows, route_of

FULL = "NVPARITY_MUTATIONS" in os.environ
"""Whether every proof is made on every capture and driver node."""


def versions(tree: DriverTree) -> list[str]:
    """The driver nodes with elements of their own; one that `-q` text alone showed prints its parent's."""
    return [version.text for version in tree.versions() if not tree.resolve(version).assumed]


def boards(space: Workspace) -> list[str]:
    """The profiles; of those made from `-q` text alone, whose elements others have too, in a full run all, else the newest driver's."""
    texts = [sidecar for name in space.ids() if {"q"} == (sidecar := load_sidecar(space.captures / name / SIDECAR)).views.keys()]
    newest = max((DriverVersion(sidecar.driver or "0") for sidecar in texts), default=None)
    left = {sidecar.id for sidecar in texts if not FULL and sidecar.driver != str(newest)}
    return sorted(set(space.profile_ids()) - left)


def handlers(tree: DriverTree) -> dict[str, frozenset[str]]:
    """Version -> the handlers that its rows ask and no newer node's ask alike; versions without one are left out."""
    return _new(tree, handlers_of, ())


def fields(tree: DriverTree) -> dict[str, frozenset[str]]:
    """Version -> the fields on which its rows hang, or none does, and no newer node's alike; versions without one are left out."""
    return _new(tree, asked, tables.device_fields())


def one_a_branch(sidecars: Sequence[Sidecar]) -> list[str]:
    """One capture of each driver branch, by id; every capture in a full run."""
    branches: dict[int, str] = {}
    for sidecar in sidecars:
        if sidecar.driver is not None:
            branches.setdefault(DriverVersion(sidecar.driver).branch, sidecar.id)
    return [sidecar.id for sidecar in sidecars if FULL or sidecar.id in branches.values()]


def _new(tree: DriverTree, of: Callable[[Driver, str], frozenset[str]], always: Iterable[str]) -> dict[str, frozenset[str]]:
    seen: set[Hashable] = set()
    found = {}
    for version in reversed(versions(tree)):
        ways = _ways(tree.resolve(version), of, always)
        new = frozenset(name for name, way in ways.items() if FULL or way not in seen)
        seen.update(ways.values())
        if new:
            found[version] = new
    return found


def _ways(driver: Driver, of: Callable[[Driver, str], frozenset[str]], always: Iterable[str]) -> dict[str, Hashable]:
    """Name -> all that decides what changes where it answers otherwise: how each of its rows is asked and printed, the elements there by them."""
    texts = tuple(sorted(driver.texts.items()))
    elements = _elements(driver)
    rows: dict[str, set[Hashable]] = {name: set() for name in always}
    for row in printed_rows(driver):
        told = (_asked_and_printed(driver, row), *elements.get(row, ()))
        for name in of(driver, row):
            rows.setdefault(name, set()).add(told)
    return {name: (name, texts, frozenset(told)) for name, told in rows.items()}


def _asked_and_printed(driver: Driver, row: str) -> Hashable:
    route = route_of(driver, row)
    if route is None:
        return row
    rests = (*route.operands, *((route.gate[0],) if route.gate else ()))
    numbers = {"fieldvalue": driver.field_ids, "slot": driver.slots}.get(route.kind, {})
    below = tuple(_asked_and_printed(driver, other) for other in rests)
    return row, replace(route, basis="", why=""), numbers.get(route.target), driver.form(row), driver.escapes.get(row), below


def _elements(driver: Driver) -> dict[str, list[Hashable]]:
    """Row -> the elements that are there, are one line or are repeated by its answer."""
    found: dict[str, list[Hashable]] = {}
    for _, element in driver.layout.walk():
        for row in _deciding(element):
            inside = (element.when, element.collapse, element.repeat, element.none, frozenset(element.rows()))
            found.setdefault(row, []).append(inside)
    return found


def _deciding(element: Element) -> Iterator[str]:
    yield from LISTS.get(element.repeat or "gpus", ())
    if element.collapse is not None:
        yield element.collapse
    if element.when is not None:
        yield {"arch": "architecture", "mode": f"{element.when.name}.mode_current"}.get(element.when.kind, element.when.name)
