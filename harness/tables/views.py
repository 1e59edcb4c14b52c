"""The views of nvidia-smi that a recording takes (views.yaml), and the fields that a binary says it has."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from harness.tables import strictyaml
from harness.words.errors import InputError, UsageError, did_you_mean

FILE = Path(__file__).with_name("views.yaml")
FIELDS = "{fields}"
ALL, NONE = "all", "none"
_FIELD = re.compile(rb'"([A-Za-z0-9_.]+)"(?: or "[A-Za-z0-9_.]+")*')
_KEYS = {"arguments", "must_be_whole", "fields"}


@dataclass(frozen=True)
class View:
    """One view: its ``name``, the ``arguments`` of nvidia-smi, those with which it lists its ``fields`` (empty: it has none to name), and whether a
    recording ``must_be_whole`` in it.
    """

    name: str
    arguments: tuple[str, ...]
    fields: tuple[str, ...] = ()
    must_be_whole: bool = False

    def command(self, fields: list[str]) -> tuple[str, ...]:
        """The arguments with ``fields`` in their place."""
        return tuple(argument.replace(FIELDS, ",".join(fields)) for argument in self.arguments)


@functools.cache
def load(path: Path = FILE) -> tuple[View, ...]:
    """Every view, in the order in which they are run.  Raises InputError, with the line, for a file that is none of views."""
    found = strictyaml.load_file(path)
    listed = found.value.get("views") if isinstance(found.value, dict) else None
    if not isinstance(listed, dict):
        raise InputError(f"{path}:1: expected `format: 1` and `views:`, a mapping of name to arguments")
    return tuple(_view(found, str(name), entry) for name, entry in listed.items())


def select(words: str) -> tuple[View, ...]:
    """The views that ``words`` (``all``, ``none``, or names between commas) mean; those that must be whole are taken with any other.

    Raises UsageError for a name that is none.
    """
    known = {view.name: view for view in load()}
    names = [word.strip() for word in words.split(",") if word.strip()]
    if names == [NONE]:
        return ()
    wanted = set(known) if names == [ALL] else set(names)
    for name in names if names != [ALL] else ():
        if name in (ALL, NONE):
            raise UsageError(f"--views: {name!r} stands alone")
        if name not in known:
            raise UsageError(f"--views: no view {name!r}{did_you_mean(name, [*known, ALL, NONE])}; known: {', '.join(known)}, or {ALL}, or {NONE}")
    if not names:
        raise UsageError(f"--views: names no view; known: {', '.join(known)}, or {ALL}, or {NONE}")
    return tuple(view for view in known.values() if view.name in wanted or view.must_be_whole)


def fields_of(text: bytes) -> list[str]:
    """The fields that ``text``, what a binary prints for ``View.fields``, names: each once, in its order."""
    found = (_FIELD.fullmatch(line.strip()) for line in text.splitlines())
    return list(dict.fromkeys(match[1].decode() for match in found if match))


def _view(found: strictyaml.Document, name: str, entry: object) -> View:
    where = found.where(("views", name))
    if not isinstance(entry, dict) or not set(entry) <= _KEYS:
        raise InputError(f"{where}: a view has {', '.join(sorted(_KEYS))}")
    arguments, fields, whole = entry.get("arguments"), entry.get("fields", []), entry.get("must_be_whole", False)
    if not isinstance(arguments, list) or not isinstance(fields, list) or not isinstance(whole, bool):
        raise InputError(f"{where}: `arguments` and `fields` are lists, `must_be_whole` is true or false")
    if any(FIELDS in argument for argument in arguments) != bool(fields):
        raise InputError(f"{where}: {FIELDS} stands in the arguments of a view that says how its `fields` are listed, and of no other")
    return View(name, tuple(map(str, arguments)), tuple(map(str, fields)), whole)
