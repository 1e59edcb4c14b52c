"""A recording made elsewhere, taken over whole: its capture is read strictly, held together, scrubbed again, and comes in as an import does.

Profile and golden of the bundle are not taken on trust: the profile is derived again here, and the hashes must be those of the texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.stages.importing import given as reading
from harness.stages.recording import cleaning
from harness.stores import captures, golden_reader, goldens
from harness.stores.workspace import Workspace
from harness.text import timeline
from harness.words.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from harness.stages.importing.given import Given
    from harness.stores.captures import Capture


def find(folder: Path) -> list[str]:
    """The ids of the recordings in ``folder``, a bundle as `nvparity record` leaves it; none where it is something else.

    Raises InputError for a sidecar that is not sound.
    """
    space = Workspace(folder.resolve())
    sidecars = {name: captures.load_sidecar(space.captures / name / captures.SIDECAR) for name in space.ids()}
    return [name for name, sidecar in sidecars.items() if sidecar.taken is not None]


def read(folder: Path, name: str) -> tuple[Given, captures.Source]:
    """The recording ``name`` in the bundle ``folder``, as an import takes it, and where it comes from.

    Raises InputError, naming the file, for one that is not sound, whose hashes are not those of its texts, or that still holds an identifier.
    """
    space = Workspace(folder.resolve())
    capture = captures.load(space.captures, name)
    extra = reading.recorded_of(capture)
    if extra is None:
        raise InputError(f"{space.captures / name}: a recording without {captures.ANSWERS}; record again")
    names = {view: str(space.captures / name / captures.file_of(view, capture.sidecar.views)) for view in capture.sidecar.views}
    _check_hashes(space, capture, names)
    _check_clean(space, capture, names)
    reading.check(capture.texts, names)
    raw = {view: part.raw for view, part in capture.sidecar.views.items()}
    return reading.Given(names, raw, capture.bytes(), capture.texts, dict(capture.sidecar.scrubbed), recorded=extra), capture.sidecar.source


def _check_hashes(space: Workspace, capture: Capture, names: dict[str, str]) -> None:
    """The texts are those that were recorded: sidecar and golden, where the bundle has one, say so."""
    path = space.golden / f"{capture.sidecar.id}.yaml"
    golden = goldens.load(path) if path.is_file() else None
    for view, data in capture.bytes().items():
        digest, noted = golden_reader.sha256(data), capture.sidecar.views[view]
        if (digest, len(data)) != (noted.scrubbed, noted.bytes):
            raise InputError(f"{names[view]}: not the text that was recorded: another sha256 than the sidecar has; copy the bundle again")
        if golden is not None and (view not in golden.views or golden.views[view].scrubbed != digest):
            raise InputError(f"{path}: has not the sha256 of {names[view]}; copy the bundle again")


def _check_clean(space: Workspace, capture: Capture, names: dict[str, str]) -> None:
    """Nothing in it looks like an identifier: a recording is scrubbed where it is made."""
    runs = {f"{view}.txt": run.text for view, run in capture.runs.items() if run.text is not None}
    stderr = {f"stderr of {view}": run.stderr.encode("utf-8", "backslashreplace") for view, run in capture.runs.items()}
    texts = {names[view]: data for view, data in capture.bytes().items()} | runs | stderr
    if capture.timeline is not None:
        texts[str(space.captures / capture.sidecar.id / captures.TIMELINE)] = timeline.dump(capture.timeline).encode()
    left = [(name, one) for name, data in texts.items() for one in cleaning.residue(data)]
    if left:
        name, one = left[0]
        raise InputError(f"{name}:{one.line}: holds what looks like a real identifier ({one.family}); record again on the node")
