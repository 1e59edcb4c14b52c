"""Proposals as text and as JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from harness.stages.review import differing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.stages.review.differing import FileChange, Line
    from harness.stores.goldens import Rejected
    from harness.stores.pending import Proposal

SHOWN = 20
"""Differences of one file that a review shows."""
_HASH = re.compile(r"[0-9a-f]{64}")
WIDTH = 72
"""Characters of a text that are shown."""


def heading(proposal: Proposal, stale: Sequence[str], rejected: Rejected | None) -> Iterator[str]:
    """What is proposed and what stands against it."""
    proof = "" if proposal.findings is None else f"; rendered from the mock library: {proposal.findings} findings"
    yield f"{proposal.id}: {proposal.why}{proof}"
    yield from (f"  stale: {file} changed since; have it proposed again (nvparity {proposal.by}) or reject it" for file in stale)
    if rejected is not None:
        yield f"  rejected before by {rejected.by}: {rejected.why}"


def summary(change: FileChange) -> str:
    """One file: the kind of change, its name, how much of it."""
    counts = [f"{change.count(kind)} {word}" for kind, word in _WORDS if change.count(kind)]
    return f"  {change.change.kind:<7}  {change.change.file}  {change.unit}: {', '.join(counts) or 'none, only the writing'}"


def diff(change: FileChange) -> Iterator[str]:
    """The differences of one file, the first of them."""
    for line in change.lines[:SHOWN]:
        yield f"    {_MARKS[line.kind]} {line.path}{gpus(line.gpus)}: {sides(line)}"
    if len(change.lines) > SHOWN:
        yield f"    and {len(change.lines) - SHOWN} more"


def gpus(numbers: Sequence[int]) -> str:
    """`` (GPU 0-3, 5)``; nothing for what belongs to no GPU."""
    if not numbers:
        return ""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " (GPU " + ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs) + ")"


def sides(line: Line) -> str:
    """The text, or the text before and after."""
    return " -> ".join(_short(text) for text in (line.old, line.new) if text is not None)


def document(proposal: Proposal, changes: Sequence[FileChange], stale: Sequence[str], rejected: Rejected | None) -> dict[str, Any]:
    """One proposal for JSON."""
    return {
        "id": proposal.id,
        "by": proposal.by,
        "why": proposal.why,
        "findings": proposal.findings,
        "stale": list(stale),
        "rejected": None if rejected is None else {"by": rejected.by, "why": rejected.why},
        "files": [
            {
                "file": change.change.file,
                "change": change.change.kind,
                "unit": change.unit,
                **{word: change.count(kind) for kind, word in _WORDS},
                "differences": [{"path": line.path, "gpus": list(line.gpus), "old": line.old, "new": line.new} for line in change.lines],
            }
            for change in changes
        ],
    }


def _short(text: str) -> str:
    """A text as it is shown: a hash by its first digits."""
    if _HASH.fullmatch(text):
        return f"{text[:12]}..."
    return repr(text if len(text) <= WIDTH else f"{text[:WIDTH]}...")


_WORDS = ((differing.APPEARS, "appear"), (differing.VANISHES, "vanish"), (differing.CHANGES, "change"))
_MARKS = {differing.APPEARS: "+", differing.VANISHES: "-", differing.CHANGES: "~"}
