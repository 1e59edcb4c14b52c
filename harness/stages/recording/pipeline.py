"""Record into a workspace: what a node gave becomes capture, profile and golden, whole or not at all, by one of four modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.stages.importing import pipeline, staging
from harness.stages.importing.pipeline import Imported
from harness.stages.recording import taking
from harness.stages.review import proposing
from harness.stores import captures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stages.recording.taking import Node, Take
    from harness.stores.workspace import Workspace
    from harness.tables.views import View

NEW, ONCE, REFRESH, NOTHING = "new", "once", "refresh", "none"
MODES = (NEW, ONCE, REFRESH, NOTHING)
"""What becomes of an id that is there: the next free one is taken; the recording is left alone; what differs is proposed.  Or nothing is written."""
WROTE, PROPOSED, SAME, LEFT, DRY = "wrote", "proposed", "same", "left alone", "not written"


@dataclass(frozen=True)
class Recording:
    """What `run` did.

    ``outcome``: wrote, proposed, same (a refresh that gives what is there), left alone (``once``: nothing was asked, ``take`` is None) or not
    written; ``id``: the capture's; ``made``: the import, with its proof.
    """

    outcome: str
    id: str
    take: Take | None = None
    made: Imported | None = None


def run(space: Workspace, node: Node, wanted: Sequence[View], name: str | None, mode: str, origin: captures.Source) -> Recording:
    """Record ``node`` in the views ``wanted`` into ``space``, as ``name`` or under the id that an import would propose, by ``mode``.

    Raises what `taking.take` raises; InputError for a ``name`` that is there already in mode ``new``; what an import raises.
    """
    if mode == ONCE and name is not None and captures.exists(space.captures, name):
        return Recording(LEFT, name)
    if mode == NEW and name is not None:
        staging.check_free(space, name, f"; --mode {REFRESH} proposes what differs, {ONCE} leaves it alone")
    take = taking.take(node, wanted)
    first = pipeline.propose_id(space, take.given, ()) if name is None else name
    there = captures.exists(space.captures, first)
    if mode == ONCE and there:
        return Recording(LEFT, first, take)
    if mode == NOTHING:
        with staging.elsewhere() as copy:
            staging.fill(space, copy.root)
            return Recording(DRY, first, take, pipeline.run_given(copy, take.given, first, origin))
    chosen = name if mode == NEW else first
    try:
        made = pipeline.run_given(space, take.given, chosen, origin, new=False)
    except proposing.SameError:
        return Recording(SAME, first, take)
    return Recording(PROPOSED if made.pending else WROTE, made.id, take, made)
