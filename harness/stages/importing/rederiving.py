"""Profiles and baselines derived again from the captures they were made from; what is another now is proposed, not written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.stages.compare import baselines, check, rules
from harness.stages.importing import given, making, staging
from harness.stages.render import serving
from harness.stages.review import proposing
from harness.stores import captures, pending
from harness.stores.goldens import write_whole
from harness.stores.pending import Change, Proposal
from harness.text.document import EDITED
from harness.text.transcript import VIEW_LIST

if TYPE_CHECKING:
    from harness.stores.workspace import Workspace

SAME, PENDING, WAITS = "same", "pending", "waits"


@dataclass(frozen=True)
class Rederived:
    """What came of one capture: its files are the ``same``, others are ``pending`` now, or it ``waits`` because another command's proposal for
    it is; with the ``files`` that are others.
    """

    id: str
    outcome: str
    files: tuple[str, ...] = ()


def run(space: Workspace, names: list[str]) -> list[Rederived]:
    """Derive the profile of each capture ``names`` again, and render again the views that only a baseline covers.

    What differs from the files at hand, or is missing, is proposed; a proposal made earlier that is no longer needed goes.  Raises InputError
    for a capture that is not sound.
    """
    staging.sweep(space)
    found: list[Rederived] = []
    proposals: list[Proposal] = []
    idle: list[Path] = []
    with staging.stage(space) as staged:
        for name in names:
            _derive(staged, space, name)
            changes = proposing.changes(staged, space, [space.profile_path(name).relative_to(space.root), _baseline(space, name)])
            mine = name not in pending.ids(space) or pending.read(space, name).by == "derive"
            if changes and mine:
                proposals.append(_proposal(staged, space, name, changes))
            elif mine:
                idle.append(pending.place(name))
            outcome = SAME if not changes else PENDING if mine else WAITS
            found.append(Rederived(name, outcome, tuple(change.file for change in changes)))
        proposing.propose(staged, space, proposals, idle)
    return found


def _derive(staged: Workspace, space: Workspace, name: str) -> None:
    """Profile and baseline of one capture, into ``staged``; one changed by hand has no baseline, and no profile where none can be made."""
    capture = captures.load(space.captures, name)
    due = making.due(capture.texts, name, staged.root, given.recorded_of(capture))
    if isinstance(due, str):
        return
    write_whole(staged.profile_path(name), due.text.encode())
    if capture.queried is not None and VIEW_LIST not in capture.texts and capture.sidecar.kind != EDITED:
        rendered = serving.render(staged.profile_path(name), staged, VIEW_LIST)
        made = baselines.Baselines(name, {VIEW_LIST: baselines.digest(rendered.data)}, "derive", "rendered from the profile as derived")
        baselines.write(staged.golden, made)


def _proposal(staged: Workspace, space: Workspace, name: str, changes: list[Change]) -> Proposal:
    """The proposal, with the findings of what it proposes against the capture's golden, where there is one."""
    findings = None
    if (space.golden / f"{name}.yaml").is_file():
        made = {path: (staged.root / path).read_bytes() for path in (Path(change.file) for change in changes) if (staged.root / path).is_file()}
        staging.borrow(staged, space, [name])
        for path, data in made.items():
            write_whole(staged.root / path, data)
        findings = sum(len(case.findings) for case in check.check(staged, [name], ruled=rules.of(space)))
    what = ["profile" if change.file.startswith("profiles/") else "baseline" for change in changes]
    return Proposal(name, "derive", f"derive again: another {' and another '.join(dict.fromkeys(what))}", findings, tuple(changes))


def _baseline(space: Workspace, name: str) -> Path:
    return baselines.path_of(space.golden, name).relative_to(space.root)
