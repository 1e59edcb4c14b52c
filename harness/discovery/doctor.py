"""Each card's MIG mode, instances, GPU and compute instances, and the states in which nothing can run: the ledger's rows DM87 to DM99."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.discovery import listed, outlined, problems, reported, rows
from harness.discovery.listed import ListedMig
from harness.discovery.model import UNKNOWN
from harness.discovery.reported import MODES, Reported
from harness.discovery.rows import Row
from harness.discovery.texts import Texts, places
from harness.text import outline
from harness.words.errors import InputError


@dataclass(frozen=True, slots=True)
class MigCard:
    """One card that has a MIG mode.

    index:       its place in the report, which is nvidia-smi's index; where the report is of some cards only, that of the listed card of its UUID
    enabled, pending_enabled:  the mode in force, and the one from the next reset on
    instances:   the devices that a process can be given, as `-L` lists them
    gpu_instances, compute_instances:  rows of `mig -lgi` and `mig -lci`; a GPU instance without a compute instance is no device yet
    unnamed:     how many devices the report has where `-L` names none
    listed:      was there a text of `mig -lci`?  Without one, a card that has devices may have them in any of its GPU instances
    """

    index: int
    name: str
    enabled: bool
    pending_enabled: bool
    instances: tuple[ListedMig, ...] = ()
    gpu_instances: tuple[Row, ...] = ()
    compute_instances: tuple[Row, ...] = ()
    unnamed: int = 0
    listed: bool = True

    def to_dict(self) -> dict[str, Any]:
        """The card for JSON: name and lists are left out when they are empty (ledger DM92)."""
        lists = {
            "instances": [{"device": one.device, "profile": one.profile, "uuid": one.uuid} for one in self.instances],
            "gpu_instances": [row.to_dict() for row in self.gpu_instances],
            "compute_instances": [row.to_dict() for row in self.compute_instances],
        }
        named = {"name": self.name} if self.name else {}
        modes = {"enabled": self.enabled, "pending_enabled": self.pending_enabled}
        return {"index": self.index, **named, **modes, **{name: entries for name, entries in lists.items() if entries}}

    @property
    def warnings(self) -> tuple[str, ...]:
        """The states of this card in which nothing, or not all, can run."""
        return tuple(_warnings(self))


def examine(texts: Texts, *, compatible: bool = False) -> list[MigCard]:
    """The cards of ``texts`` that have a MIG mode (Enabled, Disabled, or to be enabled), in the report's order.

    A text other than the report that is missing leaves its lists empty.  Raises InputError without a report, and for one that cannot be read: nothing
    else is an error.
    """
    ended_well = texts.of_commands_that_ended_well()
    data = ended_well.report
    if data is None:
        raise InputError(f"nvidia-smi -q -x: {texts.reason('-q -x')}; without its report no card's MIG mode is known")
    texts = ended_well if compatible else texts
    report = outlined.read(data) if outline.is_one(data) and not compatible else reported.read(data, compatible=compatible)
    known = listed.read(texts.listing or b"", compatible=compatible)
    named = known.instances
    created, computing = map(_by_card, _rows(texts, named, compatible=compatible))
    told = texts.compute_instances is not None
    found: list[MigCard] = []
    for place, (index, entry) in enumerate(zip(places(known, report.cards, compatible=compatible), report.cards, strict=True)):
        if _has_mode(entry) and index is None:  # not the card that the list and the tables have in its place
            found.append(replace(_card(place, entry, (), (), ()), listed=False))
        elif _has_mode(entry) and index is not None:
            mine = (named.get(index, ()), created.get(index, ()), computing.get(index, ()))
            found.append(replace(_card(index, entry, *mine), listed=told))
    return found


def _by_card(listed_rows: Sequence[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in listed_rows:
        found.setdefault(row.gpu, []).append(row)
    return found


def _rows(texts: Texts, named: Mapping[int, Sequence[ListedMig]], *, compatible: bool) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """The rows of `mig -lgi` and `-lci`; names that the tables cut are completed where they can be, not in compatible mode."""
    created = rows.read(texts.gpu_instances or b"", compatible=compatible).rows
    computing = rows.read(texts.compute_instances or b"", compatible=compatible).rows
    if compatible:
        return created, computing
    profiles = {card: {one.profile for one in devices} for card, devices in named.items()}
    created = rows.completed(created, profiles)
    return created, rows.completed(computing, profiles, created)


def _has_mode(entry: Reported) -> bool:
    return entry.pending_enabled or entry.current.lower() in MODES


def _card(place: int, entry: Reported, named: Sequence[ListedMig], created: Sequence[Row], computing: Sequence[Row]) -> MigCard:
    return MigCard(
        place,
        entry.name,
        entry.enabled,
        entry.pending_enabled,
        tuple(named),
        tuple(row for row in created if row.compute_instance == UNKNOWN),
        tuple(row for row in computing if row.compute_instance != UNKNOWN),
        0 if named else len(entry.instances),
    )


def _warnings(card: MigCard) -> Iterator[str]:
    if card.enabled != card.pending_enabled:
        words = {True: "on", False: "off"}
        yield problems.PENDING.format(pending=words[card.pending_enabled], current=words[card.enabled])
    if not card.enabled:
        return
    if card.unnamed:
        yield problems.UNNAMED
    full = {row.gpu_instance for row in card.compute_instances}
    hollow = [row.gpu_instance for row in card.gpu_instances if row.gpu_instance not in full]
    known = card.listed or not (card.instances or card.unnamed)
    if hollow and known:
        yield problems.NO_COMPUTE_INSTANCE.format(ids=",".join(map(str, hollow)))
    elif not card.instances and not card.unnamed:
        yield problems.NO_INSTANCES
