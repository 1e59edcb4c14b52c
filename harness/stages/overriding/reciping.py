"""Recipes put in force: their keys on a GPU or on all of them, keys of the node, and what is told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.stages import recipes
from harness.stages.overriding import arguments, putting
from harness.stages.overriding.document import Overrides
from harness.stores.recipes import EVENT_TYPES
from harness.words.errors import InputError, UsageError
from mocklib import state
from mocklib.answers import RETURN_CODES

if TYPE_CHECKING:
    from harness.stages.overriding.nodes import Node
    from harness.stores.profiles import Device
    from harness.stores.recipes import Recipe

_CODE = "system.init_status"
"""The key of the node whose number a recipe writes as the name that nvml.h gives it."""


def put(node: Node, recipe: Recipe, target: int | None, *, dry_run: bool = False) -> Overrides:
    """Put ``recipe`` in force on GPU ``target`` (an index; None: all), and tell its events; what was put, as a document.

    UsageError where a recipe of every GPU is asked of one, InputError where nothing of it is there on the board.
    """
    if recipe.everywhere and target is not None:
        raise UsageError(f"recipe {recipe.name}: is of every GPU: --gpu all")

    def verb(device: Device) -> dict[str, Any]:
        return recipes.keys_for(recipe, device, int(device.values.get("index", 0)))

    written = putting.put(node, target, verb, dry_run=True) if recipe.keys else Overrides()
    if recipe.keys and not written:
        raise InputError(f"recipe {recipe.name}: {node.profile.source} has none of the readings that it moves")
    if recipe.keys and not dry_run:
        written = putting.put(node, target, verb)
    if recipe.node:
        changes = {key: _code(recipe, value) if key == _CODE else value for key, value in recipe.node.items()}
        written = replace(written, node=putting.put_node(node, arguments.tree_of(changes), dry_run=dry_run))
    if recipe.events and not dry_run:
        putting.ensure(node)
        for place in sorted(node.indices().values()) if target is None else [node.indices()[target]]:
            for event in recipe.events:
                state.add_event(node.state, state.Event(0, 0, place, EVENT_TYPES[event.type], event.data))
    return written


def _code(recipe: Recipe, value: Any) -> Any:
    """The number of a code that nvml.h names; a number is itself."""
    if not isinstance(value, str):
        return value
    code = next((number for number, name in RETURN_CODES.items() if name.lower().removeprefix("error_") == value), None)
    if code is None:
        raise InputError(f"recipe {recipe.name}: {_CODE}: nvml.h has no code {value!r}")
    return code
