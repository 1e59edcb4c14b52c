"""`-q -x` and `-L` of one node: the same GPUs, by UUID and index, or an error that lists both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.text.document import TRIMMED
from harness.words.errors import InputError

if TYPE_CHECKING:
    from harness.text.document import Document
    from harness.text.listing import Listing

Gpus = dict[int, tuple[str, str]]
"""Index -> UUID and name."""


def join(query: Document, listed: Listing, names: tuple[str, str]) -> None:
    """Check that both texts speak of the same GPUs; ``names`` are the two files'.

    A text that left GPUs out (trimmed) is held against the GPUs it has.  Raises InputError with one line that lists every disagreement.
    """
    ours = {index: (block.get("uuid") or "", block.get("product_name") or "") for index, block in enumerate(query.gpus)}
    theirs = {row.index: (row.uuid, row.name) for row in listed.gpus}
    if query.kind == TRIMMED:
        ours = _by_uuid(ours, theirs)
    found = []
    for index in sorted({*ours, *theirs}):
        if query.kind == TRIMMED and index not in ours:
            continue
        if listed.kind == TRIMMED and index not in theirs:
            continue
        mine, other = ours.get(index), theirs.get(index)
        if mine != other:
            found.append(f"GPU {index}: {names[0]} has {_shown(mine)}, {names[1]} has {_shown(other)}")
    if found:
        raise InputError(f"{names[0]} and {names[1]} are not of one node: {'; '.join(found)}")


def _by_uuid(ours: Gpus, theirs: Gpus) -> Gpus:
    """The GPUs of a trimmed query under the numbers that the list gives their UUIDs."""
    number = {uuid: index for index, (uuid, _) in theirs.items()}
    return {number.get(uuid, index): (uuid, name) for index, (uuid, name) in ours.items()}


def _shown(gpu: tuple[str, str] | None) -> str:
    return "no such GPU" if gpu is None else f"{gpu[1]} ({gpu[0]})"
