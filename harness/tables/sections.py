"""Sections: what `nvidia-smi -q -d SECTION,...` leaves of the tree that `-q` prints."""

from __future__ import annotations

from collections.abc import Collection

from harness.tables.layout import Element, with_children
from harness.words.errors import UsageError, did_you_mean


def names(root: Element) -> tuple[str, ...]:
    """The sections that a driver's text has, in the order in which they are first printed."""
    return tuple(dict.fromkeys(name for _, element in root.walk() for name in element.display))


def parse(given: str, root: Element, driver: str) -> tuple[str, ...]:
    """The sections of ``MEMORY,ECC``; UsageError for one that ``driver`` does not have, and for none at all.

    As every binary takes them: in small letters too, and what is empty between commas says nothing.
    """
    known = names(root)
    wanted = tuple(name.upper() for name in given.split(",") if name)
    for name in wanted or ("",):
        if name not in known:
            raise UsageError(f"driver {driver} has no section {name[:40]!r} of -q{did_you_mean(name, known)}; it has {', '.join(known)}")
    return wanted


def select(root: Element, wanted: Collection[str]) -> Element:
    """``root`` with what `-d` of the sections ``wanted`` prints; without any, with what plain `-q` prints.

    What stands at the root (the head of the text, the GPUs) is always printed; of what is in it, that which names a wanted section, with all below.
    """
    children = tuple(_select(child, frozenset(wanted)) for child in root.children)
    return with_children(root, children)


def _select(element: Element, wanted: frozenset[str]) -> Element:
    return with_children(element, tuple(child for child in element.children if _shown(child, wanted)))


def _shown(element: Element, wanted: frozenset[str]) -> bool:
    return bool(wanted & frozenset(element.display)) if wanted else not element.on_request
