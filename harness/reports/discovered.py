"""What discovery found on a node, for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from harness.discovery.model import UNKNOWN
from harness.text import quoting

if TYPE_CHECKING:
    from harness.discovery.doctor import MigCard
    from harness.discovery.model import Gpu, Node

HEADS = ("index", "label", "class", "memory", "gi", "ci", "uuid", "name")
RIGHT = frozenset({"index", "memory", "gi", "ci"})
"""Columns of numbers."""
NONE = "-"


def lines(node: Node) -> Iterator[str]:
    """A head, a line a device with its problems below it, how many can be placed by class, and the node's own problems."""
    if node.gpus:
        rows = [HEADS, *map(_cells, node.gpus)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row, gpu in zip(rows, (None, *node.gpus), strict=True):
            yield "  ".join(f"{cell:{'>' if head in RIGHT else '<'}{width}}" for head, cell, width in zip(HEADS, row, widths, strict=True)).rstrip()
            yield from (f"    {_plain(problem)}" for problem in (gpu.health.problems if gpu else ()))
    counted = ", ".join(f"{number} x {name or '(no class)'}" for name, number in node.by_class().items())
    yield f"{len(node.placeable)} of {len(node.gpus)} devices can be placed" + (f": {counted}" if counted else "")
    yield from (f"note: {_plain(problem)}" for problem in node.problems)


def document(node: Node) -> dict[str, Any]:
    """The node as JSON: ``gpus`` in placement's order, ``classes`` -> how many can be placed, ``problems`` of the node."""
    return {"version": 1, "gpus": [_device(gpu) for gpu in node.gpus], "classes": node.by_class(), "problems": list(node.problems)}


def doctor_lines(cards: Sequence[MigCard]) -> Iterator[str]:
    """Each card's mode, instances, GPU and compute instances, and what is wrong with it."""
    for card in cards:
        yield f"card {card.index}  {_plain(card.name) or '(no name)'}: MIG {_word(card.enabled)}, after the next reset {_word(card.pending_enabled)}"
        for one in card.instances:
            yield f"    device {one.device}  {_plain(one.profile)}  {_plain(one.uuid)}"
        for row in card.gpu_instances:
            yield f"    GPU instance {row.gpu_instance}  {_plain(row.profile)}  profile {row.profile_id}{_placed(row.placement)}"
        for row in card.compute_instances:
            where = f"compute instance {row.compute_instance} of GPU instance {row.gpu_instance}"
            yield f"    {where}  {_plain(row.profile)}  profile {row.profile_id}{_placed(row.placement)}"
        yield from (f"    warning: {warning}" for warning in card.warnings)
    if not cards:
        yield "no card has a MIG mode"


def doctor_document(cards: Sequence[MigCard]) -> dict[str, Any]:
    """The cards as JSON, in the keys of the discovery document, each with its warnings."""
    return {"version": 1, "cards": [{**card.to_dict(), **({"warnings": list(card.warnings)} if card.warnings else {})} for card in cards]}


def _cells(gpu: Gpu) -> tuple[str, ...]:
    numbers = () if gpu.mig is None else (gpu.mig.gpu_instance, gpu.mig.compute_instance)
    ids = [NONE if number == UNKNOWN else str(number) for number in numbers] or [NONE, NONE]
    memory = NONE if gpu.memory_total_mb is None else f"{gpu.memory_total_mb} MiB"
    return (str(gpu.index), gpu.label, gpu.gpu_class or NONE, memory, *ids, _plain(gpu.uuid) or NONE, _plain(gpu.name) or NONE)


def _device(gpu: Gpu) -> dict[str, Any]:
    """One device; what is not known is null, and what an instance has not is not there."""
    card_only = {} if gpu.is_mig else {"utilization_percent": gpu.utilization_percent, "power_w": gpu.power_w}
    return {
        "index": gpu.index, "label": gpu.label, "class": gpu.gpu_class, "uuid": gpu.uuid, "name": gpu.name,
        "memory_total_mb": gpu.memory_total_mb, "memory_used_mb": gpu.memory_used_mb, "pci_bus_id": gpu.pci_bus_id,
        "driver_version": gpu.driver_version, "cuda_version": gpu.cuda_version, **card_only,
        "health": {"ecc_errors": gpu.health.ecc_errors, "temperature_c": gpu.health.temperature_c, "problems": list(gpu.health.problems)},
        "processes": [{"pid": one.pid, "used_memory_mb": one.used_mb} for one in gpu.processes],
        **({} if gpu.mig is None else {"mig": gpu.mig.to_dict()}),
    }  # fmt: skip


def _word(mode: bool) -> str:
    return "on" if mode else "off"


def _placed(placement: str) -> str:
    return f"  placement {placement}" if placement else ""


def _plain(text: str) -> str:
    """``text`` as it is where it prints on one line, else in quotes."""
    return text if text.isprintable() else quoting.quote(text)
