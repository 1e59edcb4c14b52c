"""captures/<id>/: transcript.txt, outline.txt and listing.txt where the node gave these views beside it, and sidecar.yaml.

A recording has answers.txt too, which may stand alone, views.yaml with the texts of views/ (`viewruns`), and timeline.txt where it was sampled.

A capture is written whole: into a hidden folder first, which is then renamed; an id that exists is refused.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from harness.stores import viewruns
from harness.stores.filenames import ANSWERS, LISTING, OUTLINE, TIMELINE, TRANSCRIPT
from harness.stores.goldens import write_whole
from harness.stores.sidecars import SIDECAR, VIEW_ANSWERS, Sidecar, Source, Taken, View, dump, load_sidecar
from harness.stores.workspace import check_id
from harness.tables import strictyaml
from harness.text import answers, document, listing, timeline, transcript
from harness.text.outline import Outline, Queried
from harness.words.errors import InputError, MissingError

if TYPE_CHECKING:
    from harness.text.timeline_model import TimeLine
    from mocklib.answers import Recording

__all__ = ["LISTING", "OUTLINE", "SIDECAR", "TRANSCRIPT", "VIEW_ANSWERS", "Capture", "Sidecar", "Source", "Taken", "Text", "View"]
__all__ += ["ANSWERS", "TIMELINE", "dump", "exists", "file_of", "files_of", "load", "load_sidecar", "write"]

Text = document.Document | Outline | listing.Listing


@dataclass(frozen=True)
class Capture:
    """A capture: its sidecar and its texts by view; of a recording its ``answers``, how they moved and what each view gave (``runs``) as well.

    A recording may have answers alone: then ``texts`` is empty.
    """

    sidecar: Sidecar
    texts: dict[str, Text]
    answers: Recording | None = None
    runs: dict[str, viewruns.ViewRun] = field(default_factory=dict)
    timeline: TimeLine | None = None

    @property
    def query(self) -> document.Document | None:
        """The `-q -x` view."""
        found = self.texts.get(transcript.VIEW_QUERY)
        return found if isinstance(found, document.Document) else None

    @property
    def outline(self) -> Outline | None:
        """The `-q` view."""
        found = self.texts.get(transcript.VIEW_TEXT)
        return found if isinstance(found, Outline) else None

    @property
    def queried(self) -> Queried | None:
        """The text that the profile is made from: the `-q -x` view, else the `-q` view."""
        return self.query or self.outline

    @property
    def list(self) -> listing.Listing | None:
        """The `-L` view."""
        found = self.texts.get(transcript.VIEW_LIST)
        return found if isinstance(found, listing.Listing) else None

    def bytes(self) -> dict[str, bytes]:
        """The text of each view that has a golden, as its hashes are taken from it."""
        told = {} if self.answers is None else {VIEW_ANSWERS: answers.dump(self.answers).encode()}
        return {**{view: text.to_bytes() for view, text in self.texts.items()}, **told}


def file_of(view: str, views: Mapping[str, object]) -> str:
    """The file that holds ``view``: the transcript, outline.txt and listing.txt for what stands beside it, or answers.txt."""
    if view == VIEW_ANSWERS:
        return ANSWERS
    before = _ORDER[: _ORDER.index(view)] if view in _ORDER else ()
    return _BESIDE[view] if any(other in views for other in before) else TRANSCRIPT


_ORDER = (transcript.VIEW_QUERY, transcript.VIEW_TEXT, transcript.VIEW_LIST)
_BESIDE = {transcript.VIEW_TEXT: OUTLINE, transcript.VIEW_LIST: LISTING}
_READ_AS = {transcript.VIEW_QUERY: document.Document, transcript.VIEW_TEXT: Outline, transcript.VIEW_LIST: listing.Listing}


def files_of(sidecar: Sidecar) -> set[str]:
    """The files and folders that the folder of a capture holds."""
    beside = {viewruns.VIEWS, viewruns.FOLDER} if sidecar.taken is not None and sidecar.views.keys() != {VIEW_ANSWERS} else set()
    sampled = {TIMELINE} if sidecar.taken is not None and sidecar.taken.timeline else set()
    return {SIDECAR, *(file_of(view, sidecar.views) for view in sidecar.views), *beside, *sampled}


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
                text_of = transcript.dump(text, recorded=capture.sidecar.taken is not None)
                write_whole(building / file_of(view, capture.texts), text_of.encode())
            if capture.answers is not None:
                write_whole(building / ANSWERS, answers.dump(capture.answers).encode())
            if capture.timeline is not None:
                write_whole(building / TIMELINE, timeline.dump(capture.timeline).encode())
            if capture.runs:
                viewruns.write(building, capture.runs)
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
    here = folder / name
    texts: dict[str, Text] = {}
    recording: Recording | None = None
    for view in sidecar.views:
        path = here / file_of(view, sidecar.views)
        text = _plain(path)
        if view == VIEW_ANSWERS:
            recording = answers.load(text, str(path))
            continue
        texts[view] = transcript.load(text, str(path))
        if not isinstance(texts[view], _READ_AS[view]):
            raise InputError(f"{path}:2: not the transcript of view {view}, which the sidecar says it is")
    due = files_of(sidecar)
    runs = viewruns.load(here) if viewruns.VIEWS in due else {}
    return Capture(sidecar, texts, recording, runs, timeline.load(_plain(here / TIMELINE), str(here / TIMELINE)) if TIMELINE in due else None)


def _plain(path: Path) -> str:
    """The text of a file."""
    try:
        return strictyaml.read_file(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8") from error
