"""golden/<id>.yaml: what a capture was, as hashes of its bytes, and who accepted it.  No text of a capture is in it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.stores import golden_reader
from harness.stores.sidecars import VIEW_ANSWERS, one_line
from harness.tables import strictyaml
from harness.text.document import KINDS
from harness.text.transcript import VIEW_LIST, VIEW_QUERY, VIEW_TEXT
from harness.words.errors import InputError, MissingError, did_you_mean
from harness.words.fileformat import FORMAT, check_format

VIEWS = (VIEW_QUERY, VIEW_TEXT, VIEW_LIST, VIEW_ANSWERS)
_KEYS = ("format", "id", "kind", "accepted")
_MAY = ("rejected", "views", "sha256")
_REJECTED_KEYS = ("by", "why", "files")
_VIEW_KEYS = ("raw", "scrubbed", "readings")
_READINGS_KEYS = ("count", "whole", "gpus", "sections")


@dataclass(frozen=True)
class Hashes:
    """Of one view: sha256 of the ``raw`` and of the ``scrubbed`` file, and of the ``readings`` of the scrubbed one."""

    raw: str
    scrubbed: str
    readings: golden_reader.Readings


@dataclass(frozen=True)
class Rejected:
    """A proposal that somebody rejected: ``by`` whom, ``why``, and its ``files`` with the sha256 of each (None: it was to be removed)."""

    by: str
    why: str
    files: dict[str, str | None]


@dataclass(frozen=True)
class Golden:
    """One capture's golden: ``views`` by name (``q-x``, ``q``, ``L``, ``answers``), ``by`` whom the capture's files were accepted as they are, and
    ``why``; what was ``rejected`` since.  ``recorded``: it is of a recording, all of whose hashes stand on one line, ``sha256``.
    """

    id: str
    kind: str
    views: dict[str, Hashes]
    by: str
    why: str
    rejected: tuple[Rejected, ...] = ()
    recorded: bool = False


def hashes(raw: bytes, scrubbed: bytes) -> Hashes:
    """The hashes of one view, taken from the bytes."""
    return Hashes(golden_reader.sha256(raw), golden_reader.sha256(scrubbed), golden_reader.read(scrubbed))


def make(
    name: str, kind: str, raw: Mapping[str, bytes], scrubbed: Mapping[str, bytes], by: str, why: str, *, recorded: bool = False
) -> Golden:
    """The golden of capture ``name``: ``raw`` and ``scrubbed`` are the files by view; ``recorded``: of a recording."""
    return Golden(name, kind, {view: hashes(raw[view], scrubbed[view]) for view in raw}, by, why, recorded=recorded)


def dump(golden: Golden) -> str:
    """``golden`` as the text of its file."""
    views = {
        view: {
            "raw": part.raw,
            "scrubbed": part.scrubbed,
            "readings": {
                "count": part.readings.count,
                "whole": part.readings.whole,
                "gpus": list(part.readings.gpus),
                "sections": dict(part.readings.sections),
            },
        }
        for view, part in golden.views.items()
    }
    accepted = {"by": golden.by, "why": golden.why}
    head: dict[str, Any] = {"format": FORMAT, "id": golden.id, "kind": golden.kind}
    rest: dict[str, Any] = {"accepted": accepted}
    if golden.rejected:
        rest["rejected"] = [{"by": one.by, "why": one.why, "files": dict(one.files)} for one in golden.rejected]
    if golden.recorded:
        return _block(head) + one_line("sha256", views) + _block(rest)
    return _block({**head, "views": views, **rest})


def _block(content: dict[str, Any]) -> str:
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=150)


def load(path: Path) -> Golden:
    """The golden in the file ``path``.  Raises InputError with file and line."""
    document = strictyaml.load_file(path, kind="golden")
    content = _mapping(document, (), _KEYS, _MAY)
    check_format(content.get("format"), document.where(("format",)))
    listed = "sha256" if "sha256" in content else "views"
    if {"sha256", "views"} <= content.keys():
        raise InputError(f"{document.where(('sha256',))}: a recording's golden has `sha256`, any other `views`; take one of them out")
    views = {str(view): _view(document, (listed, view)) for view in _mapping(document, (listed,))}
    accepted = _mapping(document, ("accepted",), ("by", "why"))
    if content["kind"] not in KINDS:
        raise InputError(f"{document.where(('kind',))}: {content['kind']!r} is no kind; known: {', '.join(KINDS)}")
    for view in views:
        if view not in VIEWS:
            raise InputError(f"{document.where((listed, view))}: {view!r} is no view; known: {', '.join(VIEWS)}")
    if content["id"] != path.stem:
        raise InputError(f"{document.where(('id',))}: id {content['id']!r} in a file called {path.name}")
    by, why, rejected = str(accepted["by"]), str(accepted["why"]), _rejected(document, content)
    return Golden(str(content["id"]), str(content["kind"]), views, by, why, rejected, listed == "sha256")


def write(folder: Path, golden: Golden) -> Path:
    """Writes ``golden`` into ``folder`` whole, then renames it into place; gives its path."""
    path = folder / f"{golden.id}.yaml"
    write_whole(path, dump(golden).encode())
    return path


def write_whole(path: Path, data: bytes) -> None:
    """Writes ``data`` beside ``path`` and renames it there, so that a reader finds the old file, the new one or none.

    Raises MissingError, naming ``path``, where it cannot be written.
    """
    try:
        _write_whole(path, data)
    except OSError as error:
        raise MissingError(f"{path}: cannot be written: {error.strerror}") from error


def _write_whole(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def differences(golden: Golden, raw: Mapping[str, bytes], scrubbed: Mapping[str, bytes]) -> list[str]:
    """What ``raw`` and ``scrubbed``, files by view, say otherwise than ``golden``, one line each; empty where the hashes hold."""
    found = [f"{golden.id}: view {view} is in the golden only" for view in golden.views if view not in raw]
    for view in raw:
        known = golden.views.get(view)
        if known is None:
            found.append(f"{golden.id}: view {view} is not in the golden")
            continue
        now = hashes(raw[view], scrubbed[view])
        for what, old, new in (("raw file", known.raw, now.raw), ("scrubbed file", known.scrubbed, now.scrubbed)):
            if old != new:
                found.append(f"{golden.id}: {view}: the {what} has sha256 {new}, the golden {old}")
        found.extend(f"{golden.id}: {view}: {line}" for line in reading_differences(known.readings, now.readings))
    return found


def reading_differences(known: golden_reader.Readings, now: golden_reader.Readings) -> list[str]:
    """Where the readings of two texts part: their number, the GPUs and the sections concerned."""
    if known == now:
        return []
    found = [f"{now.count} readings, the golden {known.count}"] if known.count != now.count else []
    if len(known.gpus) != len(now.gpus):
        found.append(f"{len(now.gpus)} GPUs, the golden {len(known.gpus)}")
    found.extend(f"readings of GPU {gpu} differ" for gpu, (old, new) in enumerate(zip(known.gpus, now.gpus, strict=False)) if old != new)
    names = sorted({*known.sections, *now.sections})
    found.extend(f"readings of section {name} differ" for name in names if known.sections.get(name) != now.sections.get(name))
    return found or ["the readings stand in another order"]


def _rejected(document: strictyaml.Document, content: dict[Any, Any]) -> tuple[Rejected, ...]:
    listed = content.get("rejected", [])
    if not isinstance(listed, list):
        raise InputError(f"{document.where(('rejected',))}: `rejected` is a list")
    found = []
    for number in range(len(listed)):
        one = _mapping(document, ("rejected", number), _REJECTED_KEYS)
        files = _mapping(document, ("rejected", number, "files"))
        found.append(
            Rejected(str(one["by"]), str(one["why"]), {str(name): None if digest is None else str(digest) for name, digest in files.items()})
        )
    return tuple(found)


def _view(document: strictyaml.Document, path: tuple[str | int, ...]) -> Hashes:
    part = _mapping(document, path, _VIEW_KEYS)
    readings = _mapping(document, (*path, "readings"), _READINGS_KEYS)
    sections = _mapping(document, (*path, "readings", "sections"))
    gpus = readings["gpus"]
    texts = [part["raw"], part["scrubbed"], readings["whole"], *sections.values(), *(gpus if isinstance(gpus, list) else [None])]
    if not all(isinstance(text, str) and len(text) == 64 for text in texts) or not isinstance(readings["count"], int):
        raise InputError(f"{document.where(path)}: a hash is 64 hexadecimal digits, `count` a number, `gpus` a list of hashes")
    return Hashes(part["raw"], part["scrubbed"], golden_reader.Readings(readings["whole"], tuple(gpus), dict(sections), readings["count"]))


def _mapping(document: strictyaml.Document, path: tuple[str | int, ...], keys: tuple[str, ...] = (), may: tuple[str, ...] = ()) -> dict[Any, Any]:
    """The mapping at ``path``; with ``keys``, these and no others but those it ``may`` have are in it."""
    value = document.value
    for step in path:
        value = value[step] if isinstance(value, list) and isinstance(step, int) else value.get(step) if isinstance(value, dict) else None
    where, name = document.where(path), "/".join(str(step) for step in path) or "the file"
    if not isinstance(value, dict) or not value:
        raise InputError(f"{where}: {name} is no mapping")
    for key in value if keys else ():
        if key not in (known := (*keys, *may)):
            raise InputError(f"{document.where((*path, key))}: {key!r} is no key of {name}{did_you_mean(str(key), known)}; known: {', '.join(known)}")
    missing = [key for key in keys if key not in value and key != "format"]
    if missing:
        raise InputError(f"{where}: {name} lacks {', '.join(missing)}")
    return value
