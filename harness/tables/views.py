"""The views of nvidia-smi (views.yaml), what the binaries end with, and the fields that a binary says it has."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.tables import strictyaml
from harness.words.errors import InputError, UsageError, did_you_mean

FILE = Path(__file__).with_name("views.yaml")
FIELDS = "{fields}"
ALL, NONE = "all", "none"
_FIELD = re.compile(rb'"([A-Za-z0-9_.]+)"(?: or "[A-Za-z0-9_.]+")*')
_KEYS = {"arguments", "must_be_whole", "matrix_only", "fields", "since", "ends", "none"}
_OLDEST = 340
_STATUSES = range(1, 256)


@dataclass(frozen=True)
class View:
    """One view.

    name           as ``--views`` takes it
    arguments      of nvidia-smi
    fields         the arguments with which it lists its fields; empty: it has none to name
    must_be_whole  a recording without it is none
    matrix_only    a recording does not take it
    since          the first branch whose binary knows it
    ends           exit status beside 0 -> why a binary that knows the view may end with it
    none           what the line begins with that says, with exit status 0, that there is nothing
    """

    name: str
    arguments: tuple[str, ...]
    fields: tuple[str, ...] = ()
    must_be_whole: bool = False
    matrix_only: bool = False
    since: int = _OLDEST
    ends: Mapping[int, str] = field(default_factory=dict)
    none: str = ""

    def command(self, fields: list[str]) -> tuple[str, ...]:
        """The arguments with ``fields`` in their place."""
        return tuple(argument.replace(FIELDS, ",".join(fields)) for argument in self.arguments)


@dataclass(frozen=True)
class Table:
    """Every ``view``, in the order in which they are run, and the exit statuses of a binary that does not know one, with whose they are."""

    views: tuple[View, ...]
    unknown: Mapping[int, str]


@functools.cache
def table(path: Path = FILE) -> Table:
    """Every view with what the binaries end with.  Raises InputError, with the line, for a file that is none of views."""
    found = strictyaml.load_file(path)
    listed = found.value.get("views") if isinstance(found.value, dict) else None
    if not isinstance(listed, dict):
        raise InputError(f"{path}:1: expected `format: 1` and `views:`, a mapping of name to arguments")
    views = tuple(_view(found, str(name), entry) for name, entry in listed.items())
    return Table(views, _statuses(found.value.get("unknown", {}), found.where(("unknown",))))


def load(path: Path = FILE) -> tuple[View, ...]:
    """The views that a recording takes, in their order.  Raises as ``table``."""
    return tuple(view for view in table(path).views if not view.matrix_only)


def select(words: str) -> tuple[View, ...]:
    """The views of a recording that ``words`` (``all``, ``none``, or names between commas) mean; those that must be whole are taken with any other.

    Raises UsageError for a name that is none.
    """
    known = {view.name: view for view in load()}
    names = _names(words, known)
    if names == [NONE]:
        return ()
    wanted = set(known) if names == [ALL] else set(names)
    return tuple(view for view in known.values() if view.name in wanted or view.must_be_whole)


def choose(words: str) -> tuple[View, ...]:
    """The views of all that ``words`` (``all``, or names between commas) mean.  Raises UsageError for a name that is none."""
    known = {view.name: view for view in table().views}
    names = _names(words, known)
    if names == [NONE]:
        raise UsageError(f"--views: names no view; known: {', '.join(known)}, or {ALL}")
    return tuple(view for view in known.values() if names == [ALL] or view.name in names)


def _names(words: str, known: Mapping[str, View]) -> list[str]:
    """The names between commas; UsageError for none, for one that is not known, and where all or none stands with others."""
    names = [word.strip() for word in words.split(",") if word.strip()]
    if names in ([ALL], [NONE]):
        return names
    for name in names:
        if name in (ALL, NONE):
            raise UsageError(f"--views: {name!r} stands alone")
        if name not in known:
            raise UsageError(f"--views: no view {name!r}{did_you_mean(name, [*known, ALL, NONE])}; known: {', '.join(known)}, or {ALL}, or {NONE}")
    if not names:
        raise UsageError(f"--views: names no view; known: {', '.join(known)}, or {ALL}, or {NONE}")
    return names


def fields_of(text: bytes) -> list[str]:
    """The fields that ``text``, what a binary prints for ``View.fields``, names: each once, in its order."""
    found = (_FIELD.fullmatch(line.strip()) for line in text.splitlines())
    return list(dict.fromkeys(match[1].decode() for match in found if match))


def _view(found: strictyaml.Document, name: str, entry: object) -> View:
    where = found.where(("views", name))
    if not isinstance(entry, dict) or not set(entry) <= _KEYS:
        raise InputError(f"{where}: a view has {', '.join(sorted(_KEYS))}")
    arguments, fields = entry.get("arguments"), entry.get("fields", [])
    whole, alone = entry.get("must_be_whole", False), entry.get("matrix_only", False)
    if not isinstance(arguments, list) or not isinstance(fields, list) or not isinstance(whole, bool) or not isinstance(alone, bool):
        raise InputError(f"{where}: `arguments` and `fields` are lists, `must_be_whole` and `matrix_only` are true or false")
    if any(FIELDS in argument for argument in arguments) != bool(fields):
        raise InputError(f"{where}: {FIELDS} stands in the arguments of a view that says how its `fields` are listed, and of no other")
    since, none = entry.get("since", _OLDEST), entry.get("none", "")
    if not isinstance(since, int) or not isinstance(none, str):
        raise InputError(f"{where}: `since` is a branch, such as {_OLDEST}, `none` the beginning of a line")
    ends = _statuses(entry.get("ends", {}), where)
    return View(name, tuple(map(str, arguments)), tuple(map(str, fields)), whole, alone, since, ends, none)


def _statuses(entry: object, where: str) -> Mapping[int, str]:
    """Exit statuses with their reasons."""
    if not isinstance(entry, dict) or not all(status in _STATUSES and isinstance(why, str) and why for status, why in entry.items()):
        raise InputError(f"{where}: statuses are a mapping of exit status, 1 to 255, to the reason for it")
    return dict(entry)
