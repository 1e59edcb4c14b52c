"""What a name on the command line means: an id, a short name of profiles/boards.yaml, or a board that only one capture is of."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from harness.words.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

SHOWN = 4
"""Near names given for one that means nothing."""


def board_of(name: str) -> str:
    """The board in an id (``t4`` of ``t4-x1_595.91.07``); an id that does not say its board is one of its own."""
    match = re.fullmatch(r"(.+)-x[0-9]+_.+", name)
    return match[1] if match else name


def of_board(reference: str, ids: Iterable[str]) -> list[str]:
    """The ids of the board ``reference``, sorted."""
    return sorted(name for name in ids if board_of(name) == reference)


def find(reference: str, ids: Collection[str], short: Mapping[str, str]) -> str | None:
    """The one id that ``reference`` means, None where it means none; a short name wins over a board.

    Raises InputError with the candidates for a board of several.
    """
    if reference in ids:
        return reference
    if short.get(reference) in ids:
        return short[reference]
    candidates = of_board(reference, ids)
    if len(candidates) > 1:
        raise InputError(f"{reference!r} is the board of {len(candidates)}: {', '.join(candidates)}; name one of them")
    return candidates[0] if candidates else None


def near(reference: str, known: Iterable[str]) -> str:
    """`` (did you mean 'a' or 'b'?)`` with names that contain ``reference``, else the nearest; empty where none is near."""
    folded: dict[str, str] = {}
    for name in sorted(known, key=lambda name: (len(name), name)):
        for text in (name, board_of(name)):
            folded.setdefault(text.lower(), name)
    wanted = reference.lower()
    found = [text for text in folded if len(wanted) > 1 and wanted in text] or difflib.get_close_matches(wanted, folded, n=SHOWN, cutoff=0.6)
    names = list(dict.fromkeys(folded[text] for text in found))[:SHOWN]
    return f" (did you mean {' or '.join(map(repr, names))}?)" if names else ""
