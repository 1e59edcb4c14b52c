"""The check of a profile's document: every error at once, each with file, line, key path and the nearest key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from harness.stores.schema import kept, keys, rules
from harness.tables.strictyaml import Document
from harness.words.errors import InputError, did_you_mean, nearest

LIMIT = 50
"""Errors printed; the rest are counted."""


def check(document: Document) -> None:
    """Raise InputError listing everything wrong with a profile, one line an error, in file order; return when nothing is."""
    found = errors(document)
    if not found:
        return
    shown = [f"{document.source}:{line}: {message}" for line, message in found[:LIMIT]]
    if len(found) > LIMIT:
        shown.append(f"{document.source}: {len(found) - LIMIT} more errors")
    raise InputError("\n".join(shown))


def errors(document: Document) -> list[tuple[int, str]]:
    """(line, message) of everything wrong with a profile's document, in file order, each once."""
    return sorted(dict.fromkeys([*_schema_errors(document), *rules.errors(document)]))


def _schema_errors(document: Document) -> Iterator[tuple[int, str]]:
    from pydantic import ValidationError

    from harness.stores.schema import model

    if not isinstance(document.value, dict):
        yield 1, "a profile is a mapping with version, system, device_defaults and devices; nvparity import makes one of what nvidia-smi prints"
        return
    try:
        model.profile_model().model_validate(document.value)
    except ValidationError as error:
        for entry in error.errors(include_url=False):
            yield _one(document, tuple(entry["loc"]), entry["type"], entry["msg"], entry.get("ctx", {}))


def _one(document: Document, location: tuple[Any, ...], kind: str, message: str, context: Mapping[str, Any]) -> tuple[int, str]:
    path = _existing(document, location)
    name = ".".join(str(step) for step in path)
    line = document.line(path)
    if kind == "invalid_key":
        return line, f"unknown key {name!r}: a key is text"
    if kind == "extra_forbidden":
        return line, f"unknown key {name!r}{_nearest_key(path)}"
    if kind == "missing":
        missing = ".".join(str(step) for step in location)
        return line, f"{missing!r} is missing"
    value = path[-1] if location[-1] == "[key]" else _value(document, path)
    if kind == "literal_error":
        words = [word.strip("' ") for word in str(context.get("expected", "")).replace(" or ", ", ").split(",")]
        return line, f"{name}: {value!r} is not one of {', '.join(words)}{did_you_mean(str(value), words)}"
    if kind == "value_error":
        return line, f"{name}: {_shown(value)} is refused: {message.removeprefix('Value error, ')}"
    said = _EXPECTED.get(kind) or message.removeprefix("Input should be ")
    return line, f"{name}: {_shown(value)} should be {said}"


_EXPECTED = {"model_type": "a mapping", "dict_type": "a mapping", "list_type": "a list", "string_too_long": "at most 4096 characters"}
"""pydantic's kind of error -> what a user is told, where pydantic speaks of its own classes."""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _existing(document: Document, location: tuple[Any, ...]) -> tuple[Any, ...]:
    """The part of pydantic's location that is keys and indices of the document (unions add steps of their own)."""
    path: list[Any] = []
    value = document.value
    for step in location:
        known = step in value if isinstance(value, dict) else isinstance(value, list) and isinstance(step, int) and step < len(value)
        if not known:
            break
        value = value[step]
        path.append(step)
    return tuple(path)


def _value(document: Document, path: tuple[Any, ...]) -> Any:
    value = document.value
    for step in path:
        value = value[step]
    return value


def _nearest_key(path: tuple[Any, ...]) -> str:
    """The valid key a typo meant: first among keys of the same block, then among all keys of a GPU (given with their whole path)."""
    from harness.stores.schema import model

    *parents, wrong = path
    guess = nearest(str(wrong), model.names_at(parents))
    if guess is None and parents and parents[0] in ("device_defaults", "devices"):
        inside = [step for step in parents[1:] if isinstance(step, str)]
        valid = [*keys.device_keys(), *(key.path for key in kept.DEVICE)]
        flat = _flattened(str(wrong), valid)
        alike = flat is not None and str(wrong).startswith(flat.split(".")[0])
        guess = flat if alike else nearest(".".join((*inside, str(wrong))), valid) or flat
    return f" (did you mean {guess!r}?)" if guess else ""


def _flattened(wrong: str, valid: Iterable[str]) -> str | None:
    """The key whose path, written with underscores, begins most like ``wrong``: fan_sped means fan.speed_percent."""
    heads: dict[str, str] = {}
    for key in sorted(valid, key=len, reverse=True):  # of keys that begin alike the shortest stands
        heads[key.replace(".", "_")[: len(wrong) + 1]] = key
    found = nearest(wrong, heads)
    return heads[found] if found else None
