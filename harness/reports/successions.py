"""A capture against that of an earlier driver, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.stages.compare.succession import APPEARED, BLOCK, EMPTY, RENAMED, STATE, VALUE, VANISHED
from harness.tables import rows
from harness.text import paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.stages.compare.succession import Step, Succession

NAMES = 4
"""Elements of a block that are named."""
TEXTS = 3
"""Texts of an element that are shown."""
_HEADS = ((APPEARED, "appeared (not printed before)"), (VANISHED, "vanished (no longer printed)"), (RENAMED, "renamed (the same reading)"),
          (STATE, "state (value or not)"))  # fmt: skip


def lines(found: Succession) -> Iterator[str]:
    """Both captures, what became of the elements by kind, and the sums."""
    drivers = " -> ".join(driver or "not said" for driver in found.drivers)
    gpus = " -> ".join(f"{count}" for count in found.gpus)
    yield f"compared with {found.name}: driver {drivers}, GPUs {gpus}"
    for kind, head in _HEADS:
        steps = [step for step in found.steps if step.kind == kind]
        if steps:
            yield f"  {head}: {found.count(kind)}"
        for step in steps:
            yield f"    {line(step)}"
            yield from (f"      {name}" for name in step.inside if step.kind == RENAMED and " -> " in name)
    yield f"  the same: {found.kept} elements, {found.moved} of them with other values"


def line(step: Step) -> str:
    """One step."""
    gpus = f" (GPU {paths.ranges(step.gpus)})" if step.gpus else ""
    if step.kind == RENAMED:
        return f"{step.old[0]} -> {step.new[0]}{gpus}" + (f": {len(step.inside)} elements" if step.inside else "")
    if step.kind == STATE:
        return f"{step.path}{gpus}: {_texts(step.old)} -> {_texts(step.new)}{_inside(step)}"
    return f"{step.path}{gpus}{_inside(step) or f': {_texts(step.old or step.new)}'}"


def document(found: Succession) -> dict[str, Any]:
    """The comparison for JSON."""
    return {
        "with": found.name,
        "drivers": list(found.drivers),
        "gpus": list(found.gpus),
        **{kind: found.count(kind) for kind, _ in _HEADS},
        "kept": found.kept,
        "moved": found.moved,
        "steps": [_step(step) for step in found.steps],
    }


def _step(step: Step) -> dict[str, Any]:
    row = rows.load().get(step.row or "")
    said = {"kind": step.kind, "path": step.path, "row": step.row, "label": None if row is None else row.label}
    return {**said, "old": list(step.old), "new": list(step.new), "gpus": list(step.gpus), "elements": list(step.inside)}


def _inside(step: Step) -> str:
    if not step.inside:
        return ""
    names = [path.removeprefix(f"{step.path}/") for path in step.inside]
    more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
    return f": {len(names)} elements, {', '.join(names[:NAMES])}{more}"


def _texts(texts: Sequence[str]) -> str:
    shown = " or ".join(text if text in (VALUE, EMPTY, BLOCK) else repr(text) for text in texts[:TEXTS])
    return shown + (f" or {len(texts) - TEXTS} more" if len(texts) > TEXTS else "")
