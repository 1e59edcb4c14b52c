"""Cards and their MIG instances as `nvidia-smi -L` lists them.

    GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-00000001-...)
      MIG 3g.40gb     Device  0: (UUID: MIG-00000002-...)

A line reader of its own beside `harness.text.listing`, which holds whole captures: this one takes any text a command left, drops what is no row, and
knows a MIG row by the white space before it.  Source: the discovery document and the ledger's rows DM21 to DM33.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter

from harness.text import lost, rawbytes
from harness.text.lost import LostGpu

MAX_DIGITS = 9
"""More digits than any index has; a longer number is no row."""

_GPU = re.compile(rf"GPU ([0-9]{{1,{MAX_DIGITS}}}):(?: (.*?))?(?: \(UUID: ([^)\s]+)\).*)?\s*")
_MIG = re.compile(rf"\s+MIG\s+(\S+)\s+Device\s+([0-9]{{1,{MAX_DIGITS}}}):\s*\(UUID:\s*([^)\s]+)\).*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ListedMig:
    """A MIG instance: its number on the card, its profile as printed, its UUID byte for byte (before R470 ``MIG-GPU-<uuid>/<gi>/<ci>``)."""

    device: int
    profile: str
    uuid: str


@dataclass(slots=True)
class ListedCard:
    """A card: index, name and UUID (``""`` where the row has none), its instances by device number."""

    index: int
    name: str
    uuid: str
    instances: list[ListedMig] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list says: its cards by index, in the text's order, and the cards that a line says have no handle."""

    cards: dict[int, ListedCard]
    lost: tuple[LostGpu, ...] = ()

    @property
    def instances(self) -> dict[int, list[ListedMig]]:
        """The instances by card index; a card without any is absent."""
        return {index: card.instances for index, card in self.cards.items() if card.instances}


def read(text: str | bytes) -> Listed:
    """What ``text`` lists.  Never raises: what is no row is dropped, and a MIG row before any card's, too.

    A card whose row repeats goes on; instances are sorted by device number, gaps are kept.
    """
    cards: dict[int, ListedCard] = {}
    gone: list[LostGpu] = []
    current: ListedCard | None = None
    for line in _lines(text):
        if (gpu := _GPU.fullmatch(line)) is not None:
            current = cards.setdefault(int(gpu[1]), ListedCard(int(gpu[1]), (gpu[2] or "").strip(), gpu[3] or ""))
        elif (mig := _MIG.fullmatch(line)) is not None and current is not None:
            current.instances.append(ListedMig(int(mig[2]), mig[1], mig[3]))
        elif (away := lost.parse(line)) is not None:
            gone.append(away)
    for card in cards.values():
        card.instances.sort(key=attrgetter("device"))
    return Listed(cards, tuple(gone))


def _lines(text: str | bytes) -> Iterator[str]:
    whole = rawbytes.decode(text) if isinstance(text, bytes) else text
    yield from whole.removeprefix("\ufeff").split("\n")
