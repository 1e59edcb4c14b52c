"""Which GPU of the node each block of a capture is, and what is known of the node's other GPUs: lost ones, and those the capture left out."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from harness.stores.schema import codec
from harness.text import lost
from harness.text.listing import ListedGpu
from harness.words.errors import InputError
from harness.words.state import State

if TYPE_CHECKING:
    from harness.tables.drivers import Driver
    from harness.text.listing import Listing
    from harness.text.lost import LostGpu
    from harness.text.model import Node
    from harness.text.outline import Queried

MOST = 255
"""The most GPUs that a profile says a node has (configuration reference, num_devices)."""


@dataclass(frozen=True)
class Absent:
    """A GPU of the node of which the capture has no block: ``state`` uncaptured or that of its handle, ``address`` on the PCI bus where known."""

    state: State
    address: str | None = None


@dataclass(frozen=True)
class Gpus:
    """``indices``: NVML index of each block, in order.  ``others``: index -> GPU without a block.  ``notes``: what a report should say of these."""

    indices: tuple[int, ...]
    others: dict[int, Absent] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many GPUs the node has."""
        return len(self.indices) + len(self.others)


def of_query(document: Queried, driver: Driver) -> Gpus:
    """The GPUs of the node that ``document`` was printed on; ``driver`` is as that view has it.

    ``attached_gpus`` says how many there are; those without a block and without a line of their own are uncaptured.  A GPU's index is its minor
    number where those of all blocks can be indices; else the blocks are the first GPUs, in the order of the PCI bus, which is NVML's.
    """
    blocks = document.gpus
    told = _Told(driver)
    entries: list[int | LostGpu] = list(range(len(blocks)))
    for gpu in document.lost:
        after = [place for place, entry in enumerate(entries) if isinstance(entry, int) and _later(told.address(blocks[entry]), gpu.address)]
        entries.insert(after[0] if after else len(entries), gpu)
    said = document.get(told.attached) or ""
    attached = int(said) if said.isascii() and said.isdigit() and len(said) < 9 else len(entries)
    count = attached if len(entries) <= attached <= MOST else len(entries)
    minors = [_number(blocks[entry].get(told.minor)) if isinstance(entry, int) else None for entry in entries]
    places = _by_minor(entries, minors, count) if count > len(entries) else None
    known = list(range(len(entries))) if places is None else places
    made = _made(entries, known, count, driver)
    if count == len(entries):
        return made
    left = ", ".join(str(index) for index, absent in made.others.items() if absent.state is State.UNCAPTURED)
    ground = "as the minor numbers of the others tell" if places is not None else "the last ones, for nothing tells which"
    note = f"{told.attached} says {attached}, the capture holds {len(blocks)}: GPUs {left} are uncaptured ({ground})"
    return replace(made, notes=(note, *made.notes))


class _Told:
    """Where ``driver`` prints what tells the GPUs: number of them, minor number, address."""

    def __init__(self, driver: Driver) -> None:
        places = [driver.layout.place_of(row) or "" for row in ("system.num_devices", "minor_number", "pci.bus_id")]
        self.attached, self.minor, self._bus_id = (place.removeprefix("gpu/") for place in places)

    def address(self, block: Node) -> str | None:
        """The PCI address of a GPU block: as the element has it, else as its heading."""
        return block.get(self._bus_id) or next(iter(block.attributes.values()), None)


def of_list(listing: Listing, driver: Driver) -> Gpus:
    """The GPUs of the node that ``listing`` was printed on: a number that it skips is that of a lost GPU where it has a line for it, else uncaptured.

    Raises InputError for numbers that do not rise.
    """
    numbers = [row.index for row in listing.gpus]
    if numbers != sorted(set(numbers)):
        raise InputError(f"the list has GPUs {', '.join(map(str, numbers))}: numbers that do not rise cannot be served")
    known: list[int] = []
    entries: list[int | LostGpu] = []
    for row in listing.rows:
        if isinstance(row, ListedGpu):
            entries.append(sum(1 for entry in entries if isinstance(entry, int)))
            known.append(row.index)
        elif (gpu := lost.parse(row.text)) is not None:
            entries.append(gpu)
            known.append(next(index for index in itertools.count(max(known, default=-1) + 1) if index not in numbers))
    count = max(known, default=-1) + 1
    if count > MOST:
        raise InputError(f"the list has GPU {count - 1}: a profile has at most {MOST} GPUs")
    made = _made(entries, known, count, driver)
    left = ", ".join(str(index) for index, absent in made.others.items() if absent.state is State.UNCAPTURED)
    return replace(made, notes=(f"the list skips GPUs {left}: they are uncaptured", *made.notes)) if left else made


def state_of(reason: str, driver: Driver) -> State | None:
    """The state that the driver's ``reason`` for a missing handle stands for, None for words that no code has.

    A reason may say more than the text of its code: ``GPU is lost.  Reboot the system to recover this GPU``.
    """
    told = [(len(text), code) for code, text in driver.texts.items() if text and reason.casefold().startswith(text.casefold())]
    return State.of_code(max(told)[1]) if told else None


def _made(entries: Sequence[int | LostGpu], known: Sequence[int], count: int, driver: Driver) -> Gpus:
    """The GPUs of which ``known`` are the indices of ``entries``; all others of ``count`` are uncaptured."""
    others = {index: Absent(State.UNCAPTURED) for index in range(count) if index not in known}
    notes = []
    for index, entry in zip(known, entries, strict=True):
        if isinstance(entry, int):
            continue
        state = state_of(entry.reason, driver)
        others[index] = Absent(state or State.UNKNOWN_ERROR, _address(entry.address))
        told = f"its handle answers {others[index].state.value}" + ("" if state else ", for the reason is no text of a code")
        notes.append(f"GPU {index} ({entry.address}) is not there: {entry.reason!r}; {told}")
    indices = tuple(index for index, entry in zip(known, entries, strict=True) if isinstance(entry, int))
    return Gpus(indices, dict(sorted(others.items())), tuple(notes))


def _by_minor(entries: Sequence[int | LostGpu], minors: Sequence[int | None], count: int) -> list[int] | None:
    """The index of each entry where the minor numbers tell them all; a lost GPU, which shows none, takes the number behind the one before it."""
    if not any(minor is not None for minor in minors):
        return None
    found: list[int] = []
    for entry, minor in zip(entries, minors, strict=True):
        least = found[-1] + 1 if found else 0
        index = least if minor is None and not isinstance(entry, int) else minor
        if index is None or not least <= index < count:
            return None
        found.append(index)
    return found


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 4 else None


def _address(text: str | None) -> str | None:
    """``text`` where it is a PCI address."""
    try:
        codec.bus_id(text or "")
    except InputError:
        return None
    return text


def _later(text: str | None, address: str) -> bool:
    """Whether the GPU at ``text`` is known to come after the one at ``address`` on the bus."""
    one, other = _address(text), _address(address)
    return one is not None and other is not None and codec.bus_id(one) > codec.bus_id(other)


def entries(gpus: Gpus) -> list[dict[str, Any]]:
    """The profile's entries of the GPUs without a block."""
    return [
        {"index": index, "state": absent.state.value, **({"pci": {"bus_id": absent.address}} if absent.address is not None else {})}
        for index, absent in gpus.others.items()
    ]
