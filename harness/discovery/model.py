"""What discovery finds on a node: cards and MIG instances, and why one cannot be used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.discovery import numbers

UNKNOWN = -1
"""A GPU or compute instance whose id is not known; 0 is an id (ledger DM37)."""


@dataclass(frozen=True, slots=True)
class MigRecord:
    """What a MIG instance has beside a GPU's own: the card that it is carved from, and how.

    parent_index, parent_uuid, parent_memory_total_mb:  of the card; nvidia-smi's index, memory in MiB (None: not known, 0 in compatible mode)
    device:    its number on the card, as `nvidia-smi -L` lists it
    profile:   NVIDIA's name of the slice (``3g.40gb``), ``""`` where none is known
    gpu_instance, compute_instance:  ids as in `nvidia-smi mig -lgi` and `-lci`, UNKNOWN where no text says them
    """

    parent_index: int
    parent_uuid: str
    parent_memory_total_mb: int | None
    device: int
    profile: str
    gpu_instance: int = UNKNOWN
    compute_instance: int = UNKNOWN

    def to_dict(self) -> dict[str, Any]:
        """The record for JSON: ``parent_uuid`` is left out when it is empty, 0 and -1 are written (ledger DM07)."""
        uuid = {"parent_uuid": self.parent_uuid} if self.parent_uuid else {}
        return {
            "parent_index": self.parent_index, **uuid, "parent_memory_total_mb": self.parent_memory_total_mb, "device": self.device,
            "profile": self.profile, "gpu_instance": self.gpu_instance, "compute_instance": self.compute_instance,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Process:
    """A process on a GPU: ``pid``, memory in MiB (None: not known), and the instances that it runs in (UNKNOWN outside MIG)."""

    pid: int
    used_mb: int | None
    gpu_instance: int = UNKNOWN
    compute_instance: int = UNKNOWN


@dataclass(frozen=True, slots=True)
class Health:
    """Uncorrected ECC errors and temperature (degrees C) of the card, None where they are not known; why the device cannot be used, oldest first."""

    ecc_errors: int | None = None
    temperature_c: int | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gpu:
    """A device that placement knows: a card, or with a ``mig`` record an instance of one.

    index:        nvidia-smi's of a card, ``numbers.instance_index`` of an instance
    gpu_class:    ``classes.card_class`` or ``classes.instance_class``
    memory_total_mb, memory_used_mb:  MiB; None where not known
    utilization_percent, power_w, nvlink:  of a card alone; None for an instance, of which no driver tells them
    nic_paths, fabric, numa_node, compute_capability:  as whoever found the card says them; nvidia-smi's texts have none of them
    processes:    those on the device
    """

    index: int
    uuid: str = ""
    name: str = ""
    gpu_class: str = ""
    memory_total_mb: int | None = None
    memory_used_mb: int | None = None
    pci_bus_id: str = ""
    driver_version: str = ""
    cuda_version: str = ""
    compute_capability: str = ""
    numa_node: int | None = None
    nic_paths: tuple[str, ...] = ()
    fabric: str | None = None
    nvlink: int | None = None
    utilization_percent: int | None = None
    power_w: float | None = None
    health: Health = field(default_factory=Health)
    processes: tuple[Process, ...] = ()
    mig: MigRecord | None = None

    @property
    def is_mig(self) -> bool:
        """Is it an instance?  The record says so, not the name or the number (ledger DM06)."""
        return self.mig is not None

    @property
    def card_index(self) -> int:
        """The nvidia-smi index of the card that it is on."""
        return self.index if self.mig is None else self.mig.parent_index

    @property
    def label(self) -> str:
        """How it is shown: ``3``, ``0/mig2``."""
        return numbers.label(self.index)

    @property
    def placeable(self) -> bool:
        """May something be placed on it?  Not where it has a problem (ledger DM53)."""
        return not self.health.problems


@dataclass(frozen=True, slots=True)
class Node:
    """The devices of a node in placement's order; ``problems`` are those of the node or of a text, not of one device."""

    gpus: tuple[Gpu, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def placeable(self) -> tuple[Gpu, ...]:
        """The devices on which something may be placed."""
        return tuple(gpu for gpu in self.gpus if gpu.placeable)

    def by_class(self) -> dict[str, int]:
        """How many placeable devices there are of each class, in order of appearance (ledger DM19)."""
        counted: dict[str, int] = {}
        for gpu in self.placeable:
            counted[gpu.gpu_class] = counted.get(gpu.gpu_class, 0) + 1
        return counted
