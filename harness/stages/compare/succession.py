"""A capture against an earlier one of the same board: which elements the next driver prints, no longer prints, names otherwise, or has no value for.

GPUs are not paired: the two nodes may have different numbers of them, so an element counts once, with the GPUs that have it.  Values are only
counted; `difference` tells them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.stages.compare.keyed import gpu_of
from harness.text import paths
from harness.text.transcript import VIEW_QUERY
from harness.words.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.stages.compare.sides import Side, View

APPEARED, VANISHED, RENAMED, STATE = "appeared", "vanished", "renamed", "state"
VALUE, EMPTY, BLOCK = "a value", "empty", "a block"
"""What stands for texts that are no state."""


@dataclass(frozen=True)
class Step:
    """One difference from the earlier driver to the later.

    ``path``: the element, without indices, by its later name, or its earlier one where it vanished; ``row``: what it is, None where no row
    explains it; ``old``, ``new``: the texts of a state (``a value`` for values, each once), the earlier and later name of a rename, the texts of
    an element that vanished or appeared, nothing on its other side; ``gpus``: those of the later capture (of the earlier where it vanished) that
    show it, empty where all do; ``inside``: the elements of a block that came or went whole, or that were renamed together.
    """

    kind: str
    path: str
    row: str | None
    old: tuple[str, ...]
    new: tuple[str, ...]
    gpus: tuple[int, ...] = ()
    inside: tuple[str, ...] = ()

    @property
    def elements(self) -> int:
        """How many elements it speaks of; a block that is a line on the other side is one."""
        return 1 if self.kind == STATE else max(1, len(self.inside))


@dataclass(frozen=True)
class Succession:
    """What became of the elements: the capture compared with (``name``), both drivers and numbers of GPUs, the ``steps``, and of the elements
    that both print the same way, how many (``kept``) and how many of these with other values (``moved``).
    """

    name: str
    drivers: tuple[str | None, str | None]
    gpus: tuple[int, int]
    steps: tuple[Step, ...]
    kept: int
    moved: int

    def count(self, kind: str) -> int:
        """Elements that appeared, vanished, were renamed or changed state."""
        return sum(step.elements for step in self.steps if step.kind == kind)


@dataclass(frozen=True)
class _Element:
    """One element over all GPUs: number of the GPU (None: the node) -> texts."""

    row: str | None
    texts: Mapping[int | None, tuple[str, ...]]

    def every(self) -> tuple[str, ...]:
        """The texts, each once."""
        return tuple(dict.fromkeys(text for texts in self.texts.values() for text in texts))


def follow(earlier: Side, later: Side) -> Succession:
    """What became of the elements of ``earlier`` in ``later``.  Raises InputError where one of them has no query."""
    for side in (earlier, later):
        if VIEW_QUERY not in side.views:
            raise InputError(f"{side.name} has no {VIEW_QUERY}: elements can be compared of two queries only")
    one, other = earlier.views[VIEW_QUERY], later.views[VIEW_QUERY]
    old, new = _elements(one), _elements(other)
    states = one.states | other.states
    shapes = _reshaped(old, new, states)
    told = {path for step in shapes for path in (step.path, *step.inside)}
    gone = {path: element for path, element in old.items() if path not in new and path not in told}
    came = {path: element for path, element in new.items() if path not in old and path not in told}
    here, there = _gpus(one), _gpus(other)
    renames = _renames(gone, came, there)
    pairs = [(step.path, gone.pop(step.old[0]), came.pop(step.path)) for step in renames]
    both = [path for path in new if path in old and path not in told]
    changed = [
        found
        for path, before, after in [*pairs, *((path, old[path], new[path]) for path in both)]
        if (found := _state(path, before, after, states)) is not None
    ]
    steps = [*_blocks(APPEARED, came, old, there), *_blocks(VANISHED, gone, new, here), *_together(renames), *shapes, *changed]
    kept = [path for path in both if path not in {step.path for step in changed}]
    moved = sum(1 for path in kept if set(old[path].every()) != set(new[path].every()))
    return Succession(earlier.name, (earlier.driver, later.driver), (len(here), len(there)), tuple(steps), len(kept), moved)


def _gpus(view: View) -> frozenset[int]:
    return frozenset(number for path, _ in view.leaves if (number := gpu_of(path)) is not None)


def _elements(view: View) -> dict[str, _Element]:
    """Path without indices -> the element, in file order; readings that a giver hid are left out."""
    rows: dict[str, str | None] = {}
    texts: dict[str, dict[int | None, list[str]]] = {}
    for path, text in view.leaves:
        if path in view.redacted:
            continue
        plain = paths.distinct(path)
        rows[plain] = rows.get(plain) or view.rows.get(path)
        texts.setdefault(plain, {}).setdefault(gpu_of(path), []).append(text)
    return {path: _Element(rows[path], {number: tuple(each) for number, each in found.items()}) for path, found in texts.items()}


def _below(path: str, elements: Iterable[str]) -> tuple[str, ...]:
    return tuple(each for each in elements if each.startswith(f"{path}/"))


def _reshaped(old: dict[str, _Element], new: dict[str, _Element], states: frozenset[str]) -> list[Step]:
    """Elements that are a line in one capture and a block in the other: a list that is empty there, or a block that has no value at all."""
    found = []
    for path, element in old.items():
        inside = _below(path, new) if path not in new and not path.endswith("/@id") else ()
        if inside:
            found.append(Step(STATE, path, element.row, _line(element, states), (BLOCK,), (), inside))
    for path, element in new.items():
        inside = _below(path, old) if path not in old else ()
        if inside:
            found.append(Step(STATE, path, element.row, (BLOCK,), _line(element, states), (), inside))
    return found


def _renames(gone: dict[str, _Element], came: dict[str, _Element], gpus: frozenset[int]) -> list[Step]:
    """Elements that one capture alone has, of one row that has no other such element: the reading has another name."""
    before, after = _by_row(gone), _by_row(came)
    pairs = [(before[row], after[row], row) for row in before if row in after]
    return [Step(RENAMED, new[0], row, (old[0],), (new[0],), _some(came[new[0]], gpus)) for old, new, row in pairs if len(old) == len(new) == 1]


def _by_row(elements: dict[str, _Element]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path, element in elements.items():
        if element.row is not None:
            found.setdefault(element.row, []).append(path)
    return found


def _together(renames: list[Step]) -> list[Step]:
    """Renames from one block into one other, as one."""
    blocks: dict[tuple[str, str], list[Step]] = {}
    for step in renames:
        blocks.setdefault((_block(step.old[0]), _block(step.path)), []).append(step)
    told: list[Step] = []
    for (old, new), steps in blocks.items():
        told += steps if old == new or len(steps) == 1 else [_whole(old, new, steps)]
    return told


def _whole(old: str, new: str, steps: list[Step]) -> Step:
    names = tuple(_renamed(step.old[0].removeprefix(f"{old}/"), step.path.removeprefix(f"{new}/")) for step in steps)
    return Step(RENAMED, new, None, (old,), (new,), steps[0].gpus, names)


def _renamed(old: str, new: str) -> str:
    return new if old == new else f"{old} -> {new}"


def _block(path: str) -> str:
    return path.rpartition("/")[0]


def _state(path: str, old: _Element, new: _Element, states: frozenset[str]) -> Step | None:
    """The step of an element that had values and has a state now, the other way round, or another state."""
    before, after = _kinds(old, states), _kinds(new, states)
    if set(before) == set(after):
        return None
    fresh = set(after) - set(before)
    numbers = {number for number, texts in new.texts.items() if number is not None and fresh & {_kind(text, states) for text in texts}}
    some = tuple(sorted(numbers)) if numbers and len(numbers) < len(new.texts) else ()
    return Step(STATE, path, new.row or old.row, before, after, some)


def _kinds(element: _Element, states: frozenset[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_kind(text, states) for text in element.every()))


def _kind(text: str, states: frozenset[str]) -> str:
    return text if text in states else VALUE


def _line(element: _Element, states: frozenset[str]) -> tuple[str, ...]:
    """What stands in place of a block."""
    return tuple(dict.fromkeys(EMPTY if not text else _kind(text, states) for text in element.every()))


def _blocks(kind: str, elements: dict[str, _Element], others: dict[str, _Element], gpus: frozenset[int]) -> list[Step]:
    """The elements of ``kind``; a block of which the other capture has nothing, as one."""
    around = {"/".join(steps[:end]) for path in others if (steps := path.split("/")) for end in range(1, len(steps) + 1)}
    grouped: dict[str, list[str]] = {}
    for path in elements:
        steps = path.split("/")
        block = next((found for end in range(1, len(steps) + 1) if (found := "/".join(steps[:end])) not in around), path)
        grouped.setdefault(block, []).append(path)
    made = []
    for block, inside in grouped.items():
        element = elements[inside[0]]
        alone = len(inside) == 1
        texts: tuple[str, ...] = element.every() if alone else ()
        old, new = (texts, ()) if kind == VANISHED else ((), texts)
        path, row = (inside[0], element.row) if alone else (block, None)
        made.append(Step(kind, path, row, old, new, _some(element, gpus), () if alone else tuple(inside)))
    return made


def _some(element: _Element, gpus: frozenset[int]) -> tuple[int, ...]:
    """Which of ``gpus`` have an element; none where all have it, or it is the node's."""
    numbers = {number for number in element.texts if number is not None}
    return tuple(sorted(numbers)) if numbers and numbers != gpus else ()
