"""Sampling in a child: the library is asked there again and again; Ctrl-C ends it with what was taken, a crash leaves the recording as it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from harness.stages import child
from harness.text import answers, timeline
from harness.words.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterable
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


def follow(library: Path | str, first: Recording, plan: Plan, field_ids: Iterable[FieldId], limit_s: float = child.LIMIT_S) -> Followed:
    """Sample the library at ``library`` (a path, or a name for the loader), whose answers ``first`` are, in the caller's environment.

    ``field_ids``: those of the node's driver.  A library that crashes or hangs (a call that takes longer than ``limit_s`` seconds) is said, and costs
    the time line alone.  MissingError where it cannot be loaded any more.
    """
    task = {"library": str(library), "first": answers.dump(first), "plan": asdict(plan), "field_ids": [asdict(known) for known in field_ids]}
    errand = child.Errand(MODULE, task, str(library), "sampling", watched=True, stoppable=True)
    try:
        found = child.run(errand, limit_s)
    except GateError as error:
        return Followed(None, f"time line: none: {error}")
    return Followed(timeline.load(found["line"], "samples") if found["line"] is not None else None, found["said"])
