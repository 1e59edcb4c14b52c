"""The ring of events in a state: the newest of what its writers told, the oldest of them written over (src/ring.c).

An event that is of a change of its device's record is there once that change is in force (``commit``), whether its writer lived to count it or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mocklib.statefile import StateFile
from mocklib.structs import constants

HALF = 1 << 32


def of(opened: StateFile) -> Any:
    """The ring."""
    return opened.ffi.cast("struct nvp_events *", opened.base + int(opened.head.events))


def slot(ring: Any, sequence: int) -> Any:
    """Where the event of a sequence stands."""
    return ring.event[sequence % constants()["NVP_EVENT_COUNT"]]


def _committed(opened: StateFile, entry: Any) -> bool:
    """Whether the change that an event is of is in force."""
    if not entry.commit or entry.device >= opened.head.record_count - 1:
        return not entry.commit
    return (int(opened.record(entry.device + 1).generation) - int(entry.commit)) % HALF < HALF // 2


def _behind(ring: Any) -> Iterator[int]:
    """The sequences behind the newest that is counted, of events that a writer made."""
    first = int(ring.newest) + 1
    for sequence in range(first, first + constants()["NVP_EVENT_COUNT"]):
        if slot(ring, sequence).sequence != sequence:
            return
        yield sequence


def newest(opened: StateFile) -> int:
    """The sequence of the newest event that is there; 0 where there was none."""
    ring = of(opened)
    found = int(ring.newest)
    for sequence in _behind(ring):
        if not _committed(opened, slot(ring, sequence)):
            break
        found = sequence
    return found


def settle(opened: StateFile) -> None:
    """Before a write, the lock held: count what a killed writer made where its change is in force, else take it away, the last first."""
    ring, last = of(opened), newest(opened)
    gone = [sequence for sequence in _behind(ring) if sequence > last]
    if last != ring.newest:
        opened.put(ring, newest=last)
    for sequence in reversed(gone):
        opened.put(slot(ring, sequence), sequence=0)


def append(opened: StateFile, **members: int) -> int:
    """One more event, there by itself; its sequence."""
    ring = of(opened)
    sequence = int(ring.newest) + 1
    entry = slot(ring, sequence)
    opened.put(entry, sequence=0)
    opened.put(entry, commit=0, **members)
    opened.put(entry, sequence=sequence)
    opened.put(ring, newest=sequence)
    return sequence


def entries(opened: StateFile) -> list[Any]:
    """The events that are there, the oldest first."""
    ring, last = of(opened), newest(opened)
    found = [slot(ring, sequence) for sequence in range(max(1, last - constants()["NVP_EVENT_COUNT"] + 1), last + 1)]
    return sorted((entry for entry in found if 0 < entry.sequence <= last), key=lambda entry: entry.sequence)
