"""Readings as text and as JSON; what GPUs have in common is said once."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from harness.stages.showing.readings import CHANGED, DEFAULT, DERIVED, GIVEN, NOTHING, RECORDED
from harness.text import paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.stages.showing.readings import Key, Shown
    from harness.stages.showing.subjects import Subject

VERSION = 1
LONGEST = 300
"""Characters of a value that a line shows; the JSON has all."""


def lines(subject: Subject, found: Iterable[Shown], *, origin: bool) -> Iterator[str]:
    """A line a reading, alike GPUs as one; ``origin``: with where it comes from."""
    heads: dict[str, dict[tuple[str, ...], list[int]]] = {}
    for entry in found:
        value = _value(entry.key) if entry.by_key and entry.key is not None else _text(entry)
        alike = (value, *(_origin(subject, entry) if origin else ()))
        gpus = heads.setdefault(_headless(entry), {}).setdefault(alike, [])
        gpus += [] if entry.gpu is None else [entry.gpu]
    for head, groups in heads.items():
        for (value, *more), gpus in groups.items():
            yield f"{f'gpu[{paths.ranges(gpus)}]/' if gpus else ''}{head}: {value}"
            yield from (f"    {line}" for line in more)


def _headless(entry: Shown) -> str:
    """The path or key without the GPU."""
    if entry.key is not None and entry.by_key:
        return entry.key.name
    return (entry.path or "").removeprefix(f"gpu[{entry.gpu}]/")


def _text(entry: Shown) -> str:
    if entry.text is None:
        return _value(entry.key) if entry.key is not None else "nothing"
    shown = entry.text or "(empty)"
    return _short(shown) + (f" ({entry.state})" if entry.state else "")


def _value(key: Key) -> str:
    if key.state is not None:
        return f"({key.state})"
    shown = key.value if isinstance(key.value, str) else json.dumps(key.value, ensure_ascii=False, default=str)
    return _short(shown or "(empty)") + (f" {key.unit}" if key.unit else "") + ("" if key.basis in (GIVEN, CHANGED) else f" ({key.basis})")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _origin(subject: Subject, entry: Shown) -> Iterator[str]:
    """Where a reading comes from, one line a fact."""
    if entry.path is not None:
        driver = f", driver {subject.driver.version}" if subject.driver is not None else ""
        where = paths.distinct(entry.path) if entry.gpu is not None else entry.path
        yield f"printed  {subject.printed}{driver}, {where}" + (f": {_text(entry)}" if entry.key is not None else "")
    if entry.row is not None:
        yield f"row      {entry.row} ({entry.label})"
    elif entry.path is not None:
        yield f"row      none: {entry.note or 'a block or a list without a row of its own'}"
    if entry.route is not None:
        yield f"route    {entry.route}; basis {entry.basis}" + (f": {entry.why}" if entry.why else "")
    if entry.note and entry.row is not None:
        yield f"kept     verbatim: {entry.note}"
    if entry.answer:
        yield f"answer   {_short(entry.answer)}, kept by the profile as it was recorded: it stands before the key"
    if entry.key is not None:
        yield f"key      {entry.key.name} = {_value(replace(entry.key, basis=GIVEN))}, {_basis(subject, entry.key)}"


def _basis(subject: Subject, key: Key) -> str:
    if key.basis == DEFAULT:
        return "a default of the configuration reference: the profile does not give it"
    if key.basis == DERIVED:
        return "derived from other keys of the profile"
    if key.basis == RECORDED:
        return "an answer kept by the profile as it was recorded: no key explains it"
    if key.basis == NOTHING:
        return "neither given nor with a default: the call answers NOT_SUPPORTED"
    if key.basis == CHANGED:
        had = "nothing" if key.captured is None else _short(json.dumps(key.captured, ensure_ascii=False))
        return f"given by the profile in place of the capture's {had}"
    if key.element is None:
        return "given by the profile, which does not say where from"
    if subject.profile is not None and subject.profile.path is None:
        return f"as an import would keep it, from {key.element}"
    return f"given by the profile, from capture {key.capture}, driver {key.driver}, {key.element}"


def document(subject: Subject, path: str, found: Iterable[Shown]) -> dict[str, Any]:
    """The JSON of readings, version 1, always with origin."""
    listed = json.loads(json.dumps([asdict(entry) for entry in found], default=repr))  # a derived key may be bytes or a record
    driver = None if subject.driver is None else subject.driver.version.text
    return {"version": VERSION, "name": subject.name, "printed": subject.printed, "driver": driver, "path": path, "readings": listed}


def facts(found: dict[str, Any]) -> Iterator[str]:
    """What a file that nvidia-smi wrote is, one line a fact."""
    driver = f", driver {found['driver']}, layout {found['layout']}" if found["driver"] else ", no driver is told"
    yield f"{found['file']}: {found['kind']}, view {found['view']}{driver}"
    for number, gpu in enumerate(found["gpus"]):
        yield f"  GPU {number}: {gpu['name'] or 'no name'} ({gpu['uuid'] or 'no UUID'})"
    if found["readings"]:
        kinds = ", ".join(f"{kind} {count}" for kind, count in found["readings"].items() if count and kind != "elements")
        yield f"  elements {found['readings']['elements']}: {kinds}"
    if found["states"]:
        yield "  states: " + ", ".join(f"{count} x {text!r}" for text, count in found["states"].items())
    yield from (f"  note: {note}" for note in found["notes"])
    yield "  a file as it is, nothing scrubbed; nvparity import makes a capture and a profile of it"
