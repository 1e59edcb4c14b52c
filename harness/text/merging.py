"""Several GPUs as one tree: each element once, with what it is on each GPU; absent on a GPU stays absent.

GPUs whose elements stand in orders that exclude each other cannot share a tree: `groups` makes one for each such order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from harness.text import clocklists
from harness.text.model import Node

T = TypeVar("T")
Key = tuple[str, int, int]
"""Tag, shape (LEAF, BLOCK or WORDED), the how manieth of this tag and shape among its siblings."""
LEAF, BLOCK, WORDED = 0, 1, 2
"""An element without others inside, one with others, and one with a text of its own and others (a line of `-q` text)."""


@dataclass(slots=True)
class Merged:
    """One element on several GPUs.

    tag:       its tag
    shape:     LEAF (a clock list counts as one), BLOCK or WORDED
    nodes:     the element on each GPU, None where it is absent
    names:     the attributes in an order that fits every GPU
    keys, children: the children in an order that fits every GPU
    """

    tag: str
    shape: int
    nodes: list[Node | None]
    names: list[str] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    children: dict[Key, Merged] = field(default_factory=dict)


def groups(nodes: list[Node]) -> list[tuple[list[int], Merged]]:
    """``nodes``, elements of one tag, as few merged trees as a first fit gives, each with the places (0-based) of those it holds."""
    found: list[tuple[list[int], Merged]] = []
    for place, node in enumerate(nodes):
        for places, merged in found:
            if _fits(merged, node):
                places.append(place)
                _add(merged, node, len(places) - 1)
                break
        else:
            merged = Merged(node.tag, BLOCK, nodes=[])
            _add(merged, node, 0)
            found.append(([place], merged))
    for places, merged in found:
        _pad(merged, len(places))
    return found


def single(node: Node) -> Merged:
    """``node`` alone, a leaf or a tree."""
    merged = Merged(node.tag, _shape(node), nodes=[])
    _add(merged, node, 0)
    return merged


def keyed(node: Node) -> list[tuple[Key, Node]]:
    """The children of ``node`` with their keys, in file order."""
    seen: dict[tuple[str, int], int] = {}
    out: list[tuple[Key, Node]] = []
    for child in node.children:
        shape = (child.tag, _shape(child))
        count = seen.get(shape, 0)
        seen[shape] = count + 1
        out.append(((*shape, count), child))
    return out


def _shape(node: Node) -> int:
    """Has ``node`` lines of its own for its children, and a text beside them?  A clock list has none."""
    if not node.children or (node.tag == clocklists.TAG and clocklists.encode(node) is not None):
        return LEAF
    return BLOCK if node.text is None else WORDED


def _fits(merged: Merged, node: Node) -> bool:
    """Can ``node`` join ``merged`` without two elements or attributes changing places?"""
    if not _in_order(merged.names, node.attributes):
        return False
    if merged.shape == LEAF:
        return True
    children = keyed(node)
    if not _in_order(merged.keys, [key for key, _ in children]):
        return False
    return all(key not in merged.children or _fits(merged.children[key], child) for key, child in children)


def _in_order(known: Sequence[T], more: Iterable[T]) -> bool:
    """Do those of ``more`` that are ``known`` stand in the same order there?"""
    places = {item: place for place, item in enumerate(known)}
    found = [places[item] for item in more if item in places]
    return found == sorted(found)


def _weave(known: list[T], more: Iterable[T]) -> None:
    """Puts ``more`` into ``known``, each after the one before it; `_in_order` has been asked."""
    places = {item: place for place, item in enumerate(known)}
    if all(item in places for item in more):
        return
    woven: list[T] = []
    done = 0
    for item in more:
        place = places.get(item)
        if place is None:
            woven.append(item)
        else:
            woven.extend(known[done : place + 1])
            done = place + 1
    known[:] = woven + known[done:]


def _add(merged: Merged, node: Node, place: int) -> None:
    """Puts ``node`` into column ``place`` of ``merged``; `_fits` has been asked."""
    _pad_nodes(merged, place)
    merged.nodes.append(node)
    _weave(merged.names, node.attributes)
    if merged.shape == LEAF:
        return
    children = keyed(node)
    _weave(merged.keys, [key for key, _ in children])
    for key, child in children:
        part = merged.children.get(key)
        if part is None:
            part = merged.children[key] = Merged(child.tag, key[1], nodes=[])
        _add(part, child, place)


def _pad_nodes(merged: Merged, size: int) -> None:
    merged.nodes.extend([None] * (size - len(merged.nodes)))


def _pad(merged: Merged, size: int) -> None:
    _pad_nodes(merged, size)
    for part in merged.children.values():
        _pad(part, size)
