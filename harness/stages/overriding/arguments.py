"""What the verbs of ``nvparity ctl`` take: whole numbers, fractions, names; each refused with what would be taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from harness.stages.overriding import document, merging
from harness.stages.overriding.merging import Tree
from harness.stores.schema import kept, keys
from harness.tables import strictyaml
from harness.words.errors import UsageError, did_you_mean

Changes = dict[str, Any]
"""Dotted key -> value; null takes the key or block away."""
Values = Mapping[str, Any]
_DIGITS = 40
"""Longer numbers are not read: every range ends below them."""


def whole(verb: str, text: str, least: int, most: int) -> int:
    """The whole number in ``text``; UsageError where it is none or outside ``least`` to ``most``."""
    body = text[1:] if text[:1] in ("-", "+") else text
    if not (body.isascii() and body.isdigit()):
        raise UsageError(f"{verb}: {text!r} is no whole number")
    if len(body) > _DIGITS or not least <= int(text) <= most:
        raise UsageError(f"{verb}: {text} is outside {least} to {most}")
    return int(text)


def fraction(verb: str, text: str, least: int, most: int) -> Decimal:
    """The finite number in ``text``; UsageError where it is none or outside ``least`` to ``most``."""
    try:
        number = Decimal(text) if len(text) <= 40 and text.isascii() and "_" not in text else None
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite():
        raise UsageError(f"{verb}: {text!r} is no finite number")
    if not least <= number <= most:
        raise UsageError(f"{verb}: {text} is outside {least} to {most}")
    return number


def names_of(verb: str, given: Sequence[str], known: Mapping[str, str], nothing: Sequence[str] = ("none",)) -> frozenset[str]:
    """What ``given`` (words, or words between commas) names of ``known``; ``nothing`` alone names none of them.

    UsageError for an unknown name, for none at all, and for ``nothing`` beside another.
    """
    words = [word.strip().lower() for text in given for word in text.split(",")]
    choice = (*known, *nothing)
    for word in words:
        if word not in choice:
            raise UsageError(f"{verb}: unknown name {word!r}{did_you_mean(word, choice)}; known: {', '.join(choice)}")
    if not words:
        raise UsageError(f"{verb}: takes {nothing[0]}, or at least one of {', '.join(known)}")
    if any(word in nothing for word in words) and len(set(words)) > 1:
        raise UsageError(f"{verb}: {next(word for word in words if word in nothing)} stands alone: it clears what the other names set")
    return frozenset(known[word] for word in words if word in known)


def words_of(key: str) -> tuple[str, ...]:
    """The words that a key of a GPU takes."""
    listed = (*keys.device_keys().values(), *kept.DEVICE)
    return next(tuple(word for word, _ in found.words) for found in listed if found.path == key)


def tree_of(changes: Mapping[str, Any]) -> dict[str | int, Any]:
    """Dotted keys as the tree of a bucket."""
    made: dict[str | int, Any] = {}
    for path, value in changes.items():
        *parents, name = path.split(".")
        level = made
        for block in parents:
            level = level.setdefault(block, {})
        level[name] = value
    return made


def pairs(given: Sequence[str]) -> Tree:
    """``a.b.c=VALUE`` pairs as one tree, the later over the earlier; VALUE is YAML (ledger X14).

    UsageError for what is no pair, InputError for a VALUE that is no YAML.
    """
    if not given:
        raise UsageError("set: takes KEY=VALUE, as in thermal.temperature_gpu_c=85")
    made: Tree = {}
    for pair in given:
        path, equals, text = pair.partition("=")
        steps = path.split(".", 1) if path.startswith(f"{merging.STATES}.") else path.split(".")
        if not equals or not all(steps):
            raise UsageError(f"set: {pair!r} is no KEY=VALUE, as in thermal.temperature_gpu_c=85")
        if len(steps) > strictyaml.MAX_DEPTH:
            raise UsageError(f"set: {path[:40]}...: nested deeper than {strictyaml.MAX_DEPTH} levels")
        if not text.strip():
            raise UsageError(f"set: {path} has no value; {path}=null takes it away")
        value = strictyaml.load(text, f"set: {path}").value
        for step in reversed(steps):
            value = {step: value}
        if refused := document.states_refused(value):
            raise UsageError(f"set: {refused}")
        made = merging.merge(made, document.numbered(value))
    return made
