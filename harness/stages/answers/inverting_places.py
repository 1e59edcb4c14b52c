"""The inverse of a GPU's place in its node: the root complex that names its address, with NUMA node and processors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.stages import compile_topology

if TYPE_CHECKING:
    from harness.stages.answers.keys_made import Keys
    from harness.stages.answers.told import Told

Telling = Mapping[str, "Told"]

ROOTS = "pcie_topology.root_complexes"
_MOST = 255
"""Root complexes that are looked at, as many as GPUs: a field may come from a hostile library."""
_MOST_NODE = 65535
_WORD = 32


def _placed(made: Keys, said: Told, told: Telling) -> None:
    """The root complexes up to the GPU's own, which has all that is known; the others are those of other GPUs."""
    root, address = told.get("topology.root"), made.values.get("pci.bus_id")
    if root is None or root.code or root.value >= _MOST or address is None:
        return
    own: dict[str, Any] = {"id": _name(root.value)}
    node, cpus = told.get("topology.numa_node"), told.get("topology.cpus")
    if node is not None and not node.code and node.value <= _MOST_NODE:
        own["numa_node"] = node.value
    own["devices"] = [address]
    if cpus is not None and not cpus.code and cpus.value and len(cpus.value) * _WORD <= compile_topology.MOST_CPUS:
        own["cpu_affinity"] = ",".join(_ranges(cpus.value))
    made.put(ROOTS, [*({"id": _name(place)} for place in range(root.value)), own], said)


def _name(place: int) -> str:
    """The name of a root complex, which no call tells."""
    return f"unnamed{place}"


def _ranges(words: Sequence[int]) -> Iterator[str]:
    """The numbers of the bits that are set, as compile_topology reads them: 0-55,112-167."""
    mask = sum(word << (place * _WORD) for place, word in enumerate(words))
    first = None
    for number in range(mask.bit_length() + 1):
        if mask >> number & 1:
            first = number if first is None else first
        elif first is not None:
            yield str(first) if first == number - 1 else f"{first}-{number - 1}"
            first = None


def together(lists: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """The root complexes of a node out of what each of its GPUs says; the first GPU below one says its node and processors.

    An address that two GPUs have stands once: a GPU is below one root complex.
    """
    made: list[dict[str, Any]] = [{"id": _name(place)} for place in range(max(map(len, lists), default=0))]
    seen: set[str] = set()
    for listed in lists:
        own, entry = listed[-1], made[len(listed) - 1]
        devices = [address for address in own.get("devices") or () if address not in seen]
        seen.update(devices)
        entry.update({key: value for key, value in own.items() if key not in entry and key != "devices"})
        entry["devices"] = [*entry.get("devices", ()), *devices]
    return made


INVERSES: tuple[tuple[str, Callable[[Keys, Told, Telling], None]], ...] = tuple(
    (name, _placed) for name in ("topology.root", "topology.numa_node", "topology.cpus")
)
"""Field -> its inverse: whichever of them the keys do not make yet, the root complex says all three."""
