"""The numbers that placement knows a node's devices by, and how they are shown.

A card keeps its nvidia-smi index.  A MIG instance has none of its own: it gets 1000 + 100 x card + device, which no card has.
Source: the MIG discovery document and the ledger's rows DM01 to DM04.
"""

from __future__ import annotations

from collections.abc import Iterable

FIRST_INSTANCE = 1000
"""The least number of an instance; every number below it is a card's."""
PER_CARD = 100
"""Numbers that each card has for its instances."""


def instance_index(card: int, device: int, *, compatible: bool = False) -> int:
    """The number of MIG device ``device`` of card ``card``: (0, 2) is 1002, (3, 0) is 1300.

    Raises ValueError for a device that has no number of its own (100 and up would be the next card's 0, and negative ones the card's before);
    ``compatible`` gives the colliding number, as the source does.
    """
    if not compatible and (not 0 <= device < PER_CARD or card < 0):
        raise ValueError(f"card {card} device {device}: a device is numbered from 0 to {PER_CARD - 1}, a card from 0")
    return FIRST_INSTANCE + PER_CARD * card + device


def is_instance(index: int) -> bool:
    """Is ``index`` the number of a MIG instance?"""
    return index >= FIRST_INSTANCE


def label(index: int) -> str:
    """A device number as people read it: ``3`` for a card, ``0/mig2`` for device 2 of card 0."""
    if not is_instance(index):
        return str(index)
    card, device = divmod(index - FIRST_INSTANCE, PER_CARD)
    return f"{card}/mig{device}"


def labels(indices: Iterable[int]) -> list[str]:
    """``label`` of each, in order."""
    return [label(index) for index in indices]
