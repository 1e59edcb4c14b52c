"""No number of a profile is cut on its way to a caller: a field's bits in the tables are no more than the narrowest place that NVML has for it."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from harness.tables import serving
from mocklib import calls
from mocklib import fields as tables
from tests.contract.test_getters import cases

VALUE_BITS = {0: 53, 1: 32, 3: 64, 5: 32}
"""nvmlValueType_t: double, which holds whole numbers of 53 bits, unsigned int, unsigned long long, signed int."""
SLOT_BITS = 32
"""What a slot of the private table writes a number as."""
COUNT_BITS = 64
"""What is made of a rate and the time."""


def bits_at(function: str, path: str, version: int | None) -> int:
    """The width of what a call writes at ``parameter.member[1].member``."""
    name, _, rest = path.partition(".")
    kind = next(kind for param, kind, _ in calls.signatures().FUNCTIONS[function] if param == name).rstrip(" *")
    own = calls.signatures().ALIASES.get(kind, kind)
    found = calls.ffi().typeof(calls.signatures().VERSIONS[own][version] if version is not None else own)
    for part in rest.split(".") if rest else ():
        found = dict(found.fields)[part.partition("[")[0]].type
        found = found.item if "[" in part else found
    return int(calls.ffi().sizeof(found) * 8)


def places() -> Iterator[tuple[str, int]]:
    """(field, width) for every place a number of a field goes to."""
    for function, arguments, outs in cases():
        version = next((value for name, value in arguments.items() if name.endswith(".version")), None)
        for path, field in outs.items():
            yield field, bits_at(function, path, version)
    for answer in serving.fieldvalues().values():
        for _, field in answer.scopes:
            yield field, VALUE_BITS[answer.value_type]
    for name, field in serving.slot_fields().items():
        yield field, COUNT_BITS if name.startswith("lane_") else SLOT_BITS


@functools.cache
def narrowest() -> dict[str, int]:
    """Field -> width of its narrowest place."""
    found: dict[str, list[int]] = defaultdict(list)
    for field, bits in places():
        found[field].append(bits)
    return {field: min(widths) for field, widths in found.items()}


NUMBERS: dict[str, Any] = {name: field for name, field in tables.device_fields().items() if field.type in tables.NUMBERS and field.words is None}
"""Fields whose numbers a profile gives as numbers; a word stands for a member of an enum."""


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_a_fields_bits_fit_every_place_it_goes_to(name: str) -> None:
    assert NUMBERS[name].bits <= narrowest().get(name, 64)


def test_counters_and_byte_counts_keep_64_bits() -> None:
    wide = {name for name, bits in narrowest().items() if bits == 64 and name in NUMBERS}
    assert {name for name in wide if NUMBERS[name].bits != 64} == set()
