"""What a function's answer is made of, by ``tables/functions/*.yaml``: which field of the image each thing that it writes comes from."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mocklib.fields import TABLES, load_yaml

Arguments = Mapping[str, object]


@dataclass(frozen=True)
class Member:
    """One thing that a call writes, by the name that the binding gives it (``parameter`` or ``parameter.member``).

    ``field`` is the image's field, None for a fact that is the same on every board (``const``); ``absent``: the number that stands for a field
    that is not supported, None where the call answers its status instead.
    """

    out: str
    field: str | None
    const: int | None = None
    absent: int | None = None


def of(function: str, arguments: Arguments) -> tuple[Member, ...]:
    """The members of one call's answer, in the order in which their statuses decide; empty for a function whose handler is C, or for arguments
    that nothing answers.  A struct's version word that is not among ``arguments`` is the newest.
    """
    entry = _tables().get(function)
    if entry is None or "handler" in entry or "program" in entry:
        return ()
    if "version" in entry:
        arms = entry["version"]
        given = next((value for name, value in arguments.items() if name.endswith(".version")), max(arms))
        entry = arms.get(given, {})
    chosen = [arguments.get(name) for name in entry.get("by", ())]
    made = []
    for out, spec in {**entry.get("out", {}), **entry.get("string", {})}.items():
        arm = spec
        for value in chosen:
            arm = arm.get(value) if isinstance(arm, dict) else None
        if arm is not None:
            made.append(_member(out, arm))
    return tuple(made)


def functions() -> tuple[str, ...]:
    """Every function with an entry, in the tables' order: of two that answer from one field, the plainer stands first."""
    return tuple(_tables())


def reads(function: str) -> tuple[str, ...]:
    """The fields that a handler written in C reads."""
    return tuple(_tables().get(function, {}).get("reads", ()))


def _member(out: str, spec: Any) -> Member:
    if isinstance(spec, dict):
        return Member(out, spec.get("field"), spec.get("const"), spec.get("absent"))
    return Member(out, spec)


@functools.cache
def _tables() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((TABLES / "functions").glob("*.yaml")):
        found.update({name: entry for name, entry in load_yaml(path).items() if isinstance(entry, dict)})
    return found
