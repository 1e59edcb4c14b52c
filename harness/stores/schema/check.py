"""The check of a profile's document: every error at once, each with file, line, key path and the nearest key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.stores.schema import codec, keys
from harness.tables.strictyaml import Document
from harness.words.errors import InputError, did_you_mean, nearest
from harness.words.state import State

LIMIT = 50
"""Errors printed; the rest are counted."""


def check(document: Document) -> None:
    """Raise InputError listing everything wrong with a profile, one line an error, in file order; return when nothing is."""
    found = sorted(dict.fromkeys([*_schema_errors(document), *_rule_errors(document)]))
    if not found:
        return
    shown = [f"{document.source}:{line}: {message}" for line, message in found[:LIMIT]]
    if len(found) > LIMIT:
        shown.append(f"{document.source}: {len(found) - LIMIT} more errors")
    raise InputError("\n".join(shown))


def _schema_errors(document: Document) -> Iterator[tuple[int, str]]:
    from pydantic import ValidationError

    from harness.stores.schema import model

    if not isinstance(document.value, dict):
        yield 1, "a profile is a mapping with version, system, device_defaults and devices"
        return
    try:
        model.profile_model().model_validate(document.value)
    except ValidationError as error:
        for entry in error.errors(include_url=False):
            yield _one(document, tuple(entry["loc"]), entry["type"], entry["msg"], entry.get("ctx", {}))


def _one(document: Document, location: tuple[Any, ...], kind: str, message: str, context: Mapping[str, Any]) -> tuple[int, str]:
    path = _existing(document, location)
    name = ".".join(str(step) for step in path)
    line = _line(document, path)
    if kind == "extra_forbidden":
        return line, f"unknown key {name!r}{_nearest_key(path)}"
    if kind == "missing":
        missing = ".".join(str(step) for step in location)
        return line, f"{missing!r} is missing"
    value = _value(document, path)
    if kind == "literal_error":
        words = [word.strip("' ") for word in str(context.get("expected", "")).replace(" or ", ", ").split(",")]
        return line, f"{name}: {value!r} is not one of {', '.join(words)}{did_you_mean(str(value), words)}"
    said = message.removeprefix("Value error, ").removeprefix("Input should be ")
    return line, f"{name}: {_shown(value)} {'' if kind == 'value_error' else 'should be '}{'is refused: ' if kind == 'value_error' else ''}{said}"


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


def _line(document: Document, path: tuple[Any, ...]) -> int:
    while path and path not in document.lines:
        path = path[:-1]
    return document.lines.get(path, 1)


def _nearest_key(path: tuple[Any, ...]) -> str:
    """The valid key a typo meant: first among keys of the same block, then among all keys (given with their whole path)."""
    *parents, wrong = path
    inside = [str(step) for step in parents if isinstance(step, str)]
    device = bool(inside) and inside[0] in ("device_defaults", "devices")
    prefix = ".".join(inside[1:]) if device else ".".join(inside)
    valid = keys.device_keys() if device else _TOP
    depth = len(prefix.split(".")) if prefix else 0
    siblings = {key.split(".")[depth] for key in valid if not prefix or key.startswith(f"{prefix}.")}
    if device and not prefix:
        siblings |= {"states", "index"}
    guess = nearest(str(wrong), siblings)
    if guess is None and device:
        guess = nearest(f"{prefix}.{wrong}" if prefix else str(wrong), valid)
    return f" (did you mean {guess!r}?)" if guess else ""


_TOP = (
    "format", "version", "system.driver_version", "system.nvml_version", "system.cuda_version", "system.cuda_version_major",
    "system.cuda_version_minor", "system.driver_branch", "system.num_devices", "clock.mode", "clock.at", "device_defaults", "devices",
    "origin.capture", "origin.driver", "origin.layout", "origin.keys", "origin.unmodelled",
)  # fmt: skip


def _rule_errors(document: Document) -> Iterator[tuple[int, str]]:
    """What holds between keys: states by their names; each index, minor number and bus id once; minor numbers within 0 to 254."""
    value = document.value
    devices = value.get("devices") if isinstance(value, dict) else None
    if not isinstance(devices, list):
        return
    yield from _states(document)
    yield from _unique(document, devices, ("index",))
    yield from _unique(document, devices, ("pci", "bus_id"))
    minors: dict[Any, int] = {}
    for place, device in enumerate(devices):
        if not isinstance(device, dict):
            continue
        minor = device.get("minor_number", device.get("index"))
        line = _line(document, ("devices", place, "minor_number"))
        if isinstance(minor, int) and not 0 <= minor <= 254:
            yield line, f"devices.{place}.minor_number: {minor} is outside 0 to 254 (255 is nvidiactl)"
        if minor in minors:
            yield line, f"devices.{place}.minor_number: {minor} is that of devices.{minors[minor]} too (the default is the index)"
        minors.setdefault(minor, place)
    yield from _bus_ids(document, devices)


def _states(document: Document) -> Iterator[tuple[int, str]]:
    """``states`` names keys or image fields, and states that a call can answer."""
    names = {state.value for state in State if state.code is not None}
    defaults = document.value.get("device_defaults")
    blocks: list[tuple[tuple[str | int, ...], Any]] = [(("device_defaults",), defaults)]
    blocks += [(("devices", place), device) for place, device in enumerate(document.value.get("devices") or [])]
    for path, block in blocks:
        states = block.get("states") if isinstance(block, dict) else None
        for key, state in states.items() if isinstance(states, dict) else ():
            line = _line(document, (*path, "states", key))
            if key not in keys.state_keys():
                yield line, f"states: unknown key {key!r}{did_you_mean(str(key), keys.state_keys())}"
            if state not in names:
                listed = ", ".join(sorted(names))
                yield line, f"states.{key}: {state!r} is no state{did_you_mean(str(state), names)}; a state is one of {listed}"


def _unique(document: Document, devices: list[Any], path: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    seen: dict[Any, int] = {}
    for place, device in enumerate(devices):
        value: Any = device
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None or isinstance(value, (dict, list)):
            continue
        value = value.lower() if isinstance(value, str) else value
        if value in seen:
            yield _line(document, ("devices", place, *path)), f"devices.{place}.{'.'.join(path)}: {value} is that of devices.{seen[value]} too"
        seen.setdefault(value, place)


def _bus_ids(document: Document, devices: list[Any]) -> Iterator[tuple[int, str]]:
    """Two spellings of one address."""
    seen: dict[tuple[int, ...], tuple[int, str]] = {}
    for place, device in enumerate(devices):
        pci = device.get("pci") if isinstance(device, dict) else None
        text = pci.get("bus_id") if isinstance(pci, dict) else None
        try:
            address = codec.bus_id(text) if isinstance(text, str) else None
        except InputError:
            address = None
        if address is None:
            continue
        if address in seen and seen[address][1].lower() != str(text).lower():
            line = _line(document, ("devices", place, "pci", "bus_id"))
            yield line, f"devices.{place}.pci.bus_id: {text} is the address of devices.{seen[address][0]} too"
        seen.setdefault(address, (place, str(text)))
