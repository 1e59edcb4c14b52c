"""Readings that a profile holds and no call gives back: counted as not modelled and printed as they stand, never as another reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.stages import compile_device
from harness.stages.derive_walk import UNMODELLED, VALUE, Reading
from harness.stores.schema import keys
from harness.tables import rows
from mocklib import fields

if TYPE_CHECKING:
    from harness.stores.profiles import Device
    from harness.tables.drivers import Driver
    from harness.tables.rows import Route
    from mocklib.spec import FieldValue

    Served = dict[str, FieldValue]


def settle(readings: list[Reading], devices: Sequence[Device], driver: Driver) -> list[Reading]:
    """``readings`` with those refused that ``devices``, one a GPU block, would not answer on ``driver`` as they were printed."""
    served = [compile_device.device_fields(device, number) for number, device in enumerate(devices)]
    values = [{reading.row: reading for reading in readings if reading.gpu == gpu and reading.kind == VALUE} for gpu in range(len(devices))]
    settled: list[Reading] = []
    for reading in readings:
        why = ""
        if reading.row is not None and reading.gpu is not None and reading.kind == VALUE:
            row = reading.row
            why = _derived(reading, served[reading.gpu], driver)
            route = driver.routes.get(row)
            if not why and route is not None:
                why = _shared(row, route, served[reading.gpu]) or _computed(reading, route, values[reading.gpu])
        settled.append(replace(reading, kind=UNMODELLED, raw=None, state=None, why=why) if why else reading)
    return settled


def _derived(reading: Reading, served: Served, driver: Driver) -> str:
    """A field that follows from other keys (pci.bus from pci.bus_id) and gives another text than was read."""
    row = rows.load()[reading.row or ""]
    if not row.field or row.field in keys.device_keys():
        return ""
    given = served[row.field]
    same = not given.status and driver.form(row.id).text(given.value) == reading.text
    return "" if same else f"{row.field} follows from other keys, which give another value"


def _shared(row: str, route: Route, served: Served) -> str:
    """A member of a struct of which the capture lacks another member: the call answers all or nothing."""
    own = rows.load()[row].field
    asked = fields.answered_from().get(route.target, ()) if route.kind == "call" else ()
    lacking = [field for field in asked if field in served and served[field].status] if own in asked and not served[own].status else []
    return f"{route.target} answers nothing without {', '.join(lacking)}" if lacking else ""


def _computed(reading: Reading, route: Route, values: dict[str | None, Reading]) -> str:
    """A sum of rows that is not their sum."""
    if route.kind != "sum":
        return ""
    parts = [raw for row in route.operands if row in values and isinstance(raw := values[row].raw, int)]
    return "" if parts and sum(parts) == reading.raw else f"not the sum of {', '.join(route.operands)}"
