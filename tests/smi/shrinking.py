"""Make a profile that fails smaller while it still fails: fewer GPUs, fewer keys, shorter lists."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

Document = dict[str, Any]
Step = str | int
NEEDED = frozenset((("format",), ("version",), ("system",), ("system", "driver_version"), ("devices",)))
"""What a profile cannot be without."""
MOST_TRIES = 2000


def shrink(document: Document, fails: Callable[[Document], bool], tries: int = MOST_TRIES) -> Document:
    """A smallest document that still ``fails``: nothing can be taken out of it; after ``tries`` attempts what there is then.

    ``fails`` must be False, not raise, for a document that is no profile.
    """
    left = tries
    smaller = True
    while smaller:
        smaller = False
        for candidate in _candidates(document):
            if left == 0:
                return document
            left -= 1
            if fails(candidate):
                document, smaller = candidate, True
                break
    return document


def _candidates(document: Document) -> Iterator[Document]:
    """The document with something taken out, the largest parts first."""
    places = sorted(_places(document, ()), key=lambda place: (len(place), place[-1] if isinstance(place[-1], int) else 0))
    for depth in sorted({len(place) for place in places}):
        siblings: dict[tuple[Step, ...], list[tuple[Step, ...]]] = {}
        for place in places:
            if len(place) == depth:
                siblings.setdefault(place[:-1], []).append(place)
        for group in siblings.values():
            size = len(group)
            while size >= 1:
                for start in range(0, len(group), size):
                    yield without(document, group[start : start + size])
                size //= 2


def _places(value: Any, path: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """The paths of everything that can be taken out."""
    entries: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in entries:
        where = (*path, step)
        if where not in NEEDED and step != "index":
            yield where
        yield from _places(inner, where)


def without(document: Document, places: list[tuple[Step, ...]]) -> Document:
    """A copy of ``document`` without what stands at ``places``, which are siblings; a mapping or list left empty stays."""
    made = copy.deepcopy(document)
    for place in reversed(places):
        value: Any = made
        for step in place[:-1]:
            value = value[step]
        del value[place[-1]]
    return made
