"""A profile from `-L` alone: names and UUIDs, nothing else; lines of MIG devices are kept as they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.stages import derive_shape
from harness.stores import profiles
from harness.text import rawbytes
from harness.text.listing import NO_DEVICES
from harness.words.errors import InputError
from harness.words.state import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.text.listing import Listing

DRIVER = "550.163.01"
"""The driver of a node that does not say its own: the reference's default (configuration reference, ledger A05)."""


def profile(listed: Listing, capture: str, driver: str | None = None) -> str:
    """The profile, YAML, of the GPUs in ``listed``; every reading that `-L` does not show is absent.

    Raises InputError for a list of nothing but GPUs in error or one whose first GPU is not number 0.
    """
    indices = [row.index for row in listed.gpus]
    if not indices and any(error.text.strip() != NO_DEVICES for error in listed.errors):
        raise InputError("the list names no GPU that answers: no profile can be made from it")
    if indices != list(range(len(indices))):
        raise InputError(f"the list has GPUs {', '.join(map(str, indices))}: without all from 0 on, their numbers cannot be served")
    states: dict[str, State] = {}
    gpus: list[tuple[Mapping[str, Any], Mapping[str, State]]] = [({"name": row.name, "uuid": row.uuid}, states) for row in listed.gpus]
    written: dict[str, Any] = {
        "format": 1,
        "version": "1.0",
        "system": {"driver_version": driver or DRIVER, "num_devices": len(indices)},
        **derive_shape.devices(gpus),
    }
    written["origin"] = {
        "capture": capture,
        "driver": driver or f"{DRIVER} (the list does not say it: the reference's default)",
        "layout": "-L",
        "keys": {"name": "gpu/name", "uuid": "gpu/uuid"} if indices else {},
    }
    kept = unmodelled(listed)
    if kept:
        written["origin"]["unmodelled"] = kept
    return profiles.dump(written)


def unmodelled(listed: Listing) -> dict[str, str]:
    """``gpu[i]/mig[j]`` -> the line of each MIG device; ``i`` and ``j`` count rows."""
    lines = [line for line in rawbytes.decode(listed.to_bytes()).splitlines() if line.lstrip(" \t#").startswith("MIG ")]
    paths = [f"gpu[{number}]/mig[{index}]" for number, row in enumerate(listed.gpus) for index in range(len(row.migs))]
    return dict(zip(paths, lines, strict=True)) if len(paths) == len(lines) else {}
