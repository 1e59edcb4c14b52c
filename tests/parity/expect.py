"""Findings that a change must cause, from the leaves before and after: not by the comparison's code.

A GPU stays at its place in every change made here, so the leaves are laid side by side by path; but for one whose heading is refused: it has no
block, and those after it move up, each told by its UUID.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Wanted:
    """One finding to be: the GPU as findings call it ('' for the node), path, kind."""

    gpu: str
    path: str
    kind: str


def gpu_number(path: str) -> int | None:
    """``gpu[3]/uuid`` -> 3."""
    return int(path[4 : path.index("]")]) if path.startswith("gpu[") else None


def gpu_names(leaves: Iterable[tuple[str, str]]) -> dict[int, str]:
    """GPU number -> its UUID where no other GPU has it, else its number."""
    leaves = list(leaves)
    numbers = {number for path, _ in leaves if (number := gpu_number(path)) is not None}
    uuids = {number: text for path, text in leaves if (number := gpu_number(path)) is not None and path == f"gpu[{number}]/uuid"}
    often = Counter(uuids.values())
    return {number: uuids[number] if uuids.get(number) and often[uuids[number]] == 1 else str(number) for number in numbers}


def laid_over(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    """``after`` under the GPU numbers of ``before``, where it has fewer GPUs."""
    numbers = {number for path in before if (number := gpu_number(path)) is not None}
    left = {number for path in after if (number := gpu_number(path)) is not None}
    if len(left) >= len(numbers):
        return after
    was = {before[f"gpu[{number}]/uuid"]: number for number in sorted(numbers)}
    assert len(was) == len(numbers), "GPUs of one UUID: which of them is refused is not told"
    moved = {number: was[after[f"gpu[{number}]/uuid"]] for number in left}
    return {_numbered(path, moved): text for path, text in after.items()}


def _numbered(path: str, moved: dict[int, int]) -> str:
    number = gpu_number(path)
    return path if number is None else f"gpu[{moved[number]}]{path[path.index(']') + 1 :]}"


def findings(
    before: Iterable[tuple[str, str]], after: Iterable[tuple[str, str]], states: Collection[str], hidden: Collection[str] = ()
) -> set[Wanted]:
    """What a comparison must find between the capture's leaves ``before`` and the render's ``after``; ``states``: texts of states.

    ``hidden``: paths that the giver hid.
    """
    wanted = dict(before)
    got = laid_over(wanted, dict(after))
    names = gpu_names(wanted.items())
    found = set()
    for path in wanted.keys() | got.keys():
        expected, actual = wanted.get(path), got.get(path)
        if expected == actual or path in hidden:
            continue
        kind = "changed"
        if expected is None or actual is None:
            kind = "invented" if expected is None else "missing"
        elif expected in states or actual in states:
            kind = "state"
        number = gpu_number(path)
        found.add(Wanted("" if number is None else names[number], path, kind))
    return found
