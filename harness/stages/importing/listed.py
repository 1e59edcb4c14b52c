"""A profile from `-L` alone: names and UUIDs, nothing else; lines of MIG devices are kept as they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.stages import derive_gpus, derive_shape
from harness.stores import profiles
from harness.text import rawbytes
from harness.text.listing import NO_DEVICES
from harness.words.errors import InputError
from harness.words.fileformat import FORMAT
from harness.words.state import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.stages.derive_gpus import Gpus
    from harness.text.listing import Listing

DRIVER = "550.163.01"
"""The driver of a node that does not say its own: the reference's default (configuration reference, ledger A05)."""


def profile(listed: Listing, capture: str, node: Gpus) -> str:
    """The profile, YAML, of the GPUs in ``listed``, which are those of ``node``; every reading that `-L` does not show is absent.

    Raises InputError for a list of nothing but GPUs in error.
    """
    if not node.indices and any(error.text.strip() != NO_DEVICES for error in listed.errors):
        raise InputError("the list names no GPU that answers: no profile can be made from it")
    states: dict[str, State] = {}
    gpus: list[tuple[Mapping[str, Any], Mapping[str, State]]] = [({"name": row.name, "uuid": row.uuid}, states) for row in listed.gpus]
    written: dict[str, Any] = {
        "format": FORMAT,
        "version": "1.0",
        "system": {"driver_version": DRIVER, "num_devices": node.count},
        **derive_shape.devices(gpus, node.indices, derive_gpus.entries(node)),
    }
    written["origin"] = {
        "capture": capture,
        "driver": f"{DRIVER} (the list does not say it: the reference's default)",
        "layout": "-L",
        "keys": {"name": "gpu/name", "uuid": "gpu/uuid"} if node.indices else {},
    }
    kept = unmodelled(listed)
    if kept:
        written["origin"]["unmodelled"] = kept
    return profiles.dump(written)


def unmodelled(listed: Listing) -> dict[str, str]:
    """``gpu[i]/mig[j]`` -> the line of each MIG device, ``error[i]`` -> that of each GPU in error; ``i`` and ``j`` count rows."""
    lines = [line for line in rawbytes.decode(listed.to_bytes()).splitlines() if line.lstrip(" \t#").startswith("MIG ")]
    paths = [f"gpu[{number}]/mig[{index}]" for number, row in enumerate(listed.gpus) for index in range(len(row.migs))]
    errors = {f"error[{number}]": row.text for number, row in enumerate(listed.errors) if row.text.strip() != NO_DEVICES}
    return {**(dict(zip(paths, lines, strict=True)) if len(paths) == len(lines) else {}), **errors}
