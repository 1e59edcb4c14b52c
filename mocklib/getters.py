"""The reviewed list of read-only functions and the argument sets they are asked with: ``tables/getters.yaml`` as Python.

Reading the list refuses it where a function that is asked could change a device: by a closed list of verbs, and by a closed list of beginnings.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mocklib import fields
from mocklib.answers import Asked
from mocklib.fields import TableError

FIELD_VALUES = "nvmlDeviceGetFieldValues"
LINK_STATE = "nvmlDeviceGetNvLinkState"
"""Tells which NVLinks there are."""
CHANGING = frozenset(
    {
        "Activate", "Alloc", "Clear", "Create", "Destroy", "Disable", "Discover", "Enable", "Force", "Free", "Freeze", "Init", "Inject", "Load",
        "Lock", "Modify", "Off", "On", "Register", "Remove", "Reset", "Set", "Setup", "Shutdown", "Start", "Stop", "Unload", "Unlock", "Update",
        "Validate", "Wait", "Write",
    }
)
"""Words of a function's name that say it changes a device, makes something or waits."""
NOUNS = ("nvmlSystemGetTopologyGpuSet", "nvmlDeviceOnSameBoard")
"""The names in which such a word (a set of GPUs; on the same board) says nothing of the kind."""
BEGINNINGS = (
    "nvmlSystemGet",
    "nvmlDeviceGet",
    "nvmlDeviceIs",
    "nvmlDeviceOnSameBoard",
    "nvmlDeviceQuery",
    "nvmlDeviceWorkloadPowerProfileGet",
    "nvmlDeviceCcuGet",
    "nvmlUnitGet",
    "nvmlVgpuTypeGet",
    "nvmlGpmQuery",
    "nvmlGet",
)
"""How the name of a function starts that may be asked."""
IDENTIFIERS = ("serial", "uuid", "pdi", "guid", "hostname", "cluster_uuid", "chassis_serial", "process_name")
_KEYS = {"sets", "fields", "why_not", "identifier", "moving", "moving_ids", "drop", "slow"}
_WORDS = re.compile(r"[A-Z][a-z]*")


@dataclass(frozen=True)
class Set:
    """The values one argument is asked with.

    ``kind`` is values (``values``), enum, versions, gpus, links, count or each; ``sources`` are ``function.out`` of the answers that count and each
    read; ``members`` are the members of one answer's struct that are given together.
    """

    kind: str
    values: tuple[int, ...] = ()
    sources: tuple[str, ...] = ()
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Getter:
    """One function of the list: asked with every combination of ``sets``, or not asked for the reason in ``why_not``.

    ``identifier``: name in the answer -> kind of identifier (IDENTIFIERS).  ``moving``: names in the answer that are readings of a moment, None for
    all.  ``drop``: name in the answer -> why it is not kept.  ``slow``: why it takes long on hardware.  ``field_scopes``: field id -> its sets of
    scopes, of nvmlDeviceGetFieldValues alone, ``moving_ids`` those whose value is a reading of a moment.
    """

    function: str
    sets: Mapping[str, Set] = field(default_factory=dict)
    why_not: str | None = None
    identifier: Mapping[str, str] = field(default_factory=dict)
    moving: frozenset[str] | None = frozenset()
    moving_ids: frozenset[int] = frozenset()
    drop: Mapping[str, str] = field(default_factory=dict)
    slow: str | None = None
    field_scopes: Mapping[int, tuple[Set, ...]] = field(default_factory=dict)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the arguments it is asked with, in the header's order; ``parameter.member`` is an input of a struct."""
        if self.function == FIELD_VALUES:
            return ("fieldId", "scopeId")
        return tuple(name for key, each in self.sets.items() for name in ([f"{key}.{member}" for member in each.members] or [key]))


def moving(asked: Asked, out: str) -> bool:
    """Whether what a call answers as ``out`` is a reading of a moment; False for a function that is not on the list."""
    getter = getters().get(asked.function)
    if getter is None:
        return False
    if asked.function == FIELD_VALUES:
        return out == "value" and dict(asked.arguments).get("fieldId") in getter.moving_ids
    return getter.moving is None or out in getter.moving


def asked_functions() -> tuple[str, ...]:
    """The functions that are asked, in the list's order."""
    return tuple(name for name, getter in getters().items() if getter.why_not is None)


@functools.cache
def getters() -> dict[str, Getter]:
    """The list: function -> Getter, in the order they are asked; TableError where the table is wrong or names what may change a device."""
    document = fields.load_yaml(fields.TABLES / "getters.yaml")
    return read(document)


def read(document: Any) -> dict[str, Getter]:
    """The list of a document as ``tables/getters.yaml`` has it."""
    if document.get("format") != fields.FORMAT:
        raise TableError(f"getters.yaml: format {document.get('format')!r}; this reader takes {fields.FORMAT}")
    found: dict[str, Getter] = {}
    for name, entry in document["functions"].items():
        if name not in fields.since():
            raise TableError(f"getters.yaml: {name} is no function of since.yaml")
        found[name] = getter = _getter(name, entry)
        if getter.why_not is None:
            refuse_change(name)
            _refuse_later_sources(getter, found)
    return found


def refuse_change(name: str) -> None:
    """TableError for a function whose name says that it changes something, or does not say that it reads."""
    words = set(_WORDS.findall(name))
    if name not in NOUNS and (changing := words & CHANGING):
        raise TableError(f"getters.yaml: {name} is asked, and its name says {', '.join(sorted(changing))}: nothing on the list may change a device")
    if not name.startswith(BEGINNINGS):
        raise TableError(f"getters.yaml: {name} is asked; names that may be start with {', '.join(BEGINNINGS)}")


def _getter(name: str, entry: dict[str, Any]) -> Getter:
    """One entry."""
    where = f"getters.yaml: {name}"
    if unknown := set(entry) - _KEYS:
        raise TableError(f"{where}: no key {', '.join(sorted(unknown))}; there are {', '.join(sorted(_KEYS))}")
    if "why_not" in entry and len(entry) > 1:
        raise TableError(f"{where}: a function that is not asked has nothing but its why_not")
    sets = {argument: _set(f"{where}: {argument}", given) for argument, given in entry.get("sets", {}).items()}
    identifier = dict(entry.get("identifier", {}))
    if wrong := set(identifier.values()) - set(IDENTIFIERS):
        raise TableError(f"{where}: no kind of identifier {', '.join(sorted(wrong))}; there are {', '.join(IDENTIFIERS)}")
    given = entry.get("moving", [])
    return Getter(
        name,
        sets,
        entry.get("why_not"),
        identifier,
        None if given is True else frozenset(given),
        frozenset(_numbers(where, entry.get("moving_ids", []))),
        dict(entry.get("drop", {})),
        entry.get("slow"),
        _field_scopes(where, entry["fields"]) if "fields" in entry else {},
    )


def _set(where: str, given: Any) -> Set:
    """One set of an argument."""
    if given in ("enum", "versions", "gpus", "links"):
        return Set(given)
    if isinstance(given, list):
        return Set("values", tuple(_numbers(where, given)))
    if isinstance(given, dict):
        if given.keys() == {"below"}:
            return Set("values", tuple(range(given["below"])))
        if given.keys() == {"count"}:
            return Set("count", sources=(given["count"],))
        if given.keys() == {"each"}:
            return Set("each", sources=tuple(given["each"]))
        if given.keys() == {"each", "members"}:
            return Set("each", sources=(given["each"],), members=tuple(given["members"]))
    raise TableError(f"{where}: {given!r} is no set; sets are a list, enum, versions, gpus, links, below, count, each")


def _field_scopes(where: str, given: dict[str, Any]) -> dict[int, tuple[Set, ...]]:
    """Field id -> the scopes it is asked with."""
    first, last = given["ids"]
    found: dict[int, tuple[Set, ...]] = dict.fromkeys(range(first, last + 1), (Set("values", (0,)),))
    for group in given["scopes"]:
        scopes = [_set(where, group["scopes"]), *([_set(where, group["also"])] if "also" in group else [])]
        found |= dict.fromkeys(_numbers(where, group["ids"]), tuple(scopes))
    return found


def _numbers(where: str, given: Iterable[int | str]) -> list[int]:
    """Numbers and ranges (``5-7``) as numbers."""
    found: list[int] = []
    for item in given:
        first, _, last = str(item).partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise TableError(f"{where}: {item!r} is neither a number nor a range of numbers")
        found += range(int(first), int(last or first) + 1)
    return found


def _refuse_later_sources(getter: Getter, found: dict[str, Getter]) -> None:
    """TableError where an argument is taken from an answer that is not asked before."""
    sets = [*getter.sets.values(), *(each for scopes in getter.field_scopes.values() for each in scopes)]
    for each in sets:
        for source in (LINK_STATE,) if each.kind == "links" else each.sources:
            earlier = found.get(source.partition(".")[0])
            if earlier is None or earlier.why_not is not None:
                raise TableError(f"getters.yaml: {getter.function}: {source} is not asked before it")
