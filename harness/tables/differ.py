"""The changes that turn one layout into another, as ``changes.apply`` reads them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.tables.layout import Element, dump_element


def difference(old: Element, new: Element, path: str = "") -> list[dict[str, Any]]:
    """The shortest list this function finds: renames, then removals, moves and additions, then the same inside common elements."""
    found: list[dict[str, Any]] = []
    names = _renames(old, new, path, found)
    old_groups = {names.get(name, name): group for name, group in _groups(old).items()}
    new_groups = _groups(new)
    order = [name for name, group in old_groups.items() if _comparable(group, new_groups.get(name))]
    found.extend({"remove": _join(path, name)} for name in old_groups if name not in order)
    _place(order, list(new_groups), new, path, found)
    for name in order:
        if len(new_groups[name]) == 1:
            found.extend(_inside(old_groups[name][0], new_groups[name][0], _join(path, name)))
    return found


def _comparable(old: list[Element], new: list[Element] | None) -> bool:
    """Whether siblings of one name can be compared: one on each side, or the same set; otherwise they are removed and added again."""
    return new is not None and (len(old) == len(new) == 1 or old == new)


def _join(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def _first(element: Element) -> list[Element]:
    return [group[0] for group in _groups(element).values()]


def _groups(element: Element) -> dict[str, list[Element]]:
    groups: dict[str, list[Element]] = {}
    for child in element.children:
        groups.setdefault(child.name, []).append(child)
    return groups


def _renames(old: Element, new: Element, path: str, found: list[dict[str, Any]]) -> dict[str, str]:
    """Old name -> new name of children that only changed their name: same texts' rows under another tag."""
    kept = {child.name for child in new.children} & {child.name for child in old.children}
    gone = [child for child in _first(old) if child.name not in kept]
    came = [child for child in _first(new) if child.name not in kept]
    names: dict[str, str] = {}
    for child in gone:
        twin = next((other for other in came if other.name not in names.values() and _alike(child, other)), None)
        if twin is not None:
            names[child.name] = twin.name
            found.append({"rename": _join(path, child.name), "to": twin.name})
    return names


def _alike(one: Element, other: Element) -> bool:
    first, second = list(one.rows()), list(other.rows())
    if not first or not second:
        return False
    shared = len(set(first) & set(second))
    return shared * 2 > max(len(set(first)), len(set(second)))


def _place(order: list[str], right: list[str], new: Element, path: str, found: list[dict[str, Any]]) -> None:
    """Moves and additions that bring ``order`` to ``right``."""
    stay = _longest_increasing([right.index(name) for name in order])
    fixed = {right[index] for index in stay}
    groups = _groups(new)
    previous: str | None = None
    for name in right:
        if name in order and name not in fixed:
            found.append({"move": _join(path, name), "after": previous})
        elif name not in order:
            for element in groups[name]:
                found.append({"add": path, "after": previous, "element": dump_element(element)})
                previous = name
        previous = name


def _longest_increasing(values: list[int]) -> list[int]:
    best: list[list[int]] = []
    for value in values:
        longest = max((run for run in best if run[-1] < value), key=len, default=[])
        best.append([*longest, value])
    return max(best, key=len, default=[])


def _inside(one: Element, other: Element, path: str) -> list[dict[str, Any]]:
    if replace(one, children=(), name="") == replace(other, children=(), name=""):
        return difference(one, other, path)
    return [{"replace": path, "element": dump_element(other)}]
