"""Drift: files of a workspace that no longer follow their source.

A capture is five files that say one thing: transcript, sidecar, golden, baselines, profile.  Each is held against what it was made from, so that
a digit changed in any of them by hand, or a file that lost its partner, is named and fails the gate.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from harness.stages.compare import baselines
from harness.stages.importing import given, making, source
from harness.stores import captures, golden_reader, goldens, viewruns
from harness.stores.workspace import Workspace
from harness.tables.shipped import shipped
from harness.text import document
from harness.text.transcript import VIEW_LIST
from harness.words.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.stages.importing.source import Source
    from harness.stores.captures import Capture, Sidecar
    from harness.stores.goldens import Golden

_NOT_PROFILES = {"boards"}
_NOT_GOLDENS = {"rules"}


def of_capture(space: Workspace, capture: Capture, golden: Golden) -> list[str]:
    """What of one capture's files no longer follows what it was made from, one line each; ``golden`` is its golden."""
    name = capture.sidecar.id
    found = [*_kinds(capture, golden), *_hashes(capture, golden), *_baselines(space, capture), *_profile(space, capture), *_files(space, capture)]
    return [f"{name}: {line}" for line in found]


def of_workspace(space: Workspace) -> list[str]:
    """Files of ``space`` that belong to no capture, one line each.

    Raises InputError for a folder of captures/ without a sidecar: what it is cannot be told.
    """
    known = set(space.ids())
    for folder in sorted(_visible(space.captures)):
        if folder.is_dir() and folder.name not in known:
            raise InputError(f"{folder}: no {captures.SIDECAR} in it: no capture; put it back or remove the folder")
    own = "a profile of your own may stand in any other folder"
    found = [f"profiles/{name}: no capture of that id; {own}" for name in _orphans(space.profiles, known | _NOT_PROFILES)]
    found += [f"golden/{name}: no capture of that id" for name in _orphans(space.golden, known | _NOT_GOLDENS)]
    found += [f"golden/{baselines.FOLDER}/{name}: no capture of that id" for name in _orphans(space.golden / baselines.FOLDER, known)]
    profiles = {*space.profile_ids(), *Workspace(shipped()).profile_ids()}
    lost = [(short, target) for short, target in space.short_names().items() if target not in profiles]
    return found + [f"profiles/boards.yaml: {short} stands for {target}, which is no profile" for short, target in lost]


def unreferenced(space: Workspace) -> list[Path]:
    """Files of profiles/ and golden/ that belong to no capture, and stray files beside one's own, as paths from the root."""
    known = set(space.ids())
    folders = ((space.profiles, known | _NOT_PROFILES), (space.golden, known | _NOT_GOLDENS), (space.golden / baselines.FOLDER, known))
    found = [folder / name for folder, names in folders for name in _orphans(folder, names)]
    for name in sorted(known):
        found += _strays(space, captures.load_sidecar(space.captures / name / captures.SIDECAR))
    return [path.relative_to(space.root) for path in found]


def _visible(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if not path.name.startswith(".")] if folder.is_dir() else []


def _orphans(folder: Path, known: set[str]) -> list[str]:
    return sorted(path.name for path in _visible(folder) if path.suffix in {".yaml", ".yml"} and path.stem not in known)


def _kinds(capture: Capture, golden: Golden) -> Iterator[str]:
    """The kind is what the bytes say, except that only whoever gave a file can say that it was edited; all files must name the same."""
    sidecar = capture.sidecar
    said = {"the sidecar": sidecar.kind, "the golden": golden.kind}
    if capture.texts:
        said = {"the transcript": next(iter(capture.texts.values())).kind, **said}
    if len(set(said.values())) > 1:
        yield "kind is " + ", ".join(f"{kind!r} in {file}" for file, kind in said.items())
    for view, text in capture.texts.items():
        if text.kind != document.EDITED and (shown := _read(text, view).kind) != text.kind:
            yield f"{view}: the transcript calls itself {text.kind!r}, its bytes are of kind {shown!r}"
    recorded = given.recorded_of(capture)
    driver = source.driver_of(capture.queried) if capture.queried is not None else None if recorded is None else recorded.driver
    if sidecar.driver != driver:
        yield f"the sidecar's driver is {sidecar.driver!r}, the {'transcript' if capture.texts else 'recording'}'s {driver!r}"


def _read(text: Source, view: str) -> Source:
    return source.read(text.to_bytes(), f"text of view {view}")


def _hashes(capture: Capture, golden: Golden) -> Iterator[str]:
    """Golden, sidecar and bytes of each view; the hash of the raw file stands in both files and nowhere else."""
    texts = capture.bytes()
    for view in golden.views:
        if view not in texts:
            yield f"{view}: in the golden, not in the capture"
    for view, data in texts.items():
        noted, known = capture.sidecar.views[view], golden.views[view]
        if (noted.raw, noted.scrubbed) != (known.raw, known.scrubbed):
            yield f"{view}: sidecar and golden have different hashes"
        if golden_reader.sha256(data) != known.scrubbed:
            continue  # the comparison itself says so
        if noted.bytes != len(data):
            yield f"{view}: {len(data)} bytes, {noted.bytes} in the sidecar"
        for line in goldens.reading_differences(known.readings, golden_reader.read(data)):
            yield f"{view}: {line}"


def _baselines(space: Workspace, capture: Capture) -> Iterator[str]:
    """A query or `-q` text without a list beside it has a baseline of `-L`, unless it was changed by hand; no view has both."""
    accepted = baselines.load(baselines.path_of(space.golden, capture.sidecar.id))
    views = frozenset() if accepted is None else frozenset(accepted.views)
    compared = capture.sidecar.kind != document.EDITED
    if compared and capture.queried is not None and VIEW_LIST not in capture.texts and VIEW_LIST not in views:
        yield f"view {VIEW_LIST} has neither a golden nor a baseline (golden/{baselines.FOLDER}/{capture.sidecar.id}.yaml)"
    for view in sorted(views & capture.texts.keys()):
        yield f"view {view} has a baseline although the capture covers it"


def _profile(space: Workspace, capture: Capture) -> Iterator[str]:
    """The profile is what deriving the capture gives, to the letter; a capture changed by hand has none where that gives none."""
    path = space.profile_path(capture.sidecar.id)
    try:
        made = making.due(capture.texts, capture.sidecar.id, space.root, given.recorded_of(capture))
    except InputError as error:
        raise InputError(f"{space.captures / capture.sidecar.id}: {error}") from None
    if isinstance(made, str):
        if path.is_file():
            yield f"profiles/{path.name}: the capture derives into no profile: {made}"
        return
    try:
        now = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    due = made.text.encode()
    pairs = zip_longest(due.splitlines(keepends=True), now.splitlines(keepends=True))
    differing = next((number for number, (one, other) in enumerate(pairs, 1) if one != other), None)
    if differing is not None:
        yield f"profiles/{path.name}:{differing}: no longer what the capture derives into; nvparity derive {capture.sidecar.id} proposes it again"


def _files(space: Workspace, capture: Capture) -> Iterator[str]:
    for path in _strays(space, capture.sidecar):
        yield f"{path.relative_to(space.root)}: no file of a capture"


def _strays(space: Workspace, sidecar: Sidecar) -> list[Path]:
    folder, due = space.captures / sidecar.id, captures.files_of(sidecar)
    return [path for path in sorted(_visible(folder)) if path.name not in due] + viewruns.strays(folder)
