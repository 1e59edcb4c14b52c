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

from harness.discovery.blanks import BETWEEN
from harness.text import lost, rawbytes
from harness.text.lost import LostGpu

MAX_DIGITS = 9
"""More digits than any index has; an instance with a longer one is no row, and those of a card with a longer one are dropped with it."""

_GPU = re.compile(r"GPU ([0-9]+):(.*)")
_CARD = re.compile(r"(.*?)(?: \(UUID: ([^)\s]+)\).*)?")


def _mig_row(blank: str) -> re.Pattern[str]:
    """The row of an instance, with the characters ``blank`` between its words."""
    uuid = rf"\(UUID:[{blank}]*([^){blank}]+)\)"
    return re.compile(rf"[{blank}]+MIG[{blank}]+([^{blank}]+)[{blank}]+Device[{blank}]+([0-9]{{1,{MAX_DIGITS}}}):[{blank}]*{uuid}")


_MIG_ROWS = {compatible: _mig_row(blank) for compatible, blank in BETWEEN.items()}


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


def read(text: str | bytes, *, compatible: bool = False) -> Listed:
    """What ``text`` lists.  Never raises: what is no row is dropped, and a MIG row before any card's, too.

    A card whose row repeats goes on; instances are sorted by device number, gaps are kept.  ``compatible`` takes the white space of ASCII alone for
    such, and a byte order mark for text.
    """
    cards: dict[int, ListedCard] = {}
    gone: list[LostGpu] = []
    current: ListedCard | None = None
    instance = _MIG_ROWS[compatible]
    for line in _lines(text, compatible=compatible):
        if (gpu := _GPU.match(line)) is not None:
            current = _card(cards, gpu[1], gpu[2])
        elif (mig := instance.match(line)) is not None and current is not None:
            current.instances.append(ListedMig(int(mig[2]), mig[1], mig[3]))
        elif (away := lost.parse(line)) is not None:
            gone.append(away)
    for card in cards.values():
        card.instances.sort(key=attrgetter("device"))
    return Listed(cards, tuple(gone))


def _card(cards: dict[int, ListedCard], number: str, rest: str) -> ListedCard | None:
    """The card of a row, a new one where it is not listed yet; None for a number that no card has."""
    if len(number) > MAX_DIGITS:
        return None
    said = _CARD.fullmatch(rest.strip())
    name, uuid = (said[1], said[2]) if said else (rest, "")
    return cards.setdefault(int(number), ListedCard(int(number), name.strip(), uuid or ""))


def _lines(text: str | bytes, *, compatible: bool) -> Iterator[str]:
    whole = rawbytes.decode(text) if isinstance(text, bytes) else text
    yield from (whole if compatible else whole.removeprefix("\ufeff")).split("\n")
