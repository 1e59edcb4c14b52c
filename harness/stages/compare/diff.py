"""The keyed diff of two sets of readings.  The one module that imports deepdiff, and only when there is something to explain."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator

from harness.stages.compare.case import CHANGED, INVENTED, MISSING, ORDER, STATE, Finding
from harness.stages.compare.keyed import Keyed, gpu_of


def explain(keyed: Keyed, states: Collection[str]) -> list[Finding]:
    """Every difference between capture and render, in the capture's order; invented elements last.

    ``states``: the texts that the driver prints for states; a difference with one of them on either side is of kind state.
    An element that both moved and changed is one finding, of what changed.
    """
    changes = dict(_changes(keyed.expected, keyed.actual))
    found = {}
    for path, (expected, actual) in changes.items():
        found[path] = Finding(_name(keyed, path), path, _kind(expected, actual, states), expected, actual)
    wanted, got = _preceding(keyed.expected), _preceding(keyed.actual)
    for path in _moved(keyed.expected, keyed.actual):
        if path not in found:
            found[path] = Finding(_name(keyed, path), path, ORDER, f"after {wanted[path]}", f"after {got[path]}")
    place = {path: number for number, path in enumerate(dict.fromkeys([*keyed.expected, *keyed.actual]))}
    return sorted(found.values(), key=lambda finding: (finding.kind == INVENTED, place[finding.path]))


def _changes(expected: dict[str, str], actual: dict[str, str]) -> Iterator[tuple[str, tuple[str | None, str | None]]]:
    from deepdiff import DeepDiff

    tree = DeepDiff(expected, actual, view="tree", threshold_to_diff_deeper=0)
    for group in ("values_changed", "dictionary_item_removed", "dictionary_item_added"):
        for level in tree.get(group, ()):
            (path,) = level.path(output_format="list")
            yield path, (expected.get(path), actual.get(path))


def _kind(expected: str | None, actual: str | None, states: Collection[str]) -> str:
    if actual is None:
        return MISSING
    if expected is None:
        return INVENTED
    return STATE if expected in states or actual in states else CHANGED


def _name(keyed: Keyed, path: str) -> str | None:
    gpu = gpu_of(path)
    return None if gpu is None else keyed.names[gpu]


def _moved(expected: dict[str, str], actual: dict[str, str]) -> list[str]:
    """Common elements that stand elsewhere in the render.

    The elements outside a longest run that both sides have in the same order; so one element moved is one element named.
    """
    common = [path for path in actual if path in expected]
    place = {path: number for number, path in enumerate(path for path in expected if path in actual)}
    kept = _longest_rising([place[path] for path in common])
    return [path for number, path in enumerate(common) if number not in kept]


def _preceding(leaves: dict[str, str]) -> dict[str, str]:
    """Path -> the path before it."""
    return dict(zip(leaves, ["the start", *leaves], strict=False))


def _longest_rising(numbers: list[int]) -> set[int]:
    """Positions in ``numbers`` of one longest strictly rising subsequence."""
    tails: list[int] = []
    at: list[int] = []
    previous: list[int] = []
    for position, number in enumerate(numbers):
        where = bisect_left(tails, number)
        if where == len(tails):
            tails.append(number)
            at.append(position)
        else:
            tails[where] = number
            at[where] = position
        previous.append(at[where - 1] if where else -1)
    kept: set[int] = set()
    position = at[-1] if at else -1
    while position >= 0:
        kept.add(position)
        position = previous[position]
    return kept
