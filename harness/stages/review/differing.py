"""What a proposal changes, entry by entry: readings of a transcript, keys of a profile, hashes of a golden; GPUs that say the same grouped."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.stages.importing import source
from harness.stores import captures, golden_reader, pending
from harness.tables import strictyaml
from harness.text import transcript

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.stores.pending import Change, Proposal
    from harness.stores.workspace import Workspace

APPEARS, VANISHES, CHANGES = "appears", "vanishes", "changes"
_GPU = re.compile(r"^(gpu|devices)\[([0-9]+)\]")
_UNITS = {"captures": "facts", "golden": "hashes", "profiles": "keys"}


@dataclass(frozen=True)
class Line:
    """One difference: ``path`` without the number of the GPU, which ``gpus`` have it (none: it is the node's), the text before and after (None
    where there is none).
    """

    path: str
    gpus: tuple[int, ...]
    old: str | None
    new: str | None

    @property
    def kind(self) -> str:
        """``appears``, ``vanishes`` or ``changes``."""
        return APPEARS if self.old is None else VANISHES if self.new is None else CHANGES


@dataclass(frozen=True)
class FileChange:
    """What a proposal does to one file: the kind of ``change``, what its entries are called (``unit``) and the ``lines``."""

    change: Change
    unit: str
    lines: tuple[Line, ...]

    def count(self, kind: str) -> int:
        """How many entries appear, vanish or change, each GPU's counted."""
        return sum(max(1, len(line.gpus)) for line in self.lines if line.kind == kind)


def of(space: Workspace, proposal: Proposal) -> list[FileChange]:
    """The changes of ``proposal``, readings first, then what follows from them.  Raises InputError for a file that cannot be read as what it is."""
    return [_file(space, proposal, change) for change in sorted(proposal.changes, key=lambda change: (_rank(change.file), change.file))]


def _rank(file: str) -> int:
    path = Path(file)
    return 0 if path.suffix == ".txt" else ("profiles", "golden", "captures").index(path.parts[0]) + 1


def lines(old: dict[str, str], new: dict[str, str]) -> list[Line]:
    """The differences between two sets of entries by path, in the order of the new one, what vanishes last; equal ones of several GPUs are one."""
    grouped: dict[tuple[str, str | None, str | None], list[int]] = {}
    for path in [*new, *(path for path in old if path not in new)]:
        before, after = old.get(path), new.get(path)
        if before == after:
            continue
        match = _GPU.match(path)
        plain = _GPU.sub(r"\1", path) if match else path
        grouped.setdefault((plain, before, after), []).extend([int(match.group(2))] if match else [])
    return [Line(path, tuple(gpus), before, after) for (path, before, after), gpus in grouped.items()]


def entries(path: Path, data: bytes | None) -> dict[str, str]:
    """Path -> text of what a file says; empty for None."""
    if data is None:
        return {}
    if path.suffix == ".txt" and path.name not in (captures.TRANSCRIPT, captures.OUTLINE, captures.LISTING):
        return _plain(path, data)
    if path.suffix == ".txt":
        return dict(source.leaves(transcript.load(data.decode(errors="replace"), str(path))))
    return dict(_flat(strictyaml.load(data, str(path)).value, ""))


def _plain(path: Path, data: bytes) -> dict[str, str]:
    """Answers by call; the lines of any other text by their number."""
    if path.name == captures.ANSWERS:
        return dict(golden_reader.leaves(data))
    return {f"line {number}": line for number, line in enumerate(data.decode(errors="replace").splitlines(), 1)}


def _file(space: Workspace, proposal: Proposal, change: Change) -> FileChange:
    path = Path(change.file)
    sides = (
        space.root / path if change.old is not None else None,
        space.root / pending.place(proposal.id) / path if change.new is not None else None,
    )
    read = [entries(path, strictyaml.read_file(side) if side is not None and side.is_file() else None) for side in sides]
    texts = {captures.TRANSCRIPT: "readings", captures.OUTLINE: "readings", captures.LISTING: "readings", captures.ANSWERS: "answers"}
    unit = texts.get(path.name) or ("lines" if path.suffix == ".txt" else _UNITS[path.parts[0]])
    return FileChange(change, unit, tuple(lines(read[0], read[1])))


def _flat(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """The scalars of a YAML document; a list of numbers or words is one, mappings and hashes in a list count by their index."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}/{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(item, dict) or len(str(item)) == 64 for item in value):
        for number, inner in enumerate(value):
            yield from _flat(inner, f"{path}[{number}]")
    else:
        yield path, str(value)
