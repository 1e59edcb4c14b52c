"""Where a GPU stands in its node: the root complex that names it, its NUMA node and processors; what the profile does not say is not known."""

from __future__ import annotations

import pytest

from harness.stages import compile_topology
from harness.words.errors import InputError

TWO = [
    {"id": "pci0000:00", "numa_node": 0, "devices": ["0000:07:00.0", "0000:0f:00.0"]},
    {"id": "pci0000:80", "numa_node": 1, "devices": ["0000:87:00.0"], "cpu_affinity": "0-3,36"},
]


def made(address: str | None, roots: object = TWO, **rest: object) -> dict[str, object]:
    values = {"pci.bus_id": address, "pcie_topology.root_complexes": roots, **{f"pcie_topology.{key}": value for key, value in rest.items()}}
    fields = {name: derive(values, {}) for name, derive in compile_topology.DERIVATIONS.items()}
    return {name: field.value if field.status == 0 else field.status for name, field in fields.items()}


def test_a_gpu_is_below_the_root_complex_that_names_its_address():
    assert made("00000000:0F:00.0", cores_per_numa=4) == {"topology_root": 0, "topology_numa_node": 0, "topology_cpus": (0xF,)}
    assert made("0000:0F:00.0")["topology_cpus"] == (0xFFFFFFFF, 0xFFFFFFFF)


def test_processors_that_are_named_win_over_those_of_the_node():
    assert made("0000:87:00.0", cores_per_numa=4) == {"topology_root": 1, "topology_numa_node": 1, "topology_cpus": (0xF, 0x10)}


@pytest.mark.parametrize(("address", "roots"), [("0000:99:00.0", TWO), (None, TWO), ("0000:07:00.0", None), ("0000:07:00.0", [])])
def test_what_the_profile_does_not_say_is_not_supported(address, roots):
    assert set(made(address, roots).values()) == {3}


@pytest.mark.parametrize("node", [None, -1])
def test_a_root_complex_of_no_numa_node_says_where_a_gpu_is_and_no_more(node):
    root = {"id": "pci0000:00", "devices": ["0000:07:00.0"], **({} if node is None else {"numa_node": node})}
    assert made("0000:07:00.0", [root]) == {"topology_root": 0, "topology_numa_node": 3, "topology_cpus": 3}


@pytest.mark.parametrize(
    ("roots", "said"),
    [
        ([*TWO, {"id": "pci0000:c0", "devices": ["0000:07:00.0"]}], r"0000:07:00.0 is in pci0000:00 and pci0000:c0; a GPU is below one"),
        ([{"id": "x", "devices": ["0000:07:00.0"], "cpu_affinity": "first ten"}], r"cpu_affinity 'first ten': expected processors such as"),
        ([{"id": "x", "devices": ["0000:07:00.0"], "cpu_affinity": "9-3"}], r"'9-3': expected processors"),
        ([{"id": "x", "devices": ["0000:07:00.0"], "cpu_affinity": "0-99999"}], r"processor 99999; the last one there may be is 8191"),
        ([{"id": "x", "devices": ["0000:07:00.0"], "numa_node": 60000}], r"NUMA node 60000 of 64 processors: processor 3840063"),
    ],
)
def test_a_topology_that_cannot_be_is_refused(roots, said):
    with pytest.raises(InputError, match=said):
        made("0000:07:00.0", roots)
