"""What a node's root complexes make of its GPUs' fields, by code of its own (behaviour specification D14, D15)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.parity.expect_reference import NOTHING, Flat, Held

ROOTS, CORES = "pcie_topology.root_complexes", "pcie_topology.cores_per_numa"


def of_node(document: Mapping[str, Any]) -> Flat:
    """The node's keys that its GPUs' fields are made of."""
    block = document.get("pcie_topology") or {}
    return {path: block[path.partition(".")[2]] for path in (ROOTS, CORES) if block.get(path.partition(".")[2]) is not None}


def _own(values: Flat) -> tuple[int, Mapping[str, Any]] | None:
    address = str(values.get("pci.bus_id", "")).lower()
    for number, root in enumerate(values.get(ROOTS) or []):
        if address and address[-10:] in [device.lower()[-10:] for device in root.get("devices") or []]:
            return number, root
    return None


def _root(values: Flat, _states: Flat) -> Held:
    own = _own(values)
    return NOTHING if own is None else (0, own[0])


def _node(values: Flat, _states: Flat) -> Held:
    own = _own(values)
    return NOTHING if own is None or own[1].get("numa_node", -1) < 0 else (0, own[1]["numa_node"])


def _cpus(values: Flat, states: Flat) -> Held:
    own, (code, node) = _own(values), _node(values, states)
    named = None if own is None else own[1].get("cpu_affinity")
    if named is not None:
        ends = [[int(end) for end in part.split("-")] for part in named.split(",")]
        numbers = {number for first, *last in ends for number in range(first, (last or [first])[0] + 1)}
    elif code == 0:
        each = values.get(CORES, 64)
        numbers = set(range(node * each, node * each + each))
    else:
        return NOTHING
    return 0, tuple(sum(1 << bit for bit in range(32) if word * 32 + bit in numbers) for word in range(max(numbers) // 32 + 1))


DERIVED: dict[str, Callable[[Flat, Flat], Held]] = {"topology_root": _root, "topology_numa_node": _node, "topology_cpus": _cpus}
