"""The shape of a derived profile: what all GPUs share stands once, under device_defaults."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from harness.stores.profiles import Hexadecimal
from harness.stores.schema import keys
from harness.words.state import State
from mocklib import fields

PER_DEVICE = frozenset(("uuid", "serial", "pdi", "minor_number", "board_id", "module_id", "pci.bus_id"))
"""Keys that name one GPU: they stand under devices even where there is one GPU or all are alike."""


def devices(
    gpus: list[tuple[Mapping[str, Any], Mapping[str, State]]], indices: Sequence[int] | None = None, others: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """``device_defaults`` and ``devices`` of the GPUs' values and states; merging them gives each GPU exactly its own again.

    ``indices``: index of each GPU, in rising order (None: 0, 1, ...); ``others``: entries of the node's other GPUs, which inherit nothing.
    """
    shared = _shared([values for values, _ in gpus])
    states = _common([{key: state.value for key, state in states.items()} for _, states in gpus])
    defaults = nested({key: gpus[0][0][key] for key in shared}) if gpus else {}
    if states:
        defaults["states"] = dict(sorted(states.items()))
    entries = []
    for index, (values, own_states) in zip(range(len(gpus)) if indices is None else indices, gpus, strict=True):
        entry: dict[str, Any] = {"index": index, **nested({key: value for key, value in values.items() if key not in shared})}
        left = {key: state.value for key, state in sorted(own_states.items()) if key not in states}
        if left:
            entry["states"] = left
        entries.append(entry)
    return {"device_defaults": defaults, "devices": sorted([*entries, *others], key=lambda entry: int(entry["index"]))}


def _common(maps: list[dict[str, str]]) -> dict[str, str]:
    if not maps:
        return {}
    return {key: value for key, value in maps[0].items() if all(other.get(key) == value for other in maps[1:])}


def _shared(gpus: list[Mapping[str, Any]]) -> set[str]:
    """Keys that may stand under device_defaults: the same on every GPU, and so is the rest of a block that is replaced whole."""
    if not gpus:
        return set()
    missing = object()
    names = {key for gpu in gpus for key in gpu}
    same = {key for key in names if all(gpu.get(key, missing) == gpus[0].get(key, missing) for gpu in gpus)} - PER_DEVICE
    broken = {key.split(".")[0] for key in names - same if key.split(".")[0] in keys.WHOLE}
    return {key for key in same if key.split(".")[0] not in broken}


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys as mappings, in a fixed order."""
    made: dict[str, Any] = {}
    for key in sorted(flat, key=_order):
        level = made
        *blocks, name = key.split(".")
        for block in blocks:
            level = level.setdefault(block, {})
        level[name] = Hexadecimal(flat[key]) if key in _HEXADECIMAL else flat[key]
    return made


def spelled(block: dict[str, Any]) -> dict[str, Any]:
    """A block of a device as it was read, with the numbers that a derived profile spells in hexadecimal."""
    found = {name: spelled(value) if isinstance(value, dict) and name == "pci" else value for name, value in block.items()}
    return {
        name: Hexadecimal(value) if isinstance(value, int) and (name in _HEXADECIMAL or f"pci.{name}" in _HEXADECIMAL) else value
        for name, value in found.items()
    }


def _order(key: str) -> tuple[int, int, str]:
    """Blocks as the image has them, long lists last; inside a block, keys as the key table has them."""
    blocks, table = _orders()
    return blocks.get(key.split(".", maxsplit=1)[0], len(blocks)), table.get(key, len(table)), key


@functools.cache
def _orders() -> tuple[dict[str, int], dict[str, int]]:
    blocks: dict[str, int] = {}
    for name in (*_FIRST, *fields.device_fields()):
        blocks.setdefault(name.split(".")[0], len(blocks))
    for name in _LAST:
        blocks[name] = len(blocks) + len(_LAST)
    return blocks, {key: number for number, key in enumerate(keys.device_keys())}


_FIRST = ("name", "brand", "architecture", "uuid", "serial", "pdi", "minor_number")
_LAST = ("supported_clocks", "processes")
_HEXADECIMAL = frozenset(("pci.device_id", "pci.subsystem_id", "board_id", "pdi"))
