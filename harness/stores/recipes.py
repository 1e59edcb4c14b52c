"""Recipes: named situations of a node (profiles/recipes/<name>.yaml): what is put over a profile's keys, what is told, and which rows move by it.

A recipe is put on one GPU (or on ``everywhere``) through the override document; its node keys and events go beside that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.stores.schema import kept, keys
from harness.tables import rows, strictyaml
from harness.tables.shipped import shipped
from harness.words.errors import InputError, UsageError, did_you_mean
from harness.words.fileformat import check_format

if TYPE_CHECKING:
    from harness.stores.workspace import Workspace

FOLDER = "recipes"
NODE_KEYS = ("system.init_status",)
"""Keys of the node that a recipe may give."""
EVENT_TYPES = {"xid": 0x8}
"""Type of an event -> its bit (nvml.h, nvmlEventType)."""
ALL, NONE = "all", "none"
_KEYS = ("format", "name", "shows", "everywhere", "keys", "node", "events", "moves", "source")
_OF = ("of", "percent", "add", "else")


@dataclass(frozen=True)
class Of:
    """A value taken from another key of the board: ``percent`` of it plus ``add``, a number or what another key has.

    ``otherwise`` where the board has no such key: a value, an `Of` in its turn, or None for no value.
    """

    key: str
    percent: int = 100
    add: int | str = 0
    otherwise: Any = None


@dataclass(frozen=True)
class Event:
    """One event that is told when the recipe is put: ``type`` is one of EVENT_TYPES, ``data`` the Xid."""

    type: str
    data: int


@dataclass(frozen=True)
class Recipe:
    """One recipe.

    shows:       what it is, in a sentence or two
    keys:        dotted key of a GPU -> value, as an override document has it, or `Of`
    node:        dotted key of the node -> value
    events:      what is told when it is put
    everywhere:  it is put on every GPU at once
    moves:       ids of the rows that move by it on a board that has them; ``all`` of the GPU's, or ``none``
    source:      where it is known from that hardware looks so
    """

    name: str
    shows: str
    source: str
    keys: Mapping[str, Any]
    node: Mapping[str, Any]
    events: tuple[Event, ...]
    everywhere: bool
    moves: tuple[str, ...] | str


def folders(space: Workspace) -> tuple[Path, ...]:
    """Where recipes lie: those of the workspace win over the shipped ones."""
    return tuple(dict.fromkeys((space.profiles / FOLDER, shipped("profiles", FOLDER))))


def names(space: Workspace) -> list[str]:
    """Every recipe's name, sorted."""
    return sorted({path.stem for folder in folders(space) for path in folder.glob("*.yaml") if not path.name.startswith(".")})


def find(space: Workspace, name: str) -> Recipe:
    """The recipe called ``name``; UsageError naming those there are, InputError for a file that is not one."""
    known = names(space)
    if name not in known:
        raise UsageError(f"no recipe {name!r}{did_you_mean(name, known)}; there are {', '.join(known)}")
    return load(next(path for folder in folders(space) if (path := folder / f"{name}.yaml").is_file()))


def load(path: Path) -> Recipe:
    """The recipe in a file.  Raises InputError with file and line."""
    return _Reader(strictyaml.load_file(path), path.stem).recipe()


class _Reader:
    """Reads one recipe's document strictly."""

    def __init__(self, document: strictyaml.Document, name: str) -> None:
        self.document = document
        self.name = name

    def fail(self, where: tuple[str | int, ...], message: str) -> InputError:
        """The error ``message`` with file and line."""
        return InputError(f"{self.document.where(where)}: {message}")

    def recipe(self) -> Recipe:
        """The whole document."""
        content = self.document.value
        if not isinstance(content, dict):
            raise self.fail((), f"a recipe is a mapping with {', '.join(_KEYS)}")
        check_format(content.get("format"), self.document.where(("format",)))
        for key in content:
            if key not in _KEYS:
                raise self.fail((key,), f"unknown key {key!r}{did_you_mean(str(key), _KEYS)}")
        for key in ("name", "shows", "source"):
            if not isinstance(content.get(key), str) or not content[key].strip():
                raise self.fail((key,), f"{key!r} is missing or no text")
        if content["name"] != self.name:
            raise self.fail(("name",), f"name {content['name']!r} in a file called {self.name}.yaml")
        everywhere = content.get("everywhere", False)
        if not isinstance(everywhere, bool):
            raise self.fail(("everywhere",), "'everywhere' is true or false")
        found = self.mapping("keys"), self.mapping("node"), self.events()
        if not any(found):
            raise self.fail((), "a recipe has keys, node or events")
        return Recipe(content["name"], content["shows"], content["source"], *found, everywhere, self.moves())

    def mapping(self, part: str) -> dict[str, Any]:
        """``keys`` or ``node``: dotted key -> value."""
        given = self.document.value.get(part) or {}
        known = NODE_KEYS if part == "node" else device_keys()
        if not isinstance(given, dict):
            raise self.fail((part,), f"{part!r} is a mapping of dotted keys to values")
        for key in given:
            if key not in known:
                raise self.fail((part, key), f"unknown key {key!r}{did_you_mean(str(key), known)}")
        return {key: self.value((part, key), value) for key, value in given.items()}

    def value(self, where: tuple[str, ...], value: Any) -> Any:
        """A value as it stands, or one taken from another key."""
        if not isinstance(value, dict) or "of" not in value:
            return value
        for key in value:
            if key not in _OF:
                raise self.fail((*where, key), f"unknown key {key!r}{did_you_mean(str(key), _OF)}")
        other, percent, add = value["of"], value.get("percent", 100), value.get("add", 0)
        for name, key in (("of", other), ("add", add)):
            if str(key) not in device_keys() and (name == "of" or isinstance(key, str)):
                raise self.fail((*where, name), f"unknown key {key!r}{did_you_mean(str(key), device_keys())}")
        for name, number in (("percent", percent), ("add", 0 if isinstance(add, str) else add)):
            if not isinstance(number, int) or isinstance(number, bool) or not -(2**32) < number < 2**32:
                raise self.fail((*where, name), f"{name!r} is a whole number of 32 bits")
        return Of(other, percent, add, self.value((*where, "else"), value.get("else")))

    def events(self) -> tuple[Event, ...]:
        """``events``: a list of {type, data}."""
        given = self.document.value.get("events") or []
        if not isinstance(given, list):
            raise self.fail(("events",), "'events' is a list of {type, data}")
        return tuple(self.event(number, event) for number, event in enumerate(given))

    def event(self, number: int, event: Any) -> Event:
        """One entry of ``events``."""
        data = event.get("data") if isinstance(event, dict) else None
        sound = isinstance(event, dict) and set(event) == {"type", "data"} and str(event["type"]) in EVENT_TYPES
        if not sound or not isinstance(data, int) or isinstance(data, bool) or not 0 < data < 2**32:
            raise self.fail(("events", number), f"an event is {{type: {' or '.join(EVENT_TYPES)}, data: a number above 0}}")
        return Event(str(event["type"]), data)

    def moves(self) -> tuple[str, ...] | str:
        """``moves``: all, none, or row ids."""
        given = self.document.value.get("moves")
        if given in (ALL, NONE):
            return str(given)
        if not isinstance(given, list) or not given:
            raise self.fail(("moves",), f"'moves' is {ALL}, {NONE} or a list of row ids")
        known = rows.load()
        for number, row in enumerate(given):
            if str(row) not in known:
                raise self.fail(("moves", number), f"no row {row!r}{did_you_mean(str(row), known)}")
        return tuple(given)


def device_keys() -> frozenset[str]:
    """Every key of a GPU that an override document may give, dotted."""
    return frozenset(keys.device_keys()) | frozenset(kept.device_paths())
