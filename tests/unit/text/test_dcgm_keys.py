"""What the answers document can say of the list of getters: every function has a key or a reason, and a key's functions can be told apart."""

from __future__ import annotations

from itertools import pairwise

import pytest

from harness.text import dcgm_answers, dcgm_keys
from mocklib import getters, shapes

SECTIONS = (dcgm_keys.GLOBAL, dcgm_keys.DEVICE)
KEYS = [(section, key) for section in SECTIONS for key in dcgm_keys.keys(section).values()]


def said() -> set[str]:
    """The functions that a document can hold answers of."""
    return {function for _, key in KEYS for function in key.functions} | {dcgm_keys.FIELD_VALUES}


def test_every_function_of_the_list_has_a_key_or_a_reason():
    asked = set(getters.asked_functions())
    assert said() & dcgm_keys.left_out().keys() == set()
    assert said() | dcgm_keys.left_out().keys() == asked


def test_the_reasons_name_each_function_once():
    listed = [function for functions in dcgm_keys.table()["left_out"].values() for function in functions]
    assert len(listed) == len(set(listed))


def opaque(shape: shapes.Shape) -> bool:
    """Whether a shape holds what no document can write."""
    if isinstance(shape, shapes.Struct):
        return any(opaque(inner) for _, inner in shape.members)
    return opaque(shape.item) if isinstance(shape, shapes.Array) else isinstance(shape, shapes.Opaque)


@pytest.mark.parametrize("function", sorted(said() - {dcgm_keys.FIELD_VALUES}))
def test_what_a_function_takes_and_writes_has_a_place_in_the_document(function):
    sets = getters.getters()[function].sets
    assert {name for name in sets if "." in name} <= {name for name in sets if name.endswith(".version")}
    shaped = shapes.of(function)
    assert not shaped.given
    assert not any(opaque(shape) for _, shape in shaped.outputs)
    assert sum(isinstance(shape, shapes.Array) for _, shape in shaped.outputs) <= 1
    assert {name for name in sets if "." not in name} <= {name for name, _ in shaped.inputs}


SHARED = [key for _, key in KEYS if len(key.functions) > 1]


@pytest.mark.parametrize("key", SHARED, ids=[key.name for key in SHARED])
def test_functions_of_one_key_differ_in_arguments_or_in_the_form_of_the_value(key):
    def form(function: str) -> tuple[object, ...]:
        shaped = shapes.of(function)
        return len(dcgm_answers.inputs(function)), *(inner(shape) for _, shape in shaped.outputs)

    def inner(shape: shapes.Shape) -> object:
        held = shape.item if isinstance(shape, shapes.Array) else shape
        return type(shape), frozenset(name for name, _ in held.members) if isinstance(held, shapes.Struct) else type(held)

    assert all(form(one) != form(other) for one, other in pairwise(sorted(key.functions)))
    assert key.failed in key.functions
