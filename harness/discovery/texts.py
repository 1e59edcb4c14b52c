"""A node from nvidia-smi's texts: its cards, then what MIG makes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from harness.discovery import classes, combining, listed, outlined, problems, reported, rows
from harness.discovery.combining import Halves
from harness.discovery.listed import Listed, ListedCard
from harness.discovery.model import Gpu, Health, Node
from harness.discovery.reported import Report, Reported
from harness.text import outline
from harness.words.errors import InputError


@dataclass(frozen=True, slots=True)
class Texts:
    """The outputs of `nvidia-smi -L`, `-q -x`, `mig -lgi` and `mig -lci`; None for one that there is not, and then ``missing`` may say why.

    ``missing``: name of the view (``-L``) -> the reason in one line.
    """

    listing: bytes | None = None
    report: bytes | None = None
    gpu_instances: bytes | None = None
    compute_instances: bytes | None = None
    missing: tuple[tuple[str, str], ...] = ()

    def reason(self, view: str) -> str:
        """Why there is no text of ``view``."""
        return dict(self.missing).get(view, "it was not given")


def discover(texts: Texts, *, compatible: bool = False) -> Node:
    """The devices of the node that ``texts`` are of.  Never raises: a text that is missing or torn leaves its half empty.

    The node's problems say what was missing; compatible mode has none, and drops an unreadable report without a word as its source does (ledger
    DM64, DM65).
    """
    said: list[str] = []
    named = listed.read(texts.listing or b"")
    if texts.listing is None:
        said.append(problems.NO_LIST.format(reason=texts.reason("-L")))
    report, error = _report(texts, compatible=compatible)
    if error:
        said.append(problems.NO_REPORT.format(reason=error))
    said.extend(problems.LOST.format(address=gone.address, reason=gone.reason) for gone in named.lost)
    cards = list(_cards(named, report, compatible=compatible))
    halves = Halves(named.instances, report.cards if report else (), rows.read(texts.gpu_instances or b"", compatible=compatible).rows)
    made = combining.expand(cards, halves, compatible=compatible)
    return Node(made.gpus, ()) if compatible else Node(made.gpus, (*said, *made.problems))


def _report(texts: Texts, *, compatible: bool) -> tuple[Report | None, str]:
    """The report, or None and why there is none; of a node that gave `-q` text alone, that."""
    if texts.report is None:
        return None, texts.reason("-q -x")
    try:
        if outline.is_one(texts.report) and not compatible:
            return outlined.read(texts.report), ""
        return reported.read(texts.report), ""
    except InputError as error:
        return None, str(error)


def _cards(named: Listed, report: Report | None, *, compatible: bool) -> Iterator[Gpu]:
    """The cards of both texts by index: a report's card is the listed one of its UUID, else the one in its place."""
    entries = report.cards if report else ()
    places = _places(named, entries, compatible=compatible)
    found = {index: _card(index, named.cards.get(index), entry, report) for index, entry in zip(places, entries, strict=True)}
    alone = {index: _card(index, card, None, report) for index, card in named.cards.items() if index not in found}
    yield from (gpu for _, gpu in sorted({**alone, **found}.items()))


def _places(named: Listed, entries: tuple[Reported, ...], *, compatible: bool) -> list[int]:
    """The nvidia-smi index of each card of a report: its place, but that of the listed card with its UUID where a report is of some cards only."""
    by_uuid = {card.uuid: card.index for card in named.cards.values()}
    counted = Counter([entry.uuid for entry in entries] + [card.uuid for card in named.cards.values()])
    told = [by_uuid.get(entry.uuid) if counted[entry.uuid] <= 2 else None for entry in entries]
    if compatible or None in told or len(set(told)) < len(told):
        return list(range(len(entries)))
    return [index for index in told if index is not None]


def _card(index: int, named: ListedCard | None, entry: Reported | None, report: Report | None) -> Gpu:
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
        health=Health(entry.ecc_errors, entry.temperature_c),
        processes=entry.processes,
    )
