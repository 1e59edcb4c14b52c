"""Each card in MIG mode becomes its instances: what the list names, with what the report says of it.

Either half may be missing: the list alone still says which instances exist, the report alone that a card is in MIG mode, which keeps it out of
placement.
Source: the discovery document and the ledger's rows DM46 to DM65.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.discovery import classes, numbers, problems
from harness.discovery.listed import ListedMig
from harness.discovery.model import UNKNOWN, Gpu, Health, MigRecord, Node, Process
from harness.discovery.reported import Reported, ReportedMig
from harness.discovery.rows import Row

Assess = Callable[[Gpu], Gpu]
"""Looks at a device that is whole and adds what is wrong with it to its problems."""

_DOMAIN_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Halves:
    """What the texts say of MIG: instances by card index, the report's cards in its order, the rows of `mig -lgi`.

    ``report`` is empty where there is none.  ``gpu_instances`` tell a card on which nothing is created from one whose GPU instances hold nothing;
    compatible mode does not look at them.
    """

    listed: Mapping[int, Sequence[ListedMig]]
    report: Sequence[Reported] = ()
    gpu_instances: Sequence[Row] = ()


def bus_id(text: str) -> str:
    """A PCI bus id in one spelling: lower case, a domain of eight digits (``0000:3B:00.0`` and ``00000000:3b:00.0`` are one)."""
    domain, colon, rest = text.strip().lower().partition(":")
    return f"{domain:0>{_DOMAIN_DIGITS}}:{rest}" if colon and rest.count(":") else text.strip().lower()


def assess(gpu: Gpu) -> Gpu:
    """``gpu`` with the problem that it has no class, where it is an instance of a profile that nothing tells."""
    return with_problem(gpu, problems.NO_PROFILE) if gpu.mig is not None and not gpu.mig.profile.strip() else gpu


def with_problem(gpu: Gpu, problem: str) -> Gpu:
    """``gpu`` with ``problem`` behind those it has."""
    return replace(gpu, health=replace(gpu.health, problems=(*gpu.health.problems, problem)))


def _of(dead: str, gpu: Gpu) -> Gpu:
    """``gpu`` with the problem of its card, where that is ``dead``."""
    return with_problem(gpu, dead) if dead else gpu


def expand(cards: Sequence[Gpu], halves: Halves, *, compatible: bool = False, assessed: Assess | None = None) -> Node:
    """``cards`` with each one in MIG mode replaced by its instances, in its place; a card that cannot be used is kept with the reason.

    A card meets its report by bus id, else by UUID; by its place in the list only where neither side names any card and both are as long.
    ``compatible`` goes by the place wherever the bus id is not found.  ``assessed`` looks at each instance once its memory is set (default:
    ``assess``; none in compatible mode).
    """
    if not any(halves.listed.values()) and not any(state.enabled for state in halves.report):
        return Node(tuple(cards))
    look = assessed or ((lambda gpu: gpu) if compatible else assess)
    reports = _Reports(cards, halves.report)
    made: list[Gpu] = []
    said: list[str] = []
    for place, card in enumerate(cards):
        state = reports.in_place(card, place) if compatible else reports.of(card, place)
        devices = halves.listed.get(card.index, ())
        if devices:
            numbered, problem = _numbered(card, devices, compatible=compatible)
            said.extend(problem)
            dead = "" if compatible or state is None else state.dead
            told = _told(state)
            made.extend(look(_of(dead, _instance(card, device, told, compatible=compatible))) for device in numbered)
        elif state is not None and state.enabled:
            made.append(with_problem(card, _reason(card, state, () if compatible else halves.gpu_instances)))
        else:
            made.append(card)
    return Node(tuple(made), tuple(said))


class _Reports:
    """The report's cards, found by bus id and by UUID."""

    def __init__(self, cards: Sequence[Gpu], report: Sequence[Reported]) -> None:
        self.report = report
        self.by_bus: dict[str, list[Reported]] = {}
        self.by_uuid: dict[str, list[Reported]] = {}
        for state in report:
            self.by_bus.setdefault(bus_id(state.bus_id), []).append(state)
            self.by_uuid.setdefault(state.uuid, []).append(state)
        nameless = not any(one.pci_bus_id or one.uuid for one in cards) or not any(state.bus_id or state.uuid for state in report)
        self.in_order = nameless and len(cards) == len(report)

    def in_place(self, card: Gpu, place: int) -> Reported | None:
        """The card with the bus id of ``card`` (the last of them), else the one in its place."""
        same = self.by_bus.get(bus_id(card.pci_bus_id))
        return same[-1] if same else self.report[place] if place < len(self.report) else None

    def of(self, card: Gpu, place: int) -> Reported | None:
        """The one card that ``card`` is, None where nothing says so."""
        for mine, theirs in ((bus_id(card.pci_bus_id), self.by_bus), (card.uuid, self.by_uuid)):
            same = theirs.get(mine, []) if mine else []
            if len(same) == 1:
                return same[0]
        return self.report[place] if self.in_order else None


def _numbered(card: Gpu, devices: Sequence[ListedMig], *, compatible: bool) -> tuple[list[ListedMig], list[str]]:
    """The devices that have a number of their own, and the problem of those that have none."""
    if compatible:
        return list(devices), []
    kept: dict[int, ListedMig] = {}
    said: list[str] = []
    once = list(dict.fromkeys(devices))
    for device in once:
        if device.device < numbers.PER_CARD:
            kept.setdefault(device.device, device)
    high = sum(device.device >= numbers.PER_CARD for device in once)
    if high:
        reason = f"card {card.index} lists them as {numbers.PER_CARD} and up, which would be another card's"
        said.append(problems.NO_NUMBER.format(count=high, reason=reason))
    if len(kept) + high < len(once):
        reason = f"card {card.index} lists another in the place of each; give the list of one node"
        said.append(problems.NO_NUMBER.format(count=len(once) - len(kept) - high, reason=reason))
    return list(kept.values()), said


def _reason(card: Gpu, state: Reported, gpu_instances: Sequence[Row]) -> str:
    """Why a card in MIG mode whose instances nothing names cannot be used."""
    if state.instances:
        return problems.UNNAMED
    ids = [str(row.gpu_instance) for row in gpu_instances if row.gpu == card.index and row.compute_instance == UNKNOWN]
    return problems.NO_COMPUTE_INSTANCE.format(ids=",".join(ids)) if ids else problems.NO_INSTANCES


def _instance(card: Gpu, device: ListedMig, told: Mapping[int, tuple[ReportedMig, tuple[Process, ...]]], *, compatible: bool) -> Gpu:
    """A listed instance with what the report says of it."""
    made = instance_of(card, device.device, device.profile, device.uuid, compatible=compatible)
    entry, processes = told.get(device.device, (None, ()))
    total, used = (entry.total_mb, entry.used_mb) if entry else (None, None)
    made = with_memory(made, total, used, compatible=compatible)
    if entry is None or made.mig is None:
        return made
    record = replace(made.mig, gpu_instance=entry.gpu_instance, compute_instance=entry.compute_instance)
    return replace(made, mig=record, processes=processes)


def _told(state: Reported | None) -> dict[int, tuple[ReportedMig, tuple[Process, ...]]]:
    """Device number -> what the report says of the instance, its last entry, and the processes in it; none where its ids are not known."""
    running: dict[tuple[int, int], list[Process]] = {}
    for process in state.processes if state else ():
        running.setdefault((process.gpu_instance, process.compute_instance), []).append(process)
    found: dict[int, tuple[ReportedMig, tuple[Process, ...]]] = {}
    for entry in state.instances if state else ():
        ids = (entry.gpu_instance, entry.compute_instance)
        found[entry.device] = (entry, () if UNKNOWN in ids else tuple(running.get(ids, ())))
    return found


def with_memory(gpu: Gpu, total_mb: int | None, used_mb: int | None, *, compatible: bool = False) -> Gpu:
    """``gpu``, an instance, with its memory in MiB.

    A total that is not known, or is 0, is the profile's GB, near enough to place by; where the profile says none, it is not known.  Used memory
    that is not known stays so.  ``compatible`` has 0 for both.
    """
    profile = gpu.mig.profile if gpu.mig else ""
    total = total_mb or classes.profile_memory_gb(profile, compatible=compatible) * classes.MIB_PER_GB
    return replace(gpu, memory_total_mb=total if total or compatible else None, memory_used_mb=used_mb or 0 if compatible else used_mb)


def instance_of(card: Gpu, device: int, profile: str, uuid: str, *, compatible: bool = False) -> Gpu:
    """An instance of ``card``: what the two share and nothing else, ids and memory not known yet.

    Of the card are driver, CUDA version, compute capability, NUMA node, bus id, NIC paths, fabric, ECC errors and temperature.  Not NVLink, which
    an instance cannot use, nor utilization and power, which no driver tells of one, nor the card's memory and problems (ledger DM60, DM61).
    """
    return Gpu(
        index=numbers.instance_index(card.index, device, compatible=compatible),
        uuid=uuid,
        name=f"{card.name} MIG {profile}".strip(),
        gpu_class=classes.instance_class(card.gpu_class, profile, compatible=compatible),
        pci_bus_id=card.pci_bus_id,
        driver_version=card.driver_version,
        cuda_version=card.cuda_version,
        compute_capability=card.compute_capability,
        numa_node=card.numa_node,
        nic_paths=card.nic_paths,
        fabric=card.fabric,
        health=Health(card.health.ecc_errors, card.health.temperature_c),
        mig=MigRecord(card.index, card.uuid, card.memory_total_mb or 0 if compatible else card.memory_total_mb, device, profile),
    )
