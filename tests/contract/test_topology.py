"""How GPUs are connected and which processors are near them, by NVML's calls and by the slot that `topo -m` asks; nothing where nobody said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mocklib.image import FieldValue, Slot
from tests.contract import boards

Serve = Callable[..., Any]
PAIR = 23
TABLE_ID = bytes.fromhex("c4fe3e6cc98f6c4ea327ee696e12f7c4")
SAME, OTHER_ROOT, OTHER_NODE = 10, 30, 50
PATHS = {0: 0, 10: 0, 20: 1, 30: 2, 40: 3, 50: 4}
"""Level -> the number that `topo -m` prints as PIX, PXB, PHB, NODE or SYS."""
NO_LINK = 0xFFFFFFFF
"""What it prints as Unknown."""


def board(*places: Mapping[str, object]) -> Any:
    """A node of as many GPUs as ``places``, each with its topology's fields."""
    unknown = {f"topology__{name}": FieldValue(status=3) for name in ("root", "numa_node", "cpus", "default_level")}
    listed = [unknown | {f"topology__{name}": FieldValue(value) for name, value in place.items()} for place in places]
    devices = [boards.device(i, pci__bus_id=FieldValue(f"00000000:0{i}:00.0"), **place) for i, place in enumerate(listed)]
    return boards.spec(devices=devices, slots=[Slot(PAIR, "topology_pair")])


PLACED = ({"root": 0, "numa_node": 0, "cpus": (0xF,)}, {"root": 0, "numa_node": 0, "cpus": (0xF,)},
          {"root": 1, "numa_node": 0, "cpus": (0xF0, 1)}, {"root": 2, "numa_node": 65})  # fmt: skip


def ancestor(nvml: Any, one: int, other: int) -> tuple[int, int | None]:
    answer = nvml.call("nvmlDeviceGetTopologyCommonAncestor", nvml.device(one), {"device2": nvml.device(other)})
    return answer.code, answer.out.get("pathInfo")


def path(nvml: Any, one: bytes, other: bytes) -> tuple[int, int]:
    """Code and number of the slot, 99 before."""
    table, found = nvml.ffi.new("void **"), nvml.ffi.new("unsigned int *", 99)
    assert nvml.library.nvmlInternalGetExportTable(table, nvml.ffi.from_buffer(TABLE_ID)) == 0
    entry = nvml.ffi.cast("int (*)(const char *, const char *, void *)", nvml.ffi.cast("uintptr_t *", table[0])[PAIR])
    return int(entry(nvml.ffi.new("char[]", one), nvml.ffi.new("char[]", other), found)), int(found[0])


def test_the_level_of_a_pair_is_of_their_roots_and_numa_nodes(serve: Serve) -> None:
    nvml, _ = serve(board(*PLACED))
    assert [ancestor(nvml, 0, other) for other in range(4)] == [(0, 0), (0, SAME), (0, OTHER_ROOT), (0, OTHER_NODE)]
    assert path(nvml, b"00000000:00:00.0", b"00000000:03:00.0") == (0, PATHS[OTHER_NODE])


@pytest.mark.parametrize(("level", "number"), PATHS.items())
def test_a_level_of_all_pairs_is_told_by_call_and_slot(serve: Serve, level: int, number: int) -> None:
    nvml, _ = serve(board({"default_level": level}, {"default_level": level}))
    assert ancestor(nvml, 0, 1) == (0, level)
    assert path(nvml, b"00000000:00:00.0", b"00000000:01:00.0") == (0, number)


def test_nothing_is_said_of_a_pair_that_nobody_placed(serve: Serve) -> None:
    nvml, _ = serve(board({}, {}))
    assert ancestor(nvml, 0, 1) == (3, None)
    assert path(nvml, b"00000000:00:00.0", b"00000000:01:00.0") == (0, NO_LINK)
    assert nvml.call("nvmlDeviceGetCpuAffinity", nvml.device(0), {"cpuSetSize": 2}).code == 3


@pytest.mark.parametrize("address", [b"", b"00000000:09:00.0", b"00000000:01:00.0 and more"])
def test_an_address_of_no_gpu_is_linked_by_nothing(serve: Serve, address: bytes) -> None:
    nvml, _ = serve(board(*PLACED))
    assert path(nvml, b"00000000:00:00.0", address) == (0, NO_LINK)


def test_processors_near_a_gpu_are_bits_of_as_many_words_as_there_is_room_for(serve: Serve) -> None:
    nvml, _ = serve(board(*PLACED))
    ask = lambda gpu, size: nvml.call("nvmlDeviceGetCpuAffinity", nvml.device(gpu), {"cpuSetSize": size}).out["cpuSet"]  # noqa: E731 - said twice below
    assert ask(0, 2) == [0xF, 0]
    assert ask(2, 1) == [1 << 32 | 0xF0]
    node = nvml.call("nvmlDeviceGetMemoryAffinity", nvml.device(3), {"nodeSetSize": 2, "scope": 0})
    assert node.out["nodeSet"] == [0, 2]
    assert nvml.call("nvmlDeviceGetMemoryAffinity", nvml.device(3), {"nodeSetSize": 2, "scope": 1}).code == 3
