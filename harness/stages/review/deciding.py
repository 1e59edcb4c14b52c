"""Accept and reject: a proposal takes the place of what is there, or goes, and the golden keeps by whom and why."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.stages.compare import baselines, drift
from harness.stages.importing import neighbours, sources, staging
from harness.stores import goldens, pending
from harness.stores.goldens import Golden, Rejected
from harness.stores.pending import Proposal
from harness.stores.workspace import Workspace
from harness.words.errors import GateError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


def accept(space: Workspace, names: Sequence[str], by: str, why: str | None = None) -> list[Proposal]:
    """Put the proposals ``names`` in place of what is there, all of them or none; ``why`` is the proposal's own reason when None.

    Raises GateError for one whose files have changed since it was made, one that another command decided meanwhile, two that would change one
    file, or a driver node that would no longer print a capture imported since.
    """
    staging.sweep(space)
    proposals = [pending.load(space, name) for name in names]
    _check_apart(proposals)
    with staging.stage(space) as staged:
        places: list[Path] = []
        drops: list[Path] = []
        for proposal in proposals:
            _lay_out(staged, space, proposal)
            _sign(staged, space, proposal, by, why or proposal.why)
            places += _places(space, proposal)
            drops += [Path(change.file) for change in proposal.changes if change.new is None and not change.file.startswith(_own(space, proposal))]
            drops.append(pending.place(proposal.id))
        for node in [place.stem for place in places if place.parent.name == "drivers"]:
            neighbours.hold(staged, space, names, node)
        if any(place.parts[0] == space.captures.name for place in places):
            places.insert(0, Path(space.captures.name, sources.NAME))
        staging.settle(staged, space, places, drops, lambda: _ready(staged, space, proposals))
    _tidy(space)
    return proposals


def reject(space: Workspace, names: Sequence[str], by: str, why: str) -> list[tuple[Proposal, bool]]:
    """Take the proposals ``names`` away, all of them or none, and whether a golden keeps the reason: where the capture has one.

    Raises InputError for one that is not sound, after which its folder is left alone, GateError for one that another command decided meanwhile.
    """
    if not why.strip():
        raise UsageError("a rejection needs its reason: --reason TEXT")
    staging.sweep(space)
    proposals = [pending.read(space, name) for name in names]
    kept = []
    with staging.stage(space) as staged:
        for proposal in proposals:
            golden = _golden(space, proposal.id)
            kept.append(golden is not None)
            if golden is not None:
                note = Rejected(by, why, files_of(proposal))
                others = tuple(one for one in golden.rejected if one.files != note.files)
                goldens.write(staged.golden, replace(golden, rejected=(*others, note)))
        places = [Path(space.golden.name, f"{proposal.id}.yaml") for proposal in proposals]
        staging.settle(staged, space, places, [pending.place(proposal.id) for proposal in proposals], lambda: _check_undecided(space, proposals))
    _tidy(space)
    return list(zip(proposals, kept, strict=True))


def remove_unreferenced(space: Workspace) -> list[Path]:
    """Take away the files of ``space`` that belong to no capture, all of them or none; their paths from the root."""
    staging.sweep(space)
    places = drift.unreferenced(space)
    with staging.stage(space) as staged:
        staging.settle(staged, space, [], places)
    return places


def files_of(proposal: Proposal) -> dict[str, str | None]:
    """What a proposal is, for telling whether it was rejected before."""
    return {change.file: change.new for change in proposal.changes}


def rejected_before(space: Workspace, proposal: Proposal) -> Rejected | None:
    """The rejection of the very same files, where the golden keeps one."""
    golden = _golden(space, proposal.id)
    same = [one for one in golden.rejected if one.files == files_of(proposal)] if golden is not None else []
    return same[-1] if same else None


def stale(space: Workspace, proposal: Proposal) -> list[str]:
    """The files of ``space`` that are no longer those the proposal would replace."""
    return [change.file for change in proposal.changes if pending.digest(space.root / change.file) != change.old]


def _check_apart(proposals: Sequence[Proposal]) -> None:
    owners = Counter(change.file for proposal in proposals for change in proposal.changes)
    for file, count in owners.items():
        if count > 1:
            both = " and ".join(proposal.id for proposal in proposals if file in files_of(proposal))
            raise GateError(f"{both} both change {file}: accept one, then have the other proposed again; nothing was written")


def _own(space: Workspace, proposal: Proposal) -> str:
    return f"{space.captures.name}/{proposal.id}/"


def _lay_out(staged: Workspace, space: Workspace, proposal: Proposal) -> None:
    """The files as they shall be: a capture's folder is replaced whole, so what the proposal leaves alone in it comes along."""
    folder = space.captures / proposal.id
    touched = any(change.file.startswith(_own(space, proposal)) for change in proposal.changes)
    if touched and folder.is_dir():
        shutil.copytree(folder, staged.captures / proposal.id)
    for change in proposal.changes:
        target = staged.root / change.file
        if change.new is None:
            target.unlink(missing_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(space.root / pending.place(proposal.id) / change.file, target)


def _sign(staged: Workspace, space: Workspace, proposal: Proposal, by: str, why: str) -> None:
    """Write into golden and baseline by whom and why the files are accepted; what was rejected stays noted but for what is accepted now."""
    name = proposal.id
    proposed, current = _golden(staged, name), _golden(space, name)
    golden = proposed or current
    if golden is not None:
        noted = tuple(one for one in (current.rejected if current is not None else ()) if one.files != files_of(proposal))
        goldens.write(staged.golden, replace(golden, by=by, why=why, rejected=noted))
    accepted = baselines.load(baselines.path_of(staged.golden, name))
    if accepted is not None:
        baselines.write(staged.golden, replace(accepted, by=by, why=why))


def _golden(space: Workspace, name: str) -> Golden | None:
    path = space.golden / f"{name}.yaml"
    return goldens.load(path) if path.is_file() else None


def _places(space: Workspace, proposal: Proposal) -> list[Path]:
    """Where the staged files go: driver nodes and single files first, the capture's folder last."""
    own = _own(space, proposal)
    files = [Path(change.file) for change in proposal.changes if not change.file.startswith(own) and change.new is not None]
    golden = Path(space.golden.name, f"{proposal.id}.yaml")
    whole = [Path(own)] if any(change.file.startswith(own) for change in proposal.changes) else []
    return [*files, *([] if golden in files else [golden]), *whole]


def _ready(staged: Workspace, space: Workspace, proposals: Sequence[Proposal]) -> None:
    """Refuse what would overwrite a change that the proposal has not seen."""
    _check_undecided(space, proposals)
    for proposal in proposals:
        moved = stale(space, proposal)
        if moved:
            raise GateError(
                f"{', '.join(moved)}: changed since {proposal.id} was proposed; nothing was written, "
                f"have it proposed again (nvparity {proposal.by}) or reject it"
            )
    sources.write(space, staged)


def _check_undecided(space: Workspace, proposals: Sequence[Proposal]) -> None:
    """Refuse proposals that another command accepted, rejected or made anew since they were read: with them the golden may have changed."""
    for proposal in proposals:
        place = pending.place(proposal.id)
        if not (space.root / place / pending.PROPOSAL).is_file() or pending.read(space, proposal.id) != proposal:
            raise GateError(f"{place}: another command decided or changed it meanwhile; nothing was written, see nvparity pending")


def _tidy(space: Workspace) -> None:
    """An empty folder of proposals goes."""
    folder = space.root / pending.FOLDER
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
