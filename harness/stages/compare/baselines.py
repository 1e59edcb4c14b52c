"""Baselines: accepted renders of views that no capture of a board covers, golden/baselines/<id>.yaml, as hashes.

A golden says what hardware printed; a baseline only what we printed when somebody agreed to it.  Reports name them apart.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from harness.stores.goldens import write_whole
from harness.tables import strictyaml
from harness.words.errors import InputError, did_you_mean
from harness.words.fileformat import FORMAT, check_format

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "baselines"
_VIEWS = ("q-x", "L")


@dataclass(frozen=True)
class Baselines:
    """The baselines of capture ``id``: view -> sha256 of the accepted bytes; ``by`` whom and ``why``."""

    id: str
    views: dict[str, str]
    by: str
    why: str


def path_of(golden: Path, name: str) -> Path:
    """The file of capture ``name``; ``golden`` is golden/ of the workspace."""
    return golden / FOLDER / f"{name}.yaml"


def load(path: Path) -> Baselines | None:
    """The baselines in the file; None when it is not there.  Raises InputError with file and line."""
    if not path.is_file():
        return None
    found = strictyaml.load_file(path, kind="baselines")
    content = found.value
    if not isinstance(content, dict):
        raise InputError(f"{path}:1: baselines are a mapping that starts with `format: {FORMAT}`")
    check_format(content.get("format"), found.where(("format",)))
    views, accepted = content.get("views"), content.get("accepted")
    if content.get("id") != path.stem or not isinstance(views, dict) or not isinstance(accepted, dict):
        raise InputError(f"{path}: `id` is the file's name, `views` a mapping of view to sha256, `accepted` has `by` and `why`")
    for view, digest in views.items():
        if view not in _VIEWS:
            raise InputError(f"{found.where(('views', view))}: {view!r} is no view{did_you_mean(str(view), _VIEWS)}; known: {', '.join(_VIEWS)}")
        if not isinstance(digest, str) or len(digest) != 64:
            raise InputError(f"{found.where(('views', view))}: a sha256 is 64 hexadecimal digits")
    return Baselines(path.stem, dict(views), str(accepted.get("by")), str(accepted.get("why")))


def write(golden: Path, made: Baselines) -> Path:
    """Write ``made`` into golden/, whole and renamed; its path."""
    path = path_of(golden, made.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    accepted = {"by": made.by, "why": made.why}
    content: dict[str, Any] = {"format": FORMAT, "id": made.id, "views": dict(made.views), "accepted": accepted}
    write_whole(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=150).encode())
    return path


def digest(data: bytes) -> str:
    """sha256 of a render."""
    return hashlib.sha256(data).hexdigest()
