"""Which image field answers a field id or a slot of the private table, by name; the driver tree has the numbers."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.tables import strictyaml


@dataclass(frozen=True)
class FieldAnswer:
    """What nvmlDeviceGetFieldValues answers for one id: ``value_type`` (nvmlValueType_t) and field by scope; scope None: whatever is asked.

    ``per``: the image holds that many times what a double answers.
    """

    value_type: int
    scopes: tuple[tuple[int | None, str], ...]
    per: int = 1


@functools.cache
def fieldvalues() -> Mapping[str, FieldAnswer]:
    """Field id name -> answer."""
    found: dict[str, FieldAnswer] = {}
    for name, spec in _table()["fieldvalues"].items():
        scopes = spec.get("scopes")
        pairs = ((None, spec["field"]),) if scopes is None else tuple(scopes.items())
        found[name] = FieldAnswer(spec["type"], pairs, spec.get("per", 1))
    return found


@functools.cache
def slot_fields() -> Mapping[str, str]:
    """Slot name -> field."""
    return {str(name): str(field) for name, field in _table()["slots"].items()}


@functools.cache
def _table() -> Any:
    return strictyaml.load_file(Path(__file__).with_name("serving.yaml"), "harness/tables/serving.yaml").value
