"""A staged workspace laid down as a proposal instead of in place of what is there."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.stages.compare import baselines
from harness.stages.importing import staging
from harness.stores import goldens, pending
from harness.stores.goldens import write_whole
from harness.stores.pending import Change, Proposal
from harness.stores.workspace import Workspace
from harness.words.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MOVING = (b"id", b"recorded", b"sha256")
"""How lines start whose content moves from one recording to the next."""
MADE = "made"
"""In a staged workspace: the folder in which proposals are put together."""


def changes(staged: Workspace, space: Workspace, places: Iterable[Path]) -> list[Change]:
    """What the files that ``staged`` holds at ``places`` would change in ``space``; folders are compared file by file.

    Who accepted a golden or baseline is no content: one that only differs there is left out.
    """
    files = {file for place in places for folder in (staged, space) for file in _files(folder, place)}
    found = [Change(file, pending.digest(space.root / file), pending.digest(staged.root / file)) for file in sorted(files)]
    return [change for change in found if change.old != change.new and not _same(staged, space, change)]


def propose(
    staged: Workspace, space: Workspace, proposals: Sequence[Proposal], drops: Sequence[Path] = (), ready: Callable[[], object] = lambda: None
) -> list[Path]:
    """Lay down ``proposals``, whose files stand in ``staged``, in ``space``, each in the place of an earlier one for its id; their folders.

    ``drops``: places, from the root, that go at the same moment; ``ready``: as `staging.settle` calls it.
    """
    lay_down(staged, proposals)
    return staging.settle(staged, space, [pending.place(proposal.id) for proposal in proposals], drops, ready)


def lay_down(staged: Workspace, proposals: Sequence[Proposal]) -> None:
    """Put ``proposals``, whose files stand in ``staged``, together in ``staged``, where `staging.settle` takes them from."""
    for proposal in proposals:
        folder = staged.root / MADE / proposal.id
        for change in proposal.changes:
            if change.new is not None:
                (folder / change.file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(staged.root / change.file, folder / change.file)
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / pending.PROPOSAL, pending.dump(proposal).encode())
        target = staged.root / pending.place(proposal.id)
        target.parent.mkdir(exist_ok=True)
        folder.rename(target)


class SameError(InputError):
    """What was made again is what is there already."""


def reimport(
    staged: Workspace, space: Workspace, name: str, node: str | None, findings: int, ready: Callable[[], object] = lambda: None, by: str = "import"
) -> list[Path]:
    """Propose what an import made of ``name``, and the driver node ``node`` that it learnt; the proposal's folder.
    ``ready``: as in `propose`; ``by``: the command that made it.

    Raises SameError where it gives what is there already, but for what moves from one recording to the next.
    """
    places = staging.places(space, name)
    if node is not None:
        places.insert(0, Path("profiles", "drivers", f"{node}.yaml"))
    found = changes(staged, space, places)
    if all(_still(staged, space, change) for change in found):
        raise SameError(f"{space.captures / name}: exists, and this {by} gives the same files; for a second copy choose another id with --id")
    return propose(staged, space, [Proposal(name, by, _why(found, name, by), findings, tuple(found))], ready=ready)


def _still(staged: Workspace, space: Workspace, change: Change) -> bool:
    """Whether a file is the same but for lines that say that they move from one recording to the next."""
    if change.kind != pending.CHANGED:
        return False
    texts = [(root / change.file).read_bytes().splitlines() for root in (space.root, staged.root)]
    old, new = ([line for line in text if not line.startswith(MOVING)] for text in texts)
    return old == new


def _why(found: list[Change], name: str, by: str) -> str:
    """In words, what about a capture is another now."""
    files = {Path(change.file).name if change.file.startswith("captures/") else change.file for change in found}
    if any(change.old is None and change.file == f"captures/{name}/sidecar.yaml" for change in found):
        return f"first {by}"
    parts = []
    if "answers.txt" in files:
        parts.append("other answers")
    if files & {"transcript.txt", "listing.txt"} or f"golden/{name}.yaml" in files:
        parts.append("other bytes")
    elif "sidecar.yaml" in files:
        parts.append("another sidecar")
    if f"profiles/{name}.yaml" in files:
        parts.append("another profile")
    if f"golden/{baselines.FOLDER}/{name}.yaml" in files:
        parts.append("another baseline")
    if any(file.startswith("profiles/drivers/") for file in files):
        parts.append("another driver node")
    return f"{by} again: " + ", ".join(parts)


def _files(space: Workspace, place: Path) -> list[str]:
    target = space.root / place
    if target.is_dir():
        return [str(path.relative_to(space.root)) for path in target.rglob("*") if path.is_file()]
    return [str(place)] if target.is_file() else []


def _same(staged: Workspace, space: Workspace, change: Change) -> bool:
    """Whether golden or baseline say the same but for who accepted it."""
    path = Path(change.file)
    if path.parts[0] != "golden" or change.kind != pending.CHANGED:
        return False
    old, new = space.root / path, staged.root / path
    if path.parent.name == baselines.FOLDER:
        known, now = baselines.load(old), baselines.load(new)
        return known is not None and now is not None and replace(known, by=now.by, why=now.why) == now
    golden = goldens.load(new)
    return replace(goldens.load(old), by=golden.by, why=golden.why, rejected=golden.rejected) == golden
