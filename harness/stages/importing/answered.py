"""The profile of a recording: what the texts say, over that what the answers say, and the answers that no key explains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.stages import derive
from harness.stages.answers import deriving, residual
from harness.stores import profiles
from harness.stores.workspace import Workspace
from harness.tables import drivers

if TYPE_CHECKING:
    from pathlib import Path

    from harness.stages.importing.given import Recorded


def text(beside: str | None, recorded: Recorded, name: str, root: Path) -> tuple[str, int, dict[str, int]]:
    """The profile of the recording ``name``, driver nodes of the workspace ``root`` before shipped ones; how many answers its keys explain, and how
    many of each function it keeps beside them.

    ``beside``: the profile that its texts give, whose keys stay where no answer speaks; None: it has answers alone.
    """
    tree = drivers.load(root)
    told = None if beside is None else derive.Derived(beside, ())
    made = deriving.derive(recorded.answers, tree, text=told, moved=recorded.moved, capture=name)
    settled = residual.settle(made.text, recorded.answers, Workspace(root))
    played = recorded.timeline is not None
    made_text = settled.text if recorded.taken is None else profiles.recorded(settled.text, timeline=played, at=f"{recorded.taken.at[:19]}Z")
    return made_text, settled.explained, dict(settled.residual)
