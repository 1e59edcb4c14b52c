"""Profiles: read strictly, merged per device, written in one stable shape."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from harness.stores.schema import answers, keys
from harness.stores.schema.answers import Residual
from harness.tables import strictyaml
from harness.words.errors import InputError
from harness.words.fileformat import check_format
from harness.words.state import State

RECORDED = "recorded"
_AT = re.compile(r"(?m)^(clock:\n(?:  .*\n)*?)  at: (.*)\n")
_CAPTURE = re.compile(r"(?m)^(origin:\n)  capture: (.*)\n")


@dataclass(frozen=True)
class Device:
    """One GPU of a profile, merged: dotted key -> value, and the keys that answer a state instead.

    ``state``: uncaptured, or that of its handle, for a GPU of which nothing but what it is known by (``keys.IDENTITY``) can be said.
    ``answers``: calls of this GPU that are answered as they were recorded, whatever the keys say.
    """

    values: Mapping[str, Any]
    states: Mapping[str, State]
    state: State | None = None
    answers: tuple[Residual, ...] = ()


@dataclass(frozen=True)
class Profile:
    """A profile.

    source   the file's name in messages; ``path`` the file, None for one that was made in memory; ``sha256`` of its bytes
    system   ``system`` as written; ``clock`` as written or empty; ``origin`` as written or empty
    devices  merged devices in the order of their index
    answers  calls of the node that are answered as they were recorded
    timeline  ``timeline`` as written; None where it is not given
    own_driver  the driver that its answers are of, where the profile is served as another; None where it is not
    """

    source: str
    path: Path | None
    sha256: str
    system: Mapping[str, Any]
    devices: tuple[Device, ...]
    clock: Mapping[str, Any] = field(default_factory=dict)
    origin: Mapping[str, Any] = field(default_factory=dict)
    answers: tuple[Residual, ...] = ()
    timeline: Mapping[str, Any] | None = None
    own_driver: str | None = None

    @property
    def driver_version(self) -> str:
        """``system.driver_version``."""
        return str(self.system["driver_version"])

    @property
    def missing(self) -> frozenset[str]:
        """The functions that its answers say the library has no symbol of."""
        return frozenset(residual.asked.function for residual in self.residual if residual.answer.missing)

    @property
    def residual(self) -> tuple[Residual, ...]:
        """Every answer that is kept as it was recorded, of the node and of its GPUs."""
        return (*self.answers, *(answer for device in self.devices for answer in device.answers))

    @property
    def shown(self) -> tuple[Device, ...]:
        """The GPUs that a view shows, in order: ``gpu[i]`` of a path is the i-th of these, not the GPU of that index."""
        return tuple(device for device in self.devices if device.state is None)


def load(path: Path) -> Profile:
    """The profile in a file; InputError listing every error with file, line, key path and nearest key."""
    return parse(strictyaml.read_file(path), str(path), path)


def parse(data: bytes, source: str = "profile", path: Path | None = None) -> Profile:
    """The profile in ``data``; ``source`` names it in messages."""
    from harness.stores.schema.check import check

    document = strictyaml.load(data, source, "profile")
    if isinstance(document.value, dict) and "format" in document.value:  # another mock's profiles have none
        check_format(document.value["format"], document.where(("format",)))
    check(document)
    value = document.value
    system = value["system"]
    listed = sorted(value.get("devices") or [], key=lambda device: device["index"])
    defaults = value.get("device_defaults") or {}
    none = value.get("devices") == [] and system.get("num_devices") == 0  # said twice; either alone is the reference's way of not saying it
    count = 0 if none else int(system.get("num_devices") or len(listed) or 8)
    by_index = {device["index"]: device for device in listed}
    entries = [by_index.get(index, {"index": index}) for index in range(count)] if not listed or system.get("num_devices") else listed
    node = _of_node(value)
    devices = tuple(replace(_merged(defaults, entry, node), answers=kept) for entry, kept in zip(entries, _answers(document, entries), strict=True))
    clock, origin = _times(document)
    answered = tuple(filter(None, answers.of_block(document, ()).values()))
    return Profile(source, path, hashlib.sha256(data).hexdigest(), system, devices, clock, origin, answered, value.get("timeline"))


def _answers(document: strictyaml.Document, entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Residual, ...]]:
    """The answers of each entry, merged call by call with the defaults'; a GPU with a state of its own has none of those."""
    shared = answers.of_block(document, ("device_defaults",))
    places = {device["index"]: place for place, device in enumerate(document.value.get("devices") or ())}
    for entry in entries:
        own = answers.of_block(document, ("devices", places[entry["index"]])) if entry["index"] in places else {}
        yield answers.merged(shared if entry.get("state") is None else {}, own)


def _times(document: strictyaml.Document) -> tuple[dict[str, Any], dict[str, Any]]:
    """``clock`` and ``origin`` with what stands in ``recorded``; InputError for an origin that names no capture, or one that does so twice."""
    value = document.value
    clock, origin, recorded = dict(value.get("clock") or {}), dict(value.get("origin") or {}), value.get("recorded") or {}
    for key, block, whole in (("at", clock, "clock.at"), ("capture", origin, "origin.capture")):
        if recorded.get(key) is not None and block.get(key) is not None:
            raise InputError(f"{document.where(('recorded', key))}: recorded.{key} and {whole} say the same thing; take one of them out")
        if recorded.get(key) is not None:
            block[key] = recorded[key]
    if origin and origin.get("capture") is None:
        raise InputError(f"{document.where(('origin',))}: 'origin.capture' is missing")
    return clock, origin


def _of_node(value: Mapping[str, Any]) -> dict[str, Any]:
    """The node's keys that its devices are compiled from, as they stand."""
    flat = keys.flatten({name: block for name, block in value.items() if any(key.path.startswith(f"{name}.") for key in keys.NODE)})
    return {key.path: flat[key.path] for key in keys.NODE if flat.get(key.path) is not None}


def _merged(defaults: Mapping[str, Any], entry: Mapping[str, Any], node: Mapping[str, Any]) -> Device:
    """A device entry over the defaults: blocks of ``keys.WHOLE`` replaced whole, other blocks key by key, scalars and lists replaced.

    A value given for the device itself wins over a state inherited from the defaults.  A GPU with a state of its own inherits nothing.
    """
    entry = {name: value for name, value in entry.items() if name != answers.KEY}
    if entry.get("state") is not None:
        known = {key: value for key, value in keys.flatten({**entry, "state": None}).items() if value is not None}
        return Device(known, {}, State(entry["state"]))
    merged: dict[str, Any] = {name: value for name, value in defaults.items() if name not in ("states", answers.KEY)}
    for name, value in entry.items():
        if isinstance(value, dict) and name not in keys.WHOLE and isinstance(merged.get(name), dict):
            merged[name] = {**merged[name], **value}
        elif name != "states" and value is not None:
            merged[name] = value
    own = keys.flatten({name: value for name, value in entry.items() if name != "states"})
    states = {key: state for key, state in (defaults.get("states") or {}).items() if key not in own}
    states.update(entry.get("states") or {})
    flat = {key: value for key, value in keys.flatten(merged).items() if value is not None}
    return Device({**node, **flat}, {key: State(state) for key, state in states.items()})


class Hexadecimal(int):
    """A number that ``dump`` writes in hexadecimal."""


class _Dumper(yaml.SafeDumper):
    """Block style for mappings and lists of mappings, flow style for lists of numbers, text quoted only where YAML needs it."""

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def _represent_list(dumper: yaml.SafeDumper, data: list[Any]) -> yaml.Node:
    flow = not any(isinstance(item, (dict, list)) for item in data)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=flow)


def _represent_text(dumper: yaml.SafeDumper, data: str) -> yaml.Node:
    plain = data[:1].isalpha() and data.replace("-", "").replace("_", "").replace(" ", "").replace("/", "").replace(".", "").isalnum()
    plain = plain and data.lower() not in ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=None if plain else '"')


def _represent_hexadecimal(dumper: yaml.SafeDumper, data: Hexadecimal) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:int", f"0x{data:X}")


_Dumper.add_representer(Hexadecimal, _represent_hexadecimal)
_Dumper.add_representer(list, _represent_list)
_Dumper.add_representer(str, _represent_text)


def recorded(text: str, *, timeline: bool = False, at: str | None = None) -> str:
    """``text``, a profile as `dump` writes it, with what moves from one recording to the next on one line, ``recorded``.

    ``timeline``: it is played by the time line of its capture.  ``at``: the instant of a recording that no text tells the time of: where it replays.
    """
    clock, origin = _AT.search(text), _CAPTURE.search(text)
    if origin is None:
        raise InputError("a profile without `origin.capture` is made from no recording")
    instant = clock[2] if clock is not None else None if at is None else f'"{at}"'
    moved = f"capture: {origin[2]}" + (f", at: {instant}" if instant is not None else "")
    rest = _CAPTURE.sub(r"\1", text if clock is None else _AT.sub(r"\1", text, count=1), count=1)
    played = "timeline: {loop: false}\n" if timeline else ""
    return re.sub(r"(?m)^system:$", lambda _: f"{RECORDED}: {{{moved}}}\n{played}system:", rest, count=1)


def dump(document: Mapping[str, Any]) -> str:
    """A profile's document as YAML: the same mapping always gives the same text; it ends with a line end.  Answers stand last in their block."""
    return "".join(_section(name, value) for name, value in document.items())


def _section(name: str, value: Any) -> str:
    """One key of a profile with what is below it."""
    if name == RECORDED:
        return f"{name}: {_yaml(value, line=True)}"
    if name == answers.KEY and value:
        return answers.lines(value, "")
    if name == "device_defaults" and isinstance(value, dict) and value.get(answers.KEY):
        rest = _without_answers(value)
        return (_yaml({name: rest}) if rest else f"{name}:\n") + answers.lines(value[answers.KEY], "  ")
    if name == "devices" and isinstance(value, list) and any(entry.get(answers.KEY) for entry in value):
        return f"{name}:\n" + "".join(_yaml([_without_answers(entry)]) + answers.lines(entry.get(answers.KEY) or {}, "  ") for entry in value)
    return _yaml({name: value})


def _without_answers(block: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key != answers.KEY}


def _yaml(value: Any, *, line: bool = False) -> str:
    """``value`` as YAML, all on one ``line`` or a key a line."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1 << 30 if line else 140, default_flow_style=line)
    return text
