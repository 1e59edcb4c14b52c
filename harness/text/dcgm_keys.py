"""The keys of DCGM's answers document and the functions they stand for (data in tables/dcgm.yaml)."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.tables import strictyaml
from mocklib import argument_sets, getters, shapes
from mocklib.answers import Asked

GLOBAL, DEVICE = "Global", "Device"
FIELD_VALUES = "nvmlDeviceGetFieldValues"
FIELD_VALUES_KEY = "FieldValues"
_TABLE = Path(__file__).resolve().parent.parent / "tables" / "dcgm.yaml"
DROPPED = "a recording drops a time of it, and the document has its answer whole"
"""Why a function is read and not written."""
_VERSION = re.compile(r"_v[0-9]+$")


@dataclass(frozen=True)
class Key:
    """One key of a section: the ``functions`` that its answers can be of, first the one the recorder's binding calls under that name; ``failed``:
    the one that a failing return is of.
    """

    name: str
    functions: tuple[str, ...]
    failed: str


@functools.cache
def keys(section: str) -> Mapping[str, Key]:
    """Name -> key of ``section`` (`GLOBAL` or `DEVICE`), of the functions that a recording asks and the document can say."""
    found: dict[str, list[str]] = {}
    for function in getters.asked_functions():
        found_at = None if function in left_out() or function == FIELD_VALUES else place(function)
        if found_at is not None and found_at[0] == section:
            found.setdefault(found_at[1], []).append(function)
    shared = table()["shared"]
    made = {}
    for name, functions in sorted(found.items()):
        spec = shared[section].get(name, {"functions": functions})
        ordered = tuple(function for function in spec["functions"] if function in functions)
        made[name] = Key(name, ordered, spec.get("failed", ordered[0]))
    return made


@functools.cache
def place(function: str) -> tuple[str, str] | None:
    """Section and key of a function, whether the document can say it or not; None for one that neither section can name."""
    section = GLOBAL if shapes.of(function).device is None else DEVICE
    for prefix in table()["prefixes"][section]:
        if function.startswith(prefix):
            return section, table()["named"].get(function, _VERSION.sub("", function.removeprefix(prefix)))
    return None


@functools.cache
def left_out() -> Mapping[str, str]:
    """Function of the list -> why the document cannot say it."""
    return {function: why for why, functions in table()["left_out"].items() for function in functions}


@functools.cache
def table() -> Any:
    """The data."""
    return strictyaml.load_file(_TABLE, "harness/tables/dcgm.yaml").value


@functools.cache
def versions(function: str) -> tuple[int | None, ...]:
    """The versions of its struct that the list asks a function with; None for one that is asked with none."""
    sets = getters.getters()[function].sets
    worded = [name for name in sets if name.endswith(".version")]
    if not worded:
        return (None,)
    return tuple(sets[worded[0]].values or argument_sets.versions(function, worded[0]))


@functools.cache
def aside(function: str, version: int | None) -> tuple[tuple[str, int], ...]:
    """Arguments of the list that the document does not nest by: the version of the struct, the size of a buffer."""
    sets = getters.getters()[function].sets
    worded = [(name, version) for name in sets if name.endswith(".version") and version is not None]
    return tuple(worded) + tuple((name, sets[name].values[0]) for name in sets if name in sizes())


@functools.cache
def dropped(function: str) -> frozenset[str]:
    """What a recording does not keep of the answer of a function: ``parameter.member``."""
    return frozenset(getters.getters()[function].drop)


@functools.cache
def sizes() -> frozenset[str]:
    """Inputs that say how long a buffer is and that nothing is nested by."""
    return frozenset(table()["sizes"])


def version_of(asked: Asked) -> int | None:
    """The version of the struct that a call gives, None where it gives none."""
    return next((int(str(value)) for name, value in asked.arguments if name.endswith(".version")), None)


def unsayable(section: str, name: str) -> str:
    """Why no function of a key can be said by the document; empty for a key that no function of the list has."""
    return next((why for function, why in left_out().items() if place(function) == (section, name)), "")


def why_not(function: str) -> str:
    """Why the answers of a function of the list are not in a document, where its key holds those of another or of none."""
    found = place(function)
    key = None if found is None else keys(found[0]).get(found[1])
    if function in left_out() or key is None:
        return left_out().get(function, "no key of the document is its own")
    if dropped(function):
        return DROPPED
    return "its key holds the answer of another function" if len(key.functions) > 1 else "no key of the document is its own"


@functools.cache
def field_names() -> Mapping[str, str]:
    """Names of the parts of a field's answer -> code, type or value; of two names of one part the first is written."""
    return {name: part for part, names in table()["field"].items() for name in names}


def field_name(part: str) -> str:
    """The name that a part of a field's answer is written under."""
    return next(name for name, of in field_names().items() if of == part)


def value_shape(value_type: int) -> shapes.Shape | None:
    """The shape of a field's value by its nvmlValueType_t; None for a type that nvml.h does not have."""
    member = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}.get(value_type)
    return None if member is None else dict(shapes.members("nvmlValue_t"))[member]
