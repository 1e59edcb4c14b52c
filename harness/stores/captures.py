"""captures/<id>/: transcript.txt, listing.txt where the node gave both views, and sidecar.yaml beside them.

A capture is written whole: into a hidden folder first, which is then renamed; an id that exists is refused.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from harness.stores.goldens import write_whole
from harness.stores.workspace import check_id
from harness.tables import strictyaml
from harness.text import document, listing, placeholders, transcript
from harness.words.errors import InputError, MissingError, did_you_mean
from harness.words.fileformat import FORMAT, check_format

TRANSCRIPT = "transcript.txt"
LISTING = "listing.txt"
SIDECAR = "sidecar.yaml"
_KEYS = ("format", "id", "kind", "driver", "source", "views", "scrubbed", "notes")
_SOURCE_KEYS = ("repository", "commit", "path", "licence", "text")
_VIEW_KEYS = ("raw", "scrubbed", "bytes")

Text = document.Document | listing.Listing


@dataclass(frozen=True)
class Source:
    """Where a capture came from; what is not known is None.  ``text`` is what the giver said in words."""

    repository: str | None = None
    commit: str | None = None
    path: str | None = None
    licence: str | None = None
    text: str | None = None


@dataclass(frozen=True)
class View:
    """One view of a capture: sha256 of the ``raw`` and of the ``scrubbed`` file, and how many ``bytes`` both have."""

    raw: str
    scrubbed: str
    bytes: int


@dataclass(frozen=True)
class Sidecar:
    """What stands beside a transcript.

    driver:    the driver's version; None where no view says it (`-L`)
    views:     by name, ``q-x`` first
    scrubbed:  how many distinct values of each family were replaced
    notes:     what the reader noticed, one sentence each
    """

    id: str
    kind: str
    driver: str | None
    views: dict[str, View]
    source: Source = field(default_factory=Source)
    scrubbed: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Capture:
    """A capture: its sidecar and its texts by view."""

    sidecar: Sidecar
    texts: dict[str, Text]

    @property
    def query(self) -> document.Document | None:
        """The `-q -x` view."""
        found = self.texts.get(transcript.VIEW_QUERY)
        return found if isinstance(found, document.Document) else None

    @property
    def list(self) -> listing.Listing | None:
        """The `-L` view."""
        found = self.texts.get(transcript.VIEW_LIST)
        return found if isinstance(found, listing.Listing) else None


def file_of(view: str, views: Mapping[str, object]) -> str:
    """The file that holds ``view``: the transcript, or listing.txt for a list beside a query."""
    return LISTING if view == transcript.VIEW_LIST and transcript.VIEW_QUERY in views else TRANSCRIPT


def exists(folder: Path, name: str) -> bool:
    """Is there a capture ``name`` in ``folder`` (captures/ of a workspace)?"""
    return os.path.lexists(folder / name)


def write(folder: Path, capture: Capture) -> Path:
    """Writes ``capture`` into ``folder`` (captures/ of a workspace), whole or not at all; gives its folder.

    Raises InputError for an id that exists, UsageError for one that is no id, MissingError where the folder cannot be written.
    """
    name = check_id(capture.sidecar.id)
    target = folder / name
    if exists(folder, name):
        raise InputError(f"{target}: exists; choose another id with --id, or remove the folder first")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=folder))
        try:
            for view, text in capture.texts.items():
                write_whole(building / file_of(view, capture.texts), transcript.dump(text).encode())
            write_whole(building / SIDECAR, dump(capture.sidecar).encode())
            building.chmod(0o755)
            building.rename(target)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise
    except FileExistsError as error:
        raise InputError(f"{target}: exists; choose another id with --id, or remove the folder first") from error
    except OSError as error:
        raise MissingError(f"{target}: cannot be written: {error.strerror}") from error
    return target


def load(folder: Path, name: str) -> Capture:
    """The capture ``name`` of ``folder``.  Raises InputError with file and line."""
    sidecar = load_sidecar(folder / check_id(name) / SIDECAR)
    texts: dict[str, Text] = {}
    for view in sidecar.views:
        path = folder / name / file_of(view, sidecar.views)
        text = strictyaml.read_file(path)
        try:
            texts[view] = transcript.load(text.decode(), str(path))
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: byte {error.start} is not UTF-8") from error
        if isinstance(texts[view], listing.Listing) != (view == transcript.VIEW_LIST):
            raise InputError(f"{path}:2: not the transcript of view {view}, which the sidecar says it is")
    return Capture(sidecar, texts)


def dump(sidecar: Sidecar) -> str:
    """``sidecar`` as the text of its file."""
    source = {key: value for key in _SOURCE_KEYS if (value := getattr(sidecar.source, key)) is not None}
    views = {view: {"raw": part.raw, "scrubbed": part.scrubbed, "bytes": part.bytes} for view, part in sidecar.views.items()}
    content: dict[str, Any] = {"format": FORMAT, "id": sidecar.id, "kind": sidecar.kind, "driver": sidecar.driver}
    content |= {"source": source, "views": views, "scrubbed": dict(sidecar.scrubbed), "notes": list(sidecar.notes)}
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=150)


def load_sidecar(path: Path) -> Sidecar:
    """The sidecar in the file ``path``.  Raises InputError with file and line."""
    found = strictyaml.load_file(path, kind="sidecar")
    content = found.value
    if not isinstance(content, dict):
        raise InputError(f"{path}:1: a sidecar is a mapping that starts with `format: {FORMAT}`")
    check_format(content.get("format"), found.where(("format",)))
    _known(found, (), content, _KEYS)
    source, views = content.get("source") or {}, content.get("views")
    if content.get("id") != path.parent.name:
        raise InputError(f"{found.where(('id',))}: id {content.get('id')!r} in a folder called {path.parent.name}")
    if content.get("kind") not in document.KINDS:
        raise InputError(f"{found.where(('kind',))}: {content.get('kind')!r} is no kind; known: {', '.join(document.KINDS)}")
    if not isinstance(source, dict) or not isinstance(views, dict) or not views or not set(views) <= {transcript.VIEW_QUERY, transcript.VIEW_LIST}:
        raise InputError(f"{found.where(('views',))}: `views` holds q-x, L or both, `source` is a mapping")
    _known(found, ("source",), source, _SOURCE_KEYS)
    scrubbed, notes, driver = content.get("scrubbed") or {}, content.get("notes") or [], content.get("driver")
    for family, count in scrubbed.items() if isinstance(scrubbed, dict) else [("scrubbed", None)]:
        if family not in placeholders.FAMILIES or not isinstance(count, int) or count < 0:
            listed = ", ".join(placeholders.FAMILIES)
            raise InputError(f"{found.where(('scrubbed', family))}: `scrubbed` says how many values of each family were replaced ({listed})")
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise InputError(f"{found.where(('notes',))}: `notes` is a list of sentences")
    if not all(isinstance(value, str) for value in [*source.values(), "" if driver is None else driver]):
        raise InputError(f"{found.where(('source',))}: `driver` and what `source` says are text")
    return Sidecar(
        id=str(content["id"]),
        kind=str(content["kind"]),
        driver=driver,
        views={view: _view(found, view, part) for view, part in views.items()},
        source=Source(**source),
        scrubbed=dict(scrubbed),
        notes=tuple(notes),
    )


def _view(found: strictyaml.Document, view: str, part: object) -> View:
    where = found.where(("views", view))
    if not isinstance(part, dict):
        raise InputError(f"{where}: view {view} is no mapping")
    _known(found, ("views", view), part, _VIEW_KEYS)
    raw, scrubbed, size = (part.get(key) for key in _VIEW_KEYS)
    if not isinstance(raw, str) or not isinstance(scrubbed, str) or not isinstance(size, int):
        raise InputError(f"{where}: view {view} needs raw and scrubbed (sha256) and bytes (a number)")
    return View(raw, scrubbed, size)


def _known(found: strictyaml.Document, path: tuple[str | int, ...], value: dict[Any, Any], keys: tuple[str, ...]) -> None:
    for key in value:
        if key not in keys:
            raise InputError(f"{found.where((*path, key))}: {key!r} is no key here{did_you_mean(str(key), keys)}; known: {', '.join(keys)}")
