"""How overrides lie over one another and over a GPU of the profile: profile < `all` < the GPU's own (ledger Y02).

Mappings are merged key by key at every depth, lists and scalars replace, null takes away what lies below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.stores.profiles import Device
from harness.stores.schema import keys
from harness.words.state import State

STATES = "states"
Tree = dict[str | int, Any]


def merge(below: Mapping[Any, Any], above: Mapping[Any, Any]) -> Tree:
    """``above`` laid over ``below``; nulls stay, so that they take away what a third lies below.  Neither is changed.

    A value given for a key takes the place of a state of that key below, and the other way round.
    """
    found = _laid(without_states(below, above), above)
    hidden = {key for key, state in (above.get(STATES) or {}).items() if state is not None}
    return without(found, hidden) if hidden else found


def _laid(below: Mapping[Any, Any], above: Mapping[Any, Any]) -> Tree:
    made: Tree = dict(below)
    for name, value in above.items():
        under = made.get(name)
        made[name] = _laid(under if isinstance(under, dict) else {}, value) if isinstance(value, dict) else value
    return made


def without_states(below: Mapping[Any, Any], above: Mapping[Any, Any]) -> Tree:
    """``below`` without the states of keys that ``above`` gives a value or null."""
    made: Tree = dict(below)
    states = made.get(STATES)
    if isinstance(states, dict):
        given = list(_given(above))
        made[STATES] = {key: state for key, state in states.items() if not any(key == path or key.startswith(f"{path}.") for path in given)}
        if not made[STATES]:
            del made[STATES]
    return made


def _given(tree: Mapping[Any, Any], path: str = "") -> Iterator[str]:
    """Dotted paths of everything a tree gives that is no mapping with something in it; of a key that holds a mapping the key, too."""
    for name, value in tree.items():
        whole = f"{path}.{name}" if path else str(name)
        if whole == STATES:
            continue
        if not isinstance(value, dict) or whole in keys.device_keys():
            yield whole
        else:
            yield from _given(value, whole)


def without(tree: Tree, paths: set[str]) -> Tree:
    """``tree`` without the keys at ``paths``, and without blocks that are left empty by it."""
    for path in paths:
        tree = _cut(tree, path.split("."))
    return tree


def _cut(tree: Tree, steps: Sequence[str]) -> Tree:
    name, *rest = steps
    if name not in tree or (rest and not isinstance(tree[name], dict)):
        return tree
    made = {key: value for key, value in tree.items() if key != name}
    if rest and (inner := _cut(tree[name], rest)):
        return {key: inner if key == name else value for key, value in tree.items()}
    return made


def opened(bucket: Mapping[Any, Any], changes: Mapping[Any, Any], below: Mapping[Any, Any]) -> Tree:
    """``bucket`` with each block that null took away, and that ``changes`` gives keys of, as nulls of what lies ``below``.

    So the block's other keys stay taken away when the changes are merged in.
    """
    made: Tree = dict(bucket)
    for name, change in changes.items():
        inner, under = made.get(name), below.get(name)
        if name not in made or not isinstance(change, dict) or not isinstance(under, dict):
            continue
        if inner is None:
            inner = dict.fromkeys(under)
        if isinstance(inner, dict):
            made[name] = opened(inner, change, under)
    return made


def tree_of(device: Device) -> Tree:
    """A GPU of a profile as the tree its keys stand in, without what it has of the node."""
    made: Tree = {}
    of_node = {key.path for key in keys.NODE}
    for path, value in device.values.items():
        if path in of_node:
            continue
        *parents, name = path.split(".")
        level: Tree = made
        for block in parents:
            level = level.setdefault(block, {})
        level[name] = value
    if device.states:
        made[STATES] = {key: state.value for key, state in device.states.items()}
    return made


def laid_over(device: Device, buckets: Sequence[Mapping[Any, Any]]) -> Tree:
    """The tree of ``device`` with ``buckets`` over it, the lowest first; nulls stay where they are."""
    made = tree_of(device)
    for bucket in buckets:
        made = merge(made, bucket)
    return made


def device_of(device: Device, tree: Mapping[Any, Any]) -> Device:
    """The GPU that ``tree`` (as of ``laid_over``) makes of ``device``: its answers and what it has of the node are those of the profile."""
    of_node = {key.path: device.values[key.path] for key in keys.NODE if key.path in device.values}
    flat = keys.flatten({str(name): value for name, value in tree.items() if name != STATES})
    values = {key: _filled(value) for key, value in flat.items() if value is not None}
    states = {str(key): State(state) for key, state in (tree.get(STATES) or {}).items() if state is not None}
    return Device({**of_node, **values}, states, device.state, device.answers)


def _filled(value: Any) -> Any:
    """The value of a key that holds a mapping, without the entries that null took away."""
    return {name: _filled(inner) for name, inner in value.items() if inner is not None} if isinstance(value, dict) else value


def paths(tree: Mapping[Any, Any]) -> tuple[str, ...]:
    """The dotted keys that a bucket gives, null or not; states under the key they are of."""
    return tuple(dict.fromkeys((*_given(tree), *(str(key) for key in tree.get(STATES) or {}))))
