"""The override document: ``{version: 1, all: {...}, devices: {"<index>": {...}}, node: {...}}`` (ledger Y01 to Y03, W40).

``node`` is an extension: keys of the node itself.  Every other bucket is a tree of a profile's keys of one GPU; null takes a key or a whole block of
the profile away.  Indices are those of the profile's ``devices[].index``, whatever a process sees.  Numbers are kept exactly, however large.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from harness.stages.overriding import merging
from harness.stages.overriding.merging import Tree
from harness.tables import strictyaml
from harness.words.errors import InputError, did_you_mean

VERSION = 1
TOP = ("version", "all", "devices", "node")
NODE_KEYS = ("system.init_status",)
"""Keys of the node that may be overridden while it is served."""
_INDEX = re.compile(r"0|[1-9][0-9]{0,3}")
NOT_OF_A_BUCKET = ("index", "state", "answers")


@dataclass(frozen=True)
class Overrides:
    """A document: ``all`` is over every GPU, ``devices`` (index -> bucket) over one, ``node`` over the node's own keys."""

    all: Tree = field(default_factory=dict)
    devices: Mapping[int, Tree] = field(default_factory=dict)
    node: Tree = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether anything is overridden."""
        return bool(self.all) or any(self.devices.values()) or bool(self.node)

    def only(self, index: int) -> Overrides:
        """What is over GPU ``index``: its own bucket and that of all."""
        return Overrides(self.all, {index: own} if (own := self.devices.get(index)) else {})

    def of(self, index: int) -> tuple[Tree, Tree]:
        """The buckets over GPU ``index``, the lowest first."""
        return self.all, self.devices.get(index, {})

    def merged(self, target: int | None, changes: Mapping[Any, Any]) -> Overrides:
        """With ``changes`` in the bucket of GPU ``target`` (None: of all of them), over what is there."""
        if target is None:
            return replace(self, all=merging.merge(self.all, changes))
        return replace(self, devices={**self.devices, target: merging.merge(self.devices.get(target, {}), changes)})

    def without(self, target: int | None) -> Overrides:
        """Without the bucket of GPU ``target`` (None: without that of all of them)."""
        if target is None:
            return replace(self, all={})
        return replace(self, devices={index: own for index, own in self.devices.items() if index != target})

    def plain(self) -> dict[str, Any]:
        """The document as plain mappings, buckets without anything in them left out."""
        made: dict[str, Any] = {"version": VERSION}
        if self.all:
            made["all"] = self.all
        listed = {str(index): self.devices[index] for index in sorted(self.devices) if self.devices[index]}
        if listed:
            made["devices"] = listed
        if self.node:
            made["node"] = self.node
        return made


def load(data: bytes | str, source: str) -> Overrides:
    """The document in ``data`` (YAML, so JSON, too); nothing in it is no override at all.

    InputError with ``source`` and line for what is no document: syntax, another version, a key the top level does not have, an index that is none.
    The keys of the buckets are checked when they lie over a profile (``checking``).
    """
    document = strictyaml.load(data, source)
    value = document.value
    if value is None or value == {}:
        return Overrides()
    if not isinstance(value, dict):
        raise InputError(f"{source}:1: an override document is a mapping with version, all and devices")
    for key in value:
        if key not in TOP:
            raise InputError(f"{document.where((key,))}: unknown key {key!r}{did_you_mean(str(key), TOP)}; at the top stand {', '.join(TOP)}")
    if isinstance(value.get("version"), bool) or value.get("version") != VERSION:
        said = f"{value['version']!r} is no version known here" if "version" in value else "'version' is missing"
        raise InputError(f"{document.where(('version',))}: {said}; this one is 'version: {VERSION}'")
    shared = _bucket(document, ("all",), value.get("all"))
    listed = value.get("devices")
    if not isinstance(listed, dict | None):
        raise InputError(f"{document.where(('devices',))}: devices is a mapping of GPU index to overrides")
    devices: dict[int, Tree] = {}
    for index, bucket in (listed or {}).items():
        if not _INDEX.fullmatch(str(index)) or int(index) > 1023:
            raise InputError(f"{document.where(('devices', index))}: devices.{index}: {index!r} is no index of a GPU (0 to 1023)")
        if int(index) in devices:
            raise InputError(f"{document.where(('devices', index))}: devices.{index} is given twice")
        devices[int(index)] = _bucket(document, ("devices", index), bucket)
    return Overrides(shared, devices, _node(document, value.get("node")))


def _node(document: strictyaml.Document, value: Any) -> Tree:
    made = _bucket(document, ("node",), value)
    for path in merging.paths(made):
        if path not in NODE_KEYS:
            raise InputError(f"{document.where(('node', *path.split('.')))}: node: unknown key {path!r}{did_you_mean(path, NODE_KEYS)}; "
                             f"of the node may be overridden {', '.join(NODE_KEYS)}")  # fmt: skip
    return made


def _bucket(document: strictyaml.Document, path: tuple[str | int, ...], value: Any) -> Tree:
    name = ".".join(map(str, path))
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(f"{document.where(path)}: {name} is a mapping of keys")
    for key in NOT_OF_A_BUCKET:
        if key in value:
            raise InputError(f"{document.where((*path, key))}: {name}.{key}: is of the profile and cannot be overridden")
    if refused := states_refused(value):
        raise InputError(f"{document.where((*path, merging.STATES))}: {name}.{refused}")
    made: Tree = numbered(value)
    return made


def states_refused(bucket: Mapping[Any, Any]) -> str | None:
    """What is wrong with the ``states`` of a bucket, which is a mapping of dotted key to state; None where nothing is.  Whether there are such keys
    and states is checked over a profile (``checking``).
    """
    states = bucket.get(merging.STATES)
    if not isinstance(states, dict | None):
        return "states is a mapping of key to state"
    odd = next((key for key in states or {} if not isinstance(key, str) or _INDEX.fullmatch(key)), None)
    return None if odd is None else f"states.{odd}: a key is text"


def numbered(value: Any) -> Any:
    """``value`` with the keys that are whole numbers as numbers: JSON has none, and quotes say nothing here."""
    if isinstance(value, list):
        return [numbered(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {int(key) if isinstance(key, str) and _INDEX.fullmatch(key) else key: numbered(inner) for key, inner in value.items()}


class _Dumper(yaml.SafeDumper):
    """Block style, lists of plain values in one line, no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def _list(dumper: yaml.SafeDumper, data: list[Any]) -> yaml.Node:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=not any(isinstance(item, dict | list) for item in data))


_Dumper.add_representer(list, _list)


def dump(overrides: Overrides) -> str:
    """The document as YAML; ``load`` reads it back."""
    return yaml_of(overrides.plain())


def yaml_of(value: Any) -> str:
    """Plain mappings and lists as the document has them."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=140)
    return text


def json_of(overrides: Overrides) -> str:
    """The document as JSON, which ``load`` reads back, too."""
    return json.dumps(overrides.plain(), indent=2, ensure_ascii=True) + "\n"


def to_json(tree: Mapping[Any, Any]) -> bytes:
    """A tree as the JSON text that a state keeps: one spelling, ASCII, integers exactly."""
    return json.dumps(tree, ensure_ascii=True, separators=(",", ":"), sort_keys=False).encode("ascii")


def of_json(data: bytes, source: str) -> Tree:
    """The tree of a state's text; InputError where it is none (a state is a file like any other)."""
    if not data:
        return {}
    try:
        value = json.loads(data, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source}: the overrides in it cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise InputError(f"{source}: the overrides in it are no mapping")
    if refused := states_refused(value):
        raise InputError(f"{source}: the overrides in it cannot be read: {refused}")
    made: Tree = numbered(value)
    return made


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number")
