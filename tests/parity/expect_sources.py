"""Which fields a row shows, and which it hangs on: read from the tables, without evaluating anything."""

from __future__ import annotations

from collections.abc import Iterator

from harness.tables import rows, serving
from harness.tables.drivers import Driver, needed_rows
from harness.tables.layout import Element
from harness.tables.rows import Route
from mocklib import fields as tables
from tests.parity.expect_calls import HANDLERS, feeds, functions

LISTS = {
    "gpus": (),
    "memory_clocks": ("supported_clocks.memory",),
    "graphics_clocks": ("supported_clocks.graphics",),
    "processes": ("processes.compute", "processes.graphics", "processes.mps"),
    "compute_processes": ("processes.compute",),
    "retired_pages": (),
    "accounted_processes": ("accounting.pids", "accounted_process.is_running"),
    "mig_devices": (),
}


def route_of(driver: Driver, row: str) -> Route | None:
    """The route of ``row`` on this driver, or None."""
    found = driver.routes.get(row)
    return found if found is not None or row not in rows.load() else rows.load()[row].route


def shown(driver: Driver, row: str) -> frozenset[str]:
    """The fields whose value ``row`` prints: the one its route reads, or those it adds up."""
    route = route_of(driver, row)
    if route is None:
        return frozenset()
    if route.kind in ("sum", "difference", "all"):
        return frozenset().union(*(shown(driver, operand) for operand in route.operands))
    if route.kind == "call":
        return _of_call(route)
    return _of_table(driver, route)


def _of_call(route: Route) -> frozenset[str]:
    entry = functions().get(route.target, {})
    if "handler" in entry:
        return feeds(route.target)
    outs = entry.get("out") or entry.get("string") or (next(reversed(entry["version"].values()))["out"] if "version" in entry else {})
    found = outs.get(route.out) if route.out else next(iter(outs.values()), None)
    if isinstance(found, dict) and "field" in found:
        return frozenset({found["field"]})
    args = dict(route.args)
    for key in entry.get("by", ()):
        found = found.get(args.get(key)) if isinstance(found, dict) else found
    return frozenset({found}) if isinstance(found, str) else frozenset()


def _of_table(driver: Driver, route: Route) -> frozenset[str]:
    if route.kind == "fieldvalue" and route.target in driver.field_ids:
        answer = serving.fieldvalues()[route.target]
        return frozenset(field for scope, field in answer.scopes if scope in (route.scope, None))
    if route.kind == "slot" and route.target in driver.slots:
        return frozenset(field for name, field in serving.slot_fields().items() if name == route.target)
    return frozenset()


def asked(driver: Driver, row: str, code: bool = True) -> frozenset[str]:
    """Every field that can change what ``row`` prints: by its ``code`` those of the whole call (a struct fails as one), else by its value.

    Those of its gate and of its supported mask are among them.
    """
    route = route_of(driver, row)
    if route is None:
        return frozenset()
    found = set(shown(driver, row))
    if route.kind == "call" and code:
        found |= feeds(route.target, dict(route.args))
    for operand in (*route.operands, *((route.gate[0],) if route.gate else ())):
        found |= asked(driver, operand, code)
    if route.supported:
        found |= feeds(route.supported)
    needs = {definition.need for name in found if (definition := tables.device_fields().get(name)) is not None}
    return frozenset(found | ({"ecc.mode_current"} if "ecc" in needs else set()))


def handlers_of(driver: Driver, row: str) -> frozenset[str]:
    """The functions, field ids (``field NAME``) and slots (``slot NAME``) that ``row`` asks."""
    route = route_of(driver, row)
    if route is None:
        return frozenset()
    found = set()
    if route.kind == "call":
        found.add(route.target)
    elif route.kind == "fieldvalue":
        found |= {f"field {route.target}", "nvmlDeviceGetFieldValues"}
    elif route.kind == "slot" and route.target in driver.slots:
        found.add(f"slot {route.target}")
    if route.supported:
        found.add(route.supported)
    for operand in (*route.operands, *((route.gate[0],) if route.gate else ())):
        found |= handlers_of(driver, operand)
    return frozenset(found)


def printed_rows(driver: Driver) -> list[str]:
    """Rows that the layout prints or asks for presence, a collapse or a list, each once."""
    listed = [row for element in _elements(driver.layout) for row in LISTS.get(element.repeat or "gpus", ())]
    return list(dict.fromkeys([*needed_rows(driver.layout), *listed]))


def _elements(element: Element) -> Iterator[Element]:
    return (found for _, found in element.walk())


def unknown_handlers(driver: Driver) -> set[str]:
    """Handlers written in C that a row of this driver asks and ``expect_calls`` says nothing of."""
    targets = {route.target for row in printed_rows(driver) if (route := route_of(driver, row)) is not None and route.kind == "call"}
    return {target for target in targets if functions().get(target, {}).get("handler", "count") not in HANDLERS}
