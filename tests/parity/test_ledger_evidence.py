"""Rows of the ledger that the captures show to be otherwise: what tests/spec/ledger.yaml says of them stands in the captures."""

from __future__ import annotations

from typing import Any

import pytest

from harness.stores import captures
from harness.text.model import Node
from tests.parity.mutations_board import SPACE


def read(node: Node, path: str) -> str:
    """The text at a path below a GPU."""
    for step in path.split("/"):
        node = next(child for child in node.children if child.tag == step)
    return str(node.text or "")


def gpus(name: str) -> list[Node]:
    query = captures.load(SPACE.captures, name).query
    assert query is not None
    return [node for node in query.root.children if node.tag == "gpu"]


@pytest.mark.parametrize(("name", "printed"), [
    ("b200-x8_580.105.08", {"host_id": "1", "peer_type": "Switch Connected", "module_id": "6"}),
    ("h100-sxm5-x8_580.105.08", {"host_id": "N/A", "module_id": "7"}),
    ("a100-sxm4-40gb-x1_570.148.08", {"host_id": "N/A", "module_id": "7"}),
    ("l40s-x1_595.91.07", {"host_id": "N/A", "module_id": "1"}),
    ("t4-x1_595.91.07", {"host_id": "N/A", "module_id": "1"}),
])  # fmt: skip
def test_boards_other_than_those_with_a_grace_processor_have_values_of_the_platform(name: str, printed: dict[str, Any]) -> None:
    """E08 says that all of their block is N/A."""
    assert {member: read(gpus(name)[0], f"platformInfo/{member}") for member in printed} == printed


@pytest.mark.parametrize(("name", "mib", "count", "said_gib", "said_count"), [
    ("gb300-x4_580.173.02", 284208, 4, 278, 4), ("gb200-x4_580.173.02", 189471, 4, 186, 4), ("b200-x8_580.105.08", 183359, 8, 180, 8),
    ("h100-sxm5-x8_580.105.08", 81559, 8, 80, 8), ("a100-sxm4-40gb-x1_570.148.08", 40960, 1, 40, 8), ("l40s-x1_595.91.07", 46068, 1, 48, 8),
    ("t4-x1_595.91.07", 15360, 1, 16, 8),
])  # fmt: skip
def test_memory_and_gpus_are_not_those_of_another_products_profiles(name: str, mib: int, count: int, said_gib: int, said_count: int) -> None:
    """U18 says them; not one capture has both."""
    found = gpus(name)
    assert (read(found[0], "fb_memory_usage/total"), len(found)) == (f"{mib} MiB", count)
    assert (mib, count) != (said_gib * 1024, said_count)
