"""A diff as text and as JSON: one entry for each difference that several GPUs share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.stages.compare.case import INVENTED, KINDS, MISSING
from harness.stages.compare.difference import RENAMED
from harness.stages.compare.keyed import gpu_of
from harness.stages.compare.sides import KEYS
from harness.tables import rows
from harness.text import paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.stages.compare.difference import Difference
    from harness.stages.compare.sides import Side

VERSION = 1
MOST_OF_A_LIST = 3
"""Entries of a list (clocks) that are told one by one."""
LONGEST = 100
"""Characters of a text that the lines show; the JSON has all."""


@dataclass(frozen=True)
class Entry:
    """One difference of the GPUs ``gpus`` (empty for the node): ``path`` has their range; ``one`` and ``other``: the texts, a path for a rename."""

    kind: str
    path: str
    gpus: tuple[int, ...]
    row: str | None
    one: str | None
    other: str | None


def entries(difference: Difference) -> list[Entry]:
    """Findings and renames of one view, those alike but for the GPU as one, in the order of the first of each."""
    found: dict[tuple[str, str, str | None, str | None, str | None], list[int | None]] = {}
    for finding in difference.findings:
        shape = (finding.kind, _open(finding.path), difference.rows.get(finding.path), finding.expected, finding.actual)
        found.setdefault(shape, []).append(gpu_of(finding.path))
    for rename in difference.renames:
        shape = (RENAMED, _open(rename.path), rename.row, _open(rename.path), _open(rename.actual))
        found.setdefault(shape, []).append(gpu_of(rename.path))
    made = []
    for (kind, path, row, one, other), numbers in found.items():
        gpus = tuple(number for number in numbers if number is not None)
        texts = (_closed(text, gpus) if kind in (RENAMED, "order") and text else text for text in (one, other))
        made.append(Entry(kind, _closed(path, gpus), gpus, row, *texts))
    return made


def _open(path: str) -> str:
    """``path`` with a gap for the GPU's number."""
    gpu = gpu_of(path)
    return path if gpu is None else f"gpu[]{path[len(f'gpu[{gpu}]') :]}"


def _closed(path: str, gpus: tuple[int, ...]) -> str:
    return path.replace("gpu[]", f"gpu[{paths.ranges(gpus)}]", 1)


def lines(one: Side, other: Side, differences: Iterable[Difference]) -> Iterator[str]:
    """What both sides are, each difference, and the sums of each view."""
    for mark, side in (("a", one), ("b", other)):
        yield f"{mark}: {side.name} ({side.kind}{f', driver {side.driver}' if side.driver else ''})"
    listed = list(differences)
    for difference in listed:
        if len(listed) > 1:
            yield f"view {difference.view}"
        single, blocks = _blocks(difference, entries(difference))
        yield from _told(single, plain=difference.view == KEYS)
        yield from blocks
        yield _sum(difference)


def _told(listed: list[Entry], *, plain: bool) -> Iterator[str]:
    """A line each; the entries of one list that differ alike, as one."""
    run: list[Entry] = []
    for entry in [*listed, None]:
        if entry is not None and run and _list(entry) is not None and _list(entry) == _list(run[-1]):
            run.append(entry)
            continue
        if len(run) > MOST_OF_A_LIST:
            first, last = run[0], run[-1]
            index = f"[{paths.indices(first.path)[-1]}-{paths.indices(last.path)[-1]}]"
            head = replace(first, path=f"{first.path[: first.path.rindex('[')]}{index}")
            yield f"{_line(head, plain=plain)} and {len(run) - 1} entries more"
        else:
            yield from (_line(each, plain=plain) for each in run)
        run = [entry] if entry is not None else []


def _list(entry: Entry) -> tuple[str, str, tuple[int, ...]] | None:
    """What the entries of one list have in common; None for what is no entry of one."""
    if entry.kind in (RENAMED, "order") or not entry.path.endswith("]"):
        return None
    return entry.kind, entry.path[: entry.path.rindex("[")], entry.gpus


def _line(entry: Entry, *, plain: bool) -> str:
    row = f" ({entry.row})" if entry.row else ""
    if entry.kind == RENAMED:
        return f"{entry.kind:<8} {entry.path} -> {(entry.other or '').partition(']/')[2] if entry.gpus else entry.other}{row}"
    if entry.kind == "order":
        return f"{entry.kind:<8} {entry.path}{row}: {entry.one}, in b {entry.other}"
    return f"{entry.kind:<8} {entry.path}{row}: {_side(entry.one, plain=plain)} -> {_side(entry.other, plain=plain)}"


def _side(text: str | None, *, plain: bool) -> str:
    if text is None:
        return "nothing"
    short = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    return short if plain else repr(short)


def _blocks(difference: Difference, made: list[Entry]) -> tuple[list[Entry], list[str]]:
    """The entries to be told one by one, and a line for each block that one side lacks altogether."""
    present = {MISSING: _prefixes(difference.present[1]), INVENTED: _prefixes(difference.present[0])}
    counted: Counter[tuple[str, str]] = Counter()
    gpus: dict[tuple[str, str], set[int]] = {}
    single: list[Entry] = []
    for entry in made:
        numbers: tuple[int | None, ...] = entry.gpus or (None,)
        blocks = {number: _block(_at(entry.path, number), present.get(entry.kind)) for number in numbers}
        if any(block is None for block in blocks.values()):
            single.append(entry)
            continue
        for number, block in blocks.items():
            shape = (entry.kind, _open(block or ""))
            counted[shape] += 1
            gpus.setdefault(shape, set()).update([] if number is None else [number])
    said = []
    for (kind, block), count in counted.items():
        numbers_of = tuple(sorted(gpus[kind, block]))
        each = count // max(len(numbers_of), 1)
        said.append(f"{kind:<8} {_closed(block, numbers_of)}: {each} element{'s' if each > 1 else ''}{' each' if len(numbers_of) > 1 else ''}")
    return single, said


def _at(path: str, gpu: int | None) -> str:
    """An entry's path for one of its GPUs."""
    return path if gpu is None else f"gpu[{gpu}]{path[path.index(']') + 1 :]}"


def _block(path: str, present: frozenset[str] | None) -> str | None:
    """The outermost element around ``path`` that the other side lacks; None where only the element itself is lacking."""
    if present is None:
        return None
    steps = path.split("/")
    return next((block for end in range(1, len(steps)) if (block := "/".join(steps[:end])) not in present), None)


def _prefixes(listed: Iterable[str]) -> frozenset[str]:
    """Every element around one of the paths."""
    return frozenset("/".join(steps[:end]) for path in listed if (steps := path.split("/")) for end in range(1, len(steps)))


def _sum(difference: Difference) -> str:
    counts = Counter(finding.kind for finding in difference.findings)
    told = [f"{counts[kind]} {kind}" for kind in KINDS if counts[kind]] + ([f"{len(difference.renames)} {RENAMED}"] if difference.renames else [])
    line = f"{', '.join(told) or 'equal'} of {difference.elements} {'keys' if difference.view == KEYS else 'elements'}"
    line += "".join(f"; {count} {kind} not shown" for kind, count in difference.hidden.items())
    return line + (f"; {difference.redacted} redacted, not compared" if difference.redacted else "")


def document(one: Side, other: Side, differences: Iterable[Difference]) -> dict[str, Any]:
    """The JSON of a diff, version 1."""
    listed = list(differences)
    sides = {mark: {"name": side.name, "kind": side.kind, "driver": side.driver} for mark, side in (("a", one), ("b", other))}
    return {"version": VERSION, **sides, "equal": all(difference.equal for difference in listed), "views": [_view(each) for each in listed]}


def _view(difference: Difference) -> dict[str, Any]:
    return {
        "view": difference.view,
        "elements": difference.elements,
        "equal": difference.equal,
        "differences": [_entry(entry) for entry in entries(difference)],
        "hidden": dict(difference.hidden),
        "redacted": difference.redacted,
    }


def _entry(entry: Entry) -> dict[str, Any]:
    row = rows.load().get(entry.row or "")
    return {
        "kind": entry.kind,
        "path": entry.path,
        "gpus": list(entry.gpus),
        "row": entry.row,
        "label": None if row is None else row.label,
        "a": entry.one,
        "b": entry.other,
    }
