"""Where a GPU stands in its node: the root complex that names its address, that complex's NUMA node and processors (ledger D14, D15)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from harness.stores.schema import codec
from harness.words.errors import InputError
from harness.words.state import State
from mocklib.image import FieldValue

Values = Mapping[str, Any]
States = Mapping[str, State]

_ABSENT = FieldValue(status=3)
CORES_PER_NUMA = 64
"""Processors of a NUMA node where the profile does not say (ledger D15)."""
MOST_CPUS = 8192
"""As many as Linux can be built for (NR_CPUS of x86)."""
_WORD = 32
_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


def _root(values: Values, _: States) -> FieldValue:
    place = _place(values)
    return _ABSENT if place is None else FieldValue(place)


def _numa_node(values: Values, _: States) -> FieldValue:
    node = _node(values)
    return _ABSENT if node is None else FieldValue(node)


def _cpus(values: Values, _: States) -> FieldValue:
    """The processors that the root complex names, else those of its NUMA node, numbered through the nodes."""
    place, node = _place(values), _node(values)
    if place is None:
        return _ABSENT
    given = values["pcie_topology.root_complexes"][place].get("cpu_affinity")
    if given is not None:
        return FieldValue(_bits(cpus_of(str(given))))
    if node is None:
        return _ABSENT
    each = int(values.get("pcie_topology.cores_per_numa") or CORES_PER_NUMA)
    return FieldValue(_bits(range(node * each, _within((node + 1) * each - 1, f"pcie_topology: NUMA node {node} of {each} processors") + 1)))


def cpus_of(text: str) -> set[int]:
    """The processors that a list of numbers and ranges names ("0-55,112-167").  Raises InputError for what is none."""
    found: set[int] = set()
    where = f"pcie_topology.root_complexes: cpu_affinity {text[:40]!r}"
    for part in text.split(","):
        matched = _RANGE.fullmatch(part.strip())
        if matched is None or int(matched[2] or matched[1]) < int(matched[1]):
            raise InputError(f"{where}: expected processors such as 0-55,112-167")
        found.update(range(int(matched[1]), _within(int(matched[2] or matched[1]), where) + 1))
    return found


def _within(last: int, where: str) -> int:
    if last >= MOST_CPUS:
        raise InputError(f"{where}: processor {last}; the last one there may be is {MOST_CPUS - 1}")
    return last


def _bits(numbers: set[int] | range) -> tuple[int, ...]:
    """Numbers as bits, 32 a word."""
    mask = sum(1 << number for number in numbers)
    return tuple(mask >> shift & 0xFFFFFFFF for shift in range(0, mask.bit_length(), _WORD))


def _place(values: Values) -> int | None:
    """Which root complex names the GPU's address; InputError where two do."""
    address, listed = values.get("pci.bus_id"), values.get("pcie_topology.root_complexes")
    if address is None or not listed:
        return None
    own = codec.bus_id(str(address))
    found = [place for place, root in enumerate(listed) if own in {codec.bus_id(str(one)) for one in root.get("devices") or ()}]
    if len(found) > 1:
        names = " and ".join(str(listed[place]["id"]) for place in found[:2])
        raise InputError(f"pcie_topology.root_complexes: {address} is in {names}; a GPU is below one")
    return found[0] if found else None


def _node(values: Values) -> int | None:
    """The NUMA node of the root complex; None for -1, Linux's word for none."""
    place = _place(values)
    node = None if place is None else values["pcie_topology.root_complexes"][place].get("numa_node")
    return None if node is None or int(node) < 0 else int(node)


DERIVATIONS: Mapping[str, Callable[[Values, States], FieldValue]] = {
    "topology_root": _root,
    "topology_numa_node": _numa_node,
    "topology_cpus": _cpus,
}
"""Name in ``from`` of ``mocklib/tables/fields.yaml`` -> what makes the field."""
