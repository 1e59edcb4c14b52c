"""Changes to a layout: what a driver node does to its parent's elements.  A closed set: add, remove, rename, move, replace.

A path is the tags from the root's children down, joined by ``/`` (``gpu/pci/tx_util``); a path names
every sibling of that tag.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.tables.layout import Element, parse_element, with_children
from harness.words.errors import InputError, did_you_mean

OPERATIONS = ("add", "remove", "rename", "move", "replace")


def apply(root: Element, changes: Any, where: str) -> Element:
    """``root`` after every change of the list, in order.

    ``{add: parent path, after: sibling | null, element: {...}}``, ``{remove: path}``, ``{rename: path, to: name}``,
    ``{move: path, after: sibling | null}``, ``{replace: path, element: {...}}``; ``after: null`` puts the element first.
    """
    if not isinstance(changes, list):
        raise InputError(f"{where}: changes are a list")
    for change in changes:
        operations = [name for name in OPERATIONS if isinstance(change, dict) and name in change]
        if len(operations) != 1:
            raise InputError(f"{where}: a change has exactly one of {', '.join(OPERATIONS)}: {change!r}")
        root = _APPLY[operations[0]](root, change, where)
    return root


def _split(path: str) -> list[str]:
    return path.split("/") if path else []


def edit(root: Element, path: list[str], where: str, change: Any) -> Element:
    """``root`` with the element at ``path`` replaced by ``change(element)``; a None result drops it."""
    if not path:
        return change(root)  # type: ignore[no-any-return]
    names = [child.name for child in root.children]
    if path[0] not in names:
        raise InputError(f"{where}: no element {path[0]!r} in {root.name!r}{did_you_mean(path[0], names)}")
    children = []
    for child in root.children:
        result = edit(child, path[1:], where, change) if child.name == path[0] else child
        if result is not None:
            children.append(result)
    return with_children(root, tuple(children))


def insert(parent: Element, element: Element, after: str | None, where: str) -> Element:
    """``parent`` with ``element`` behind its child ``after``, or first."""
    names = [child.name for child in parent.children]
    if any(child.name == element.name and (child.when is None or child.when == element.when) for child in parent.children):
        raise InputError(f"{where}: {parent.name!r} has an element {element.name!r} already")
    if after is not None and after not in names:
        raise InputError(f"{where}: no element {after!r} in {parent.name!r}{did_you_mean(after, names)}")
    index = 0 if after is None else len(names) - names[::-1].index(after)
    return with_children(parent, (*parent.children[:index], element, *parent.children[index:]))


def _add(root: Element, change: dict[str, Any], where: str) -> Element:
    element = parse_element(change["element"], where)
    return edit(root, _split(change["add"]), where, lambda parent: insert(parent, element, change.get("after"), where))


def _remove(root: Element, change: dict[str, Any], where: str) -> Element:
    return edit(root, _split(change["remove"]), where, lambda _: None)


def _rename(root: Element, change: dict[str, Any], where: str) -> Element:
    return edit(root, _split(change["rename"]), where, lambda element: replace(element, name=change["to"]))


def _replace(root: Element, change: dict[str, Any], where: str) -> Element:
    return edit(root, _split(change["replace"]), where, lambda _: parse_element(change["element"], where))


def _move(root: Element, change: dict[str, Any], where: str) -> Element:
    *parent, name = _split(change["move"])

    def moved(element: Element) -> Element:
        found = element.child(name)
        if found is None:
            raise InputError(f"{where}: no element {name!r} in {element.name!r}")
        rest = with_children(element, tuple(child for child in element.children if child is not found))
        return insert(rest, found, change.get("after"), where)

    return edit(root, parent, where, moved)


_APPLY = {"add": _add, "remove": _remove, "rename": _rename, "move": _move, "replace": _replace}
