"""A node from nvidia-smi's texts: its cards, then what MIG makes of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from harness.discovery import classes, combining, listed, numbers, outlined, problems, reported, rows
from harness.discovery.combining import Halves
from harness.discovery.listed import Listed, ListedCard
from harness.discovery.model import Gpu, Health, Node
from harness.discovery.reported import Report, Reported
from harness.text import listing, outline, rawbytes, refusals
from harness.words.errors import InputError

VIEW_LIST, VIEW_REPORT = "-L", "-q -x"
_NO_DEVICES = re.compile(rb"^No devices (?:were )?found", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Texts:
    """The outputs of `nvidia-smi -L`, `-q -x`, `mig -lgi` and `mig -lci`; None for one that there is not, and then ``missing`` may say why.

    ``missing``: name of the view (``-L``) -> the reason in one line.  ``failed``: the same of a text whose command failed behind it, as nvidia-smi
    does on a node that has a card without a handle.
    """

    listing: bytes | None = None
    report: bytes | None = None
    gpu_instances: bytes | None = None
    compute_instances: bytes | None = None
    missing: tuple[tuple[str, str], ...] = ()
    failed: tuple[tuple[str, str], ...] = ()

    def reason(self, view: str) -> str:
        """Why there is no text of ``view``."""
        return dict((*self.missing, *self.failed)).get(view, "it was not given")

    def of_commands_that_ended_well(self) -> Texts:
        """Without the list and the report of a command that failed: those are missing."""
        failed = dict(self.failed)
        listing, report = (None if view in failed else text for view, text in ((VIEW_LIST, self.listing), (VIEW_REPORT, self.report)))
        return replace(self, listing=listing, report=report)


def discover(texts: Texts, *, compatible: bool = False) -> Node:
    """The devices of the node that ``texts`` are of.  Never raises: a text that is missing or torn leaves its half empty.

    The node's problems say what was missing; compatible mode has none, and drops an unreadable report without a word as its source does (ledger
    DM64, DM65).
    """
    if compatible:
        texts = texts.of_commands_that_ended_well()
    named = listed.read(texts.listing or b"", compatible=compatible)
    said = [problems.NO_LIST.format(reason=reason)] if (reason := _unlisted(texts, named)) else []
    report, error = _report(texts, compatible=compatible)
    if error:
        said.append(problems.NO_REPORT.format(reason=error))
    said.extend(problems.FAILED.format(reason=reason) for _, reason in texts.failed)
    said.extend(problems.LOST.format(address=gone.address, reason=gone.reason) for gone in named.lost)
    entries = report.cards if report else ()
    cards = list(_cards(named, report, compatible=compatible))
    if not compatible:
        said.extend(_strangers(named, entries))
        cards, too_many = [card for card in cards if card.index < numbers.FIRST_INSTANCE], len(cards)
        if len(cards) < too_many:
            said.append(problems.NO_CARD_NUMBER.format(count=too_many - len(cards), first=numbers.FIRST_INSTANCE))
    halves = Halves(named.instances, entries, rows.read(texts.gpu_instances or b"", compatible=compatible).rows)
    made = combining.expand(cards, halves, compatible=compatible)
    return Node(made.gpus, ()) if compatible else Node(made.gpus, (*said, *made.problems))


def _unlisted(texts: Texts, named: Listed) -> str:
    """Why nothing is listed, ``""`` where something is, or where the list says that there is nothing."""
    if texts.listing is None:
        return texts.reason("-L")
    if named.cards or named.lost or not texts.listing.strip() or _NO_DEVICES.search(texts.listing):
        return ""
    try:
        refusals.check_size(texts.listing, "nvidia-smi -L", len(texts.listing))
    except InputError as error:
        return str(error)
    return str(refusals.not_a_capture(rawbytes.decode(texts.listing), "nvidia-smi -L", "-L"))


def _report(texts: Texts, *, compatible: bool) -> tuple[Report | None, str]:
    """The report, or None and why there is none; of a node that gave `-q` text alone, that."""
    if texts.report is None:
        return None, texts.reason("-q -x")
    try:
        if outline.is_one(texts.report) and not compatible:
            return outlined.read(texts.report), ""
        return reported.read(texts.report, compatible=compatible), ""
    except InputError as error:
        return None, str(error)


def _cards(named: Listed, report: Report | None, *, compatible: bool) -> Iterator[Gpu]:
    """The cards of both texts by index: a report's card is the listed one of its UUID, else the one in its place."""
    entries = report.cards if report else ()
    numbered = zip(places(named, entries, compatible=compatible), entries, strict=True)
    found = {index: _card(index, named.cards.get(index), entry, report, compatible=compatible) for index, entry in numbered if index is not None}
    alone = {index: _card(index, card, None, report, compatible=compatible) for index, card in named.cards.items() if index not in found}
    yield from (gpu for _, gpu in sorted({**alone, **found}.items()))


def places(named: Listed, entries: Sequence[Reported], *, compatible: bool = False) -> list[int | None]:
    """The nvidia-smi index of each card of a report: that of the listed card with its UUID, else its place.

    None for a card in whose place another one is listed, by its UUID: the report is of some cards only, or of another node.  ``compatible`` goes by
    the place alone.
    """
    if compatible:
        return list(range(len(entries)))
    counted = Counter([entry.uuid for entry in entries] + [card.uuid for card in named.cards.values()])
    clear = {uuid for uuid, count in counted.items() if uuid and count <= 2 and not listing.is_masked(uuid)}
    by_uuid = {card.uuid: card.index for card in named.cards.values() if card.uuid in clear}
    taken = {by_uuid[entry.uuid] for entry in entries if entry.uuid in by_uuid}
    return [by_uuid.get(entry.uuid, None if at in taken or _differ(named.cards.get(at), entry, clear) else at) for at, entry in enumerate(entries)]


def _differ(card: ListedCard | None, entry: Reported, clear: AbstractSet[str]) -> bool:
    """Do the UUIDs of both say that they are two cards?"""
    return card is not None and {card.uuid, entry.uuid} <= clear and card.uuid != entry.uuid


def _strangers(named: Listed, entries: Sequence[Reported]) -> list[str]:
    """The problem of the report's cards that are none of the listed ones."""
    found = [entry for at, entry in zip(places(named, entries), entries, strict=True) if at is None]
    return [problems.STRANGERS.format(count=len(found), card=found[0].bus_id or found[0].uuid)] if found else []


def _card(index: int, named: ListedCard | None, entry: Reported | None, report: Report | None, *, compatible: bool) -> Gpu:
    """A card with what the list and the report say of it."""
    name, uuid = (named.name, named.uuid) if named else ("", "")
    made = Gpu(index, uuid, name, classes.card_class(name, None))
    if report is None or entry is None:
        return made
    name = entry.name or name
    return replace(
        made,
        uuid=entry.uuid or uuid,
        name=name,
        gpu_class=classes.card_class(name, entry.total_mb),
        memory_total_mb=entry.total_mb,
        memory_used_mb=entry.used_mb,
        pci_bus_id=entry.bus_id,
        driver_version=report.driver_version,
        cuda_version=report.cuda_version,
        utilization_percent=entry.utilization_percent,
        power_w=entry.power_w,
        health=Health(entry.ecc_errors, entry.temperature_c, (entry.dead,) if entry.dead and not compatible else ()),
        processes=entry.processes,
    )
