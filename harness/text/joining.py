"""`-q -x` and `-L` of one node as one: GPUs by UUID and place, MIG devices by index; both sides are shown where they disagree."""

from __future__ import annotations

from dataclasses import dataclass

from harness.text.document import TRIMMED, Document
from harness.text.listing import ListedGpu, ListedMig, Listing, is_masked
from harness.text.model import Node
from harness.words.errors import InputError

SHOWN = 4
"""Differences named in a message; both sides are listed whole behind them."""


@dataclass(frozen=True, slots=True)
class JoinedMig:
    """A MIG device: its ``<mig_device>`` element and its row of the list."""

    node: Node
    row: ListedMig


@dataclass(frozen=True, slots=True)
class JoinedGpu:
    """A GPU: its ``<gpu>`` element, its row of the list, its MIG devices by index."""

    node: Node
    row: ListedGpu
    migs: tuple[JoinedMig, ...]


def join(query: Document, listing: Listing, names: tuple[str, str] = ("query", "list")) -> list[JoinedGpu]:
    """The GPUs of both views, in order; ``names`` stand for the files in messages.

    Compared: number of GPUs, each one's UUID and name, number and indices of its MIG devices, and the instances that a MIG UUID of driver
    450 spells.  What the giver of a file masked is not compared.  Raises InputError that lists both sides.
    """
    nodes, rows = query.gpus, listing.gpus
    shown = [(place, node.get("product_name") or "", node.get("uuid") or "") for place, node in enumerate(nodes)]
    listed = [(place if listing.errors or query.kind == TRIMMED else row.index, row.name, row.uuid) for place, row in enumerate(rows)]
    pairs = zip(shown, listed, strict=False)
    differing = ["the number of GPUs"] if len(shown) != len(listed) else []
    for ours, theirs in pairs:
        parts = [ours[0] == theirs[0], _same(ours[1], theirs[1]), _same(ours[2], theirs[2])]
        differing += [f"{what} of GPU {ours[0]}" for what, same in zip(("number", "name", "UUID"), parts, strict=True) if not same]
    if differing:
        what = ", ".join(differing[:SHOWN]) + (f" and {len(differing) - SHOWN} more" if len(differing) > SHOWN else "")
        sides = f"{names[0]} has {_spelled(shown)}; {names[1]} has {_spelled(listed)}"
        raise InputError(f"{names[0]} and {names[1]} are not of one node, {what} differ: {sides}; capture both again, one after the other")
    return [JoinedGpu(node, row, _join_migs(place, node, row, names)) for place, (node, row) in enumerate(zip(nodes, rows, strict=True))]


def missing(query: Document, listed: bool) -> list[str]:
    """What ``query`` alone cannot say, one note each: a query prints MIG devices without name and UUID.  ``listed``: a list is beside it."""
    counts = [sum(1 for child in block.children if child.tag == "mig_device") for gpu in query.gpus if (block := gpu.find("mig_devices")) is not None]
    if listed or not sum(counts):
        return []
    return [f"{sum(counts)} MIG devices without profile name and UUID, which only `nvidia-smi -L` prints: give its output of the same node, too"]


def _same(one: str, other: str) -> bool:
    return one == other or is_masked(one) or is_masked(other)


def _spelled(gpus: list[tuple[int, str, str]]) -> str:
    listed = ", ".join(f"{place}: {name} {uuid}" for place, name, uuid in gpus)
    return f"{len(gpus)} GPU{'s' * (len(gpus) > 1)} ({listed})" if gpus else "no GPU"


def _join_migs(place: int, node: Node, row: ListedGpu, names: tuple[str, str]) -> tuple[JoinedMig, ...]:
    block = node.find("mig_devices")
    devices = [child for child in block.children if child.tag == "mig_device"] if block is not None else []
    ours = {device.get("index") or "": device for device in devices}
    theirs = {str(mig.index): mig for mig in row.migs}
    if ours.keys() != theirs.keys() or len(ours) != len(devices) or len(theirs) != len(row.migs):
        raise _disagree(place, "MIG devices", sorted(ours), sorted(theirs), names)
    joined: list[JoinedMig] = []
    for index, mig in theirs.items():
        device = ours[index]
        instances = mig.instances
        said = (device.get("gpu_instance_id"), device.get("compute_instance_id"))
        if instances is not None and None not in said and said != (str(instances[0]), str(instances[1])):
            raise _disagree(place, f"instances of MIG device {index}", [str(part) for part in said], [str(part) for part in instances], names)
        if instances is not None and not _same(mig.uuid.removeprefix("MIG-").split("/")[0], row.uuid):
            raise _disagree(place, f"parent of MIG device {index}", [row.uuid], [mig.uuid], names)
        joined.append(JoinedMig(device, mig))
    return tuple(joined)


def _disagree(place: int, what: str, ours: list[str], theirs: list[str], names: tuple[str, str]) -> InputError:
    return InputError(
        f"GPU {place}: {what}: {names[0]} has {', '.join(ours) or 'none'}; {names[1]} has {', '.join(theirs) or 'none'}; capture both again"
    )
