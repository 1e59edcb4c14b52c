"""What a recipe puts over the keys of one GPU: its values worked out from the board's own, and nothing that the board does not have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.stages import compile_defaults, compile_device
from harness.stores.profiles import Device
from harness.stores.recipes import Of, Recipe
from harness.stores.schema import readers


def keys_for(recipe: Recipe, device: Device, index: int) -> dict[str, Any]:
    """Dotted key -> value that ``recipe`` puts on ``device``, the GPU of that ``index``.

    A key is left out where a call that answers from it has no value on the board: a recipe moves readings, it gives a board no new ones.
    """
    taken = {key: _value(value, device) for key, value in recipe.keys.items()}
    return {key: value for key, value in taken.items() if value is not None and _there(device, index, key, value)}


def _value(value: Any, device: Device) -> Any:
    """``value`` itself, or what it is of other keys of the board; None for a value that it cannot have."""
    if not isinstance(value, Of):
        return value
    other, more = _number(value.key, device), _number(value.add, device)
    return _value(value.otherwise, device) if other is None or more is None else other * value.percent // 100 + more


def _number(key: str | int, device: Device) -> int | None:
    """The number that the board has under ``key``; a number is itself."""
    if isinstance(key, int):
        return key
    found = device.values.get(key)
    found = compile_defaults.default(key, device.values) if found is None else found
    return found if isinstance(found, int) and not isinstance(found, bool) and key not in device.states else None


def _there(device: Device, index: int, key: str, value: Any) -> bool:
    """Whether every field that ``key`` moves and that a call answers from has a value already."""
    if device.state is not None:
        return False
    before = compile_device.device_fields(device, index)
    after = compile_device.device_fields(replace(device, values={**device.values, key: value}), index)
    moved = [name for name in before if before[name] != after[name] and any(readers.of_field(name))]
    return all(before[name].status == 0 for name in moved)
