"""What a command wants put, as a document: what a verb makes for one GPU, or for each of them; and that over what is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.stages.overriding import merging
from harness.stages.overriding.document import Overrides
from harness.stages.overriding.merging import Tree
from harness.stores.profiles import Device

if TYPE_CHECKING:
    from harness.stages.overriding.nodes import Node

Verb = Callable[[Device], Mapping[Any, Any]]
"""A GPU as it is now -> dotted keys or a tree to put over it."""
NOTHING = Device({}, {})
"""A GPU of which nothing is known."""


def wanted(node: Node, target: int | None, verb: Verb, devices: Sequence[Device]) -> Overrides:
    """What ``verb`` makes: for one GPU its bucket, for all the part that each has and what only some have."""
    indices = node.indices()
    if target is not None:
        return Overrides({}, {target: _tree(verb(devices[indices[target]]))})
    each = {index: _tree(verb(devices[place])) for index, place in indices.items() if devices[place].state is None}
    if not each:
        return Overrides(_tree(verb(NOTHING)))
    shared = _common(list(each.values()))
    own = {index: rest for index, tree in each.items() if (rest := _rest(tree, shared))}
    return Overrides(shared, own)


def _tree(changes: Mapping[Any, Any]) -> Tree:
    """Dotted keys as a tree; a tree stays what it is."""
    made: Tree = {}
    for path, value in changes.items():
        steps = str(path).split(".") if isinstance(path, str) and path != merging.STATES else [path]
        tree = value
        for step in reversed(steps):
            tree = {step: tree}
        made = merging.merge(made, tree)
    return made


def _common(trees: Sequence[Tree]) -> Tree:
    """What all of ``trees`` say alike."""
    first, *others = trees
    made: Tree = {}
    for name, value in first.items():
        if all(name in other and other[name] == value for other in others):
            made[name] = value
        elif isinstance(value, dict) and all(isinstance(other.get(name), dict) for other in others):
            made[name] = _common([value, *(other[name] for other in others)])
    return {name: value for name, value in made.items() if value != {} or first[name] == {}}


def _rest(tree: Tree, shared: Tree) -> Tree:
    """What ``tree`` says beside ``shared``."""
    made: Tree = {}
    for name, value in tree.items():
        if name not in shared:
            made[name] = value
        elif isinstance(value, dict) and isinstance(shared[name], dict) and (rest := _rest(value, shared[name])):
            made[name] = rest
    return made


def merged(node: Node, now: Overrides, given: Overrides) -> Overrides:
    """``given`` over ``now``; a block that null took away stays so but for the keys that are given now."""
    made = now
    if given.all:
        below: Tree = {}
        for device in node.profile.devices:
            below = merging.merge(below, merging.tree_of(device))
        made = replace(made, all=merging.opened(made.all, given.all, below)).merged(None, given.all)
    for index, tree in given.devices.items():
        below = merging.laid_over(node.profile.devices[node.indices()[index]], (made.all,))
        opened = merging.opened(made.devices.get(index, {}), tree, below)
        made = replace(made, devices={**made.devices, index: opened}).merged(index, tree)
    return made
