""".pending/<id>/: what a command proposes for one capture and nobody has accepted yet.

The folder mirrors the workspace (``captures/<id>/transcript.txt``, ``golden/<id>.yaml``, ...), with proposal.yaml beside: what made it, why, and
each file with the hash of what it would replace.  Nothing of it is truth: no check, render or profile look-up reads it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.stores.golden_reader import sha256
from harness.stores.workspace import Workspace, check_id
from harness.tables import strictyaml
from harness.words.errors import InputError, UsageError, did_you_mean
from harness.words.fileformat import FORMAT, check_format

FOLDER = ".pending"
PROPOSAL = "proposal.yaml"
NEW, CHANGED, REMOVED = "new", "changed", "removed"
MAKERS = ("import", "record", "derive", "migrate")
_KEYS = ("format", "id", "by", "why", "findings", "changes")
_FILES = r"captures/{id}/(?:views/)?[^/.][^/]*|(?:golden/|golden/baselines/|profiles/){id}\.yaml|profiles/drivers/[0-9][0-9.]*\.yaml"
"""What a proposal for ``id`` may change."""
_CHANGE_KEYS = ("file", "change", "from", "to")


@dataclass(frozen=True)
class Change:
    """One file of a proposal, as a path from the workspace's root; sha256 of what it replaces (``old``) and of what is proposed (``new``),
    None for a file that is not there.
    """

    file: str
    old: str | None
    new: str | None

    @property
    def kind(self) -> str:
        """``new``, ``changed`` or ``removed``."""
        return NEW if self.old is None else REMOVED if self.new is None else CHANGED


@dataclass(frozen=True)
class Proposal:
    """One proposal: the command that made it (``by``: one of `MAKERS`), ``why``, how many findings the proof of what is proposed has
    left (None: it was not rendered), and its files.
    """

    id: str
    by: str
    why: str
    findings: int | None
    changes: tuple[Change, ...]


def place(name: str) -> Path:
    """The folder of the proposal for ``name``, from the workspace's root."""
    return Path(FOLDER) / name


def ids(space: Workspace) -> list[str]:
    """The ids for which something is pending, sorted; hidden files, which a file manager or editor leaves, are none."""
    folder = space.root / FOLDER
    return sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith(".")) if folder.is_dir() else []


def select(space: Workspace, names: tuple[str, ...]) -> list[str]:
    """The pending ids that ``names`` mean (ids or short names); all of them when ``names`` is empty.  Raises UsageError for another."""
    known = ids(space)
    if not names:
        return known
    short = space.short_names()
    chosen: list[str] = []
    for name in names:
        target = name if name in known else short.get(name, name)
        if target not in known:
            listed = f"; pending: {', '.join(known)}" if known else "; nothing is pending"
            raise UsageError(f"nothing is pending for {name!r}{did_you_mean(name, known)}{listed}")
        if target not in chosen:
            chosen.append(target)
    return chosen


def dump(proposal: Proposal) -> str:
    """``proposal`` as the text of its file."""
    changes = [{"file": change.file, "change": change.kind, "from": change.old, "to": change.new} for change in proposal.changes]
    content = {"format": FORMAT, "id": proposal.id, "by": proposal.by, "why": proposal.why, "findings": proposal.findings, "changes": changes}
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=150)


def load(space: Workspace, name: str) -> Proposal:
    """The proposal for ``name``, with every proposed file as it was made.

    Raises InputError, naming the file, for one that was changed since or is not sound: what nobody proposed cannot be accepted.
    """
    folder, proposal = space.root / place(name), read(space, name)
    for change in proposal.changes:
        if digest(folder / change.file) != change.new:
            raise InputError(f"{folder / change.file}: not the file that was proposed; reject {name} and have it proposed again")
    return proposal


def read(space: Workspace, name: str) -> Proposal:
    """The proposal for ``name``, without a look at its files.  Raises InputError with file and line."""
    folder = space.root / place(check_id(name))
    if not (folder / PROPOSAL).is_file():
        raise InputError(f"{folder}: no {PROPOSAL} in it: nothing that nvparity proposed; remove it")
    return _load(folder / PROPOSAL)


def digest(path: Path) -> str | None:
    """sha256 of a file; None when there is none."""
    return sha256(strictyaml.read_file(path)) if os.path.lexists(path) else None


def _load(path: Path) -> Proposal:
    found = strictyaml.load_file(path, kind="proposal")
    content = found.value
    if not isinstance(content, dict):
        raise InputError(f"{path}:1: a proposal is a mapping that starts with `format: {FORMAT}`")
    check_format(content.get("format"), found.where(("format",)))
    _known(found, (), content, _KEYS)
    changes = content.get("changes")
    if content.get("id") != path.parent.name or content.get("by") not in MAKERS or not isinstance(changes, list):
        raise InputError(f"{path}: `id` is the folder's name, `by` one of {', '.join(MAKERS)}, `changes` a list")
    findings = content.get("findings")
    if findings is not None and (type(findings) is not int or findings < 0):
        raise InputError(f"{found.where(('findings',))}: `findings` is how many there were, or null")
    read = tuple(_change(found, path.parent.name, number, entry) for number, entry in enumerate(changes))
    return Proposal(path.parent.name, content["by"], str(content.get("why")), findings, read)


def _change(found: strictyaml.Document, name: str, number: int, entry: Any) -> Change:
    where = ("changes", number)
    if not isinstance(entry, dict) or not isinstance(entry.get("file"), str):
        raise InputError(f"{found.where(where)}: a change names its `file`, `from` and `to`")
    _known(found, where, entry, _CHANGE_KEYS)
    if not re.fullmatch(_FILES.format(id=re.escape(name)), entry["file"]):
        raise InputError(f"{found.where((*where, 'file'))}: {entry['file']!r} is no file of the capture {name} and no driver node")
    hashes = (entry.get("from"), entry.get("to"))
    if hashes == (None, None) or not all(digest is None or (isinstance(digest, str) and len(digest) == 64) for digest in hashes):
        raise InputError(f"{found.where(where)}: `from` and `to` are sha256 (64 digits), one of them null for a file that is new or removed")
    return Change(entry["file"], *hashes)


def _known(found: strictyaml.Document, path: tuple[str | int, ...], value: dict[Any, Any], keys: tuple[str, ...]) -> None:
    for key in value:
        if key not in keys:
            raise InputError(f"{found.where((*path, key))}: {key!r} is no key here{did_you_mean(str(key), keys)}; known: {', '.join(keys)}")
