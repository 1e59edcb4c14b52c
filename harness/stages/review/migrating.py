"""Files of the format before, rewritten in this one; what would say something else is proposed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.stages.compare import baselines
from harness.stages.importing import staging
from harness.stages.review import proposing
from harness.stores import captures, pending, viewruns
from harness.stores.golden_reader import sha256
from harness.stores.goldens import write_whole
from harness.stores.pending import Change, Proposal
from harness.stores.workspace import Workspace
from harness.tables import strictyaml
from harness.words import fileformat
from harness.words.errors import GateError, InputError, UsageError
from harness.words.fileformat import Formats

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROPOSED = ("golden", "profile", "baselines")
"""Kinds of files whose content is somebody's decision."""


@dataclass(frozen=True)
class Old:
    """A file of the format before: its path from the workspace's root, its kind, the number of its format, the text it shall have, and whether
    that ``says`` the same: a golden, baseline or profile that does not is proposed instead of rewritten.
    """

    file: Path
    kind: str
    number: int
    text: str
    says: bool

    @property
    def proposed(self) -> bool:
        """Whether somebody has to accept it."""
        return self.kind in _PROPOSED and not self.says


def find(space: Workspace, path: Path | None = None, formats: Formats | None = None) -> list[Old]:
    """The files of ``space`` (those at ``path`` or below it, where one is given) that are of the format before.

    Raises InputError for one that is newer, older than that, or has no format; UsageError for a path that holds no file of the workspace.
    """
    known = formats or fileformat.FORMATS
    chosen = [(file, kind) for file, kind in _files(space) if path is None or _within(space.root / file, path)]
    if path is not None and not chosen:
        raise UsageError(f"{path}: no file of captures/, profiles/ or golden/ in {space.root}")
    found = []
    for file, kind in chosen:
        text = _read(space.root / file)
        number = fileformat.number_of(text)
        if number is None and kind in ("profile", "boards", "rules"):
            continue  # a profile of another mock has none
        fileformat.check_format(number, f"{space.root / file}:1", known)
        if isinstance(number, int) and number != known.current:
            now = fileformat.upgraded(kind, text, known)
            found.append(Old(file, kind, number, now, now == fileformat.renumbered(text, known.current)))
    return found


def run(space: Workspace, found: list[Old]) -> list[str]:
    """Rewrite the files ``found`` in place, and propose those that would say something else; all or none.  The ids with a proposal.

    Raises GateError where another command's proposal for one of them is pending.
    """
    staging.sweep(space)
    by_id: dict[str, list[Old]] = {}
    for old in found:
        if old.proposed:
            by_id.setdefault(old.file.stem, []).append(old)
    waiting = [name for name in by_id if name in pending.ids(space) and pending.read(space, name).by != "migrate"]
    if waiting:
        raise GateError(f"{', '.join(waiting)}: another proposal is pending; accept or reject it first, nothing was written")
    with staging.stage(space) as staged:
        for old in found:
            target = staged.root / old.file
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, old.text.encode())
        proposals = [_proposal(space, name, olds) for name, olds in by_id.items()]
        places = [old.file for old in found if not old.proposed]
        proposing.lay_down(staged, proposals)
        staging.settle(staged, space, [*places, *(pending.place(proposal.id) for proposal in proposals)], ready=lambda: _unchanged(space, found))
    return list(by_id)


def _proposal(space: Workspace, name: str, olds: list[Old]) -> Proposal:
    changes = [Change(str(old.file), pending.digest(space.root / old.file), sha256(old.text.encode())) for old in olds]
    return Proposal(
        name, "migrate", f"format {olds[0].number} rewritten: {', '.join(old.kind for old in olds)} says something else", None, tuple(changes)
    )


def _unchanged(space: Workspace, found: list[Old]) -> None:
    moved = [str(old.file) for old in found if fileformat.number_of(_read(space.root / old.file)) != old.number]
    if moved:
        raise GateError(f"{', '.join(moved)}: changed meanwhile; nothing was written")


def _files(space: Workspace) -> Iterator[tuple[Path, str]]:
    """Every file of the workspace that has a format, from its root, with its kind."""
    named = [*((path, "transcript") for name in (captures.TRANSCRIPT, captures.LISTING) for path in space.captures.glob(f"*/{name}"))]
    recorded = ((captures.ANSWERS, "answers"), (captures.TIMELINE, "timeline"), (viewruns.VIEWS, "views"))
    named += [(path, kind) for name, kind in recorded for path in space.captures.glob(f"*/{name}")]
    named += [(path, "sidecar") for path in space.captures.glob(f"*/{captures.SIDECAR}")]
    named += [(path, "boards" if path.name == "boards.yaml" else "profile") for path in space.profiles.glob("*.yaml")]
    named += [(path, "node") for path in (space.profiles / "drivers").glob("*.yaml")]
    named += [(path, "rules" if path.name == "rules.yaml" else "golden") for path in space.golden.glob("*.yaml")]
    named += [(path, "baselines") for path in (space.golden / baselines.FOLDER).glob("*.yaml")]
    hidden = [(path, kind) for path, kind in named if not any(part.startswith(".") for part in path.relative_to(space.root).parts)]
    yield from sorted((path.relative_to(space.root), kind) for path, kind in hidden)


def _within(file: Path, path: Path) -> bool:
    return path.resolve() in (file.resolve(), *file.resolve().parents)


def _read(path: Path) -> str:
    try:
        return strictyaml.read_file(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8") from error
