"""Sampling in a child: the library is asked there again and again; Ctrl-C ends it with what was taken, a crash leaves the recording as it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from harness.stages import child
from harness.stages import compile as compiling
from harness.tables import drivers
from harness.text import answers, timeline
from harness.words.errors import GateError, InputError
from mocklib.answers import Asked

if TYPE_CHECKING:
    from pathlib import Path

    from harness.stages.recording.sampling import Plan
    from harness.text.timeline_model import TimeLine
    from mocklib.answers import Recording
    from mocklib.spec import FieldId

MODULE = "harness.stages.recording"


@dataclass(frozen=True)
class Followed:
    """What came of it: the time ``line``, None where nothing was taken, and one sentence that says what was.  Not scrubbed."""

    line: TimeLine | None
    said: str


def follow(library: Path | str, first: Recording, plan: Plan, root: Path | None = None, limit_s: float = child.LIMIT_S) -> Followed:
    """Sample the library at ``library`` (a path, or a name for the loader), whose answers ``first`` are, in the caller's environment.

    ``root``: the workspace whose driver nodes win over the shipped ones.  A library that crashes or hangs (a call that takes longer than ``limit_s``
    seconds) is said, and costs the time line alone.  MissingError where it cannot be loaded any more.
    """
    ids = [asdict(known) for known in _field_ids(first, root)]
    path = library if isinstance(library, str) else str(library.absolute())  # the child works in a folder of its own
    task = {"library": path, "first": answers.dump(first), "plan": asdict(plan), "field_ids": ids}
    errand = child.Errand(MODULE, task, str(library), "sampling", watched=True, stoppable=True)
    try:
        found = child.run(errand, limit_s)
    except GateError as error:
        return Followed(None, f"time line: none: {error}")
    return Followed(timeline.load(found["line"], "samples") if found["line"] is not None else None, found["said"])


def _field_ids(first: Recording, root: Path | None) -> list[FieldId]:
    """The field ids of the driver that ``first`` names; none where it names none that the tree can place."""
    found = first.get(Asked("nvmlSystemGetDriverVersion"))
    try:
        return [] if found is None or found.code else compiling.field_ids(drivers.load(root).resolve(str(found.out.get("version"))))
    except InputError:
        return []
