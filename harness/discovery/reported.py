"""Cards, their MIG mode, instances and processes as `nvidia-smi -q -x` reports them.

Source: the discovery document and the ledger's rows DM34 to DM45; elements are those of the captures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from harness.discovery import problems
from harness.discovery.model import UNKNOWN, Process
from harness.text import document
from harness.words.errors import InputError

if TYPE_CHECKING:
    from harness.text.xmltree import Element

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_MIB = re.compile(r"([0-9]{1,15}) MiB")
_NUMBER = re.compile(r"([0-9]{1,15})(?: (?:C|%))?")
_WATTS = re.compile(r"([0-9]{1,9}(?:\.[0-9]+)?) W")
_UNCORRECTED = ("double_bit/total", "sram_uncorrectable", "sram_uncorrectable_parity", "sram_uncorrectable_secded", "dram_uncorrectable")
"""Elements of volatile uncorrected ECC errors, of every driver that captures are of; a total where there is one."""
_POWER = tuple(f"{block}/{draw}" for block in ("gpu_power_readings", "power_readings") for draw in ("instant_power_draw", "power_draw"))
"""Elements of the card's draw, newest driver first."""
MODES = {"enabled": True, "disabled": False}
"""The words of a mode, in any case; any other text, N/A included, is no mode."""


@dataclass(frozen=True, slots=True)
class ReportedMig:
    """An instance as the report has it: numbers UNKNOWN and memory (MiB) None where it says none."""

    device: int
    gpu_instance: int
    compute_instance: int
    total_mb: int | None
    used_mb: int | None


@dataclass(frozen=True, slots=True)
class Reported:
    """A card as the report has it.

    ``current`` and ``pending`` are the MIG mode's texts, trimmed, ``""`` where they are absent; ``dead`` is what stands in the place of the memory
    of a card on which nothing can run (``GPU is lost``), ``""`` of any other.
    """

    bus_id: str
    uuid: str
    name: str
    current: str
    pending: str
    total_mb: int | None
    used_mb: int | None
    temperature_c: int | None
    ecc_errors: int | None
    utilization_percent: int | None
    power_w: float | None
    instances: tuple[ReportedMig, ...] = ()
    processes: tuple[Process, ...] = ()
    dead: str = ""

    @property
    def enabled(self) -> bool:
        """Is MIG on?"""
        return enabled(self.current)

    @property
    def pending_enabled(self) -> bool:
        """Will MIG be on after the next reset?"""
        return enabled(self.pending)


@dataclass(frozen=True, slots=True)
class Report:
    """A report: driver and CUDA version (``""``: not said) and its cards; a card's place is its nvidia-smi index."""

    driver_version: str
    cuda_version: str
    cards: tuple[Reported, ...]


def enabled(text: str) -> bool:
    """Does a mode's text say that it is on?"""
    return MODES.get(text.strip().lower(), False)


def integer(text: str | None) -> int:
    """The number that ``text`` is, UNKNOWN for any other text."""
    plain = (text or "").strip()
    return int(plain) if _INTEGER.fullmatch(plain) else UNKNOWN


def mebibytes(text: str | None) -> int | None:
    """The MiB that ``text`` says, None for any other text."""
    match = _MIB.fullmatch((text or "").strip())
    return int(match[1]) if match else None


def read(data: bytes, name: str = "nvidia-smi -q -x", *, compatible: bool = False) -> Report:
    """The report that ``data`` is; ``name`` stands for it in messages.  ``compatible`` repairs nothing: a bare ``&`` in a name makes it unreadable.

    Raises InputError, which says that nvidia-smi's report could not be read and why, for text that is none.  Elements that are not asked for are not
    looked at, whatever the driver.
    """
    try:
        root = document.tree_of(data, name, strict=compatible)
    except InputError as error:
        raise InputError(f"nvidia-smi's report could not be read: {error}") from error
    cards = tuple(_card(gpu) for gpu in root.iterchildren("gpu"))
    return Report(_text(root, "driver_version"), _text(root, "cuda_version"), cards)


def _text(element: Element, path: str) -> str:
    return (element.findtext(path) or "").strip()


def _card(gpu: Element) -> Reported:
    return Reported(
        bus_id=str(gpu.get("id") or "").strip(),
        uuid=_text(gpu, "uuid"),
        name=_text(gpu, "product_name"),
        current=_text(gpu, "mig_mode/current_mig"),
        pending=_text(gpu, "mig_mode/pending_mig"),
        total_mb=mebibytes(gpu.findtext("fb_memory_usage/total")),
        used_mb=mebibytes(gpu.findtext("fb_memory_usage/used")),
        temperature_c=number(gpu.findtext("temperature/gpu_temp")),
        ecc_errors=_errors(gpu),
        utilization_percent=number(gpu.findtext("utilization/gpu_util")),
        power_w=next((drawn for path in _POWER if (drawn := watts(gpu.findtext(path))) is not None), None),
        instances=tuple(sorted(map(_instance, gpu.iterfind("mig_devices/mig_device")), key=attrgetter("device"))),
        processes=tuple(_processes(gpu)),
        dead=dead(gpu.findtext("fb_memory_usage/total")),
    )


def number(text: str | None) -> int | None:
    """The number that ``text`` says, alone or in degrees or percent, None for any other text."""
    match = _NUMBER.fullmatch((text or "").strip())
    return int(match[1]) if match else None


def dead(text: str | None) -> str:
    """``text`` where it is the driver's for a card on which nothing can run, ``""`` for any other."""
    said = (text or "").strip()
    return said if said.lower() in problems.DEAD_TEXTS else ""


def watts(text: str | None) -> float | None:
    """The watts that ``text`` says, None for any other text."""
    match = _WATTS.fullmatch((text or "").strip())
    return float(match[1]) if match else None


def _errors(gpu: Element) -> int | None:
    volatile = gpu.find("ecc_errors/volatile")
    said = [] if volatile is None else [count for path in _UNCORRECTED if (count := number(volatile.findtext(path))) is not None]
    return sum(said) if said else None


def _instance(device: Element) -> ReportedMig:
    return ReportedMig(
        integer(device.findtext("index")),
        integer(device.findtext("gpu_instance_id")),
        integer(device.findtext("compute_instance_id")),
        mebibytes(device.findtext("fb_memory_usage/total")),
        mebibytes(device.findtext("fb_memory_usage/used")),
    )


def _processes(gpu: Element) -> Iterator[Process]:
    for entry in gpu.iterfind("processes/process_info"):
        pid = integer(entry.findtext("pid"))
        ids = (integer(entry.findtext(f"{kind}_instance_id")) for kind in ("gpu", "compute"))
        yield Process(pid, mebibytes(entry.findtext("used_memory")), *ids)
