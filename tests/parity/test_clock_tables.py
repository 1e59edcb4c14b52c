"""The clock table of a shipped profile is that of its capture, clock by clock, in the capture's order."""

from __future__ import annotations

from typing import Any

import pytest

from harness.stores import captures, profiles
from harness.text.model import Node
from tests.parity.mutations_board import SPACE

BOARDS = ("a100-sxm4-40gb-x1_570.148.08", "b200-x8_580.105.08", "gb300-x4_580.173.02", "geforce-gt-1030-x1_470.74", "v100-sxm3-32gb-x1_410.104")


def printed(gpu: Node) -> list[dict[str, Any]]:
    """The table as the capture prints it."""
    block = next(node for node in gpu.children if node.tag == "supported_clocks")
    table: list[dict[str, Any]] = []
    for memory in block.children:
        clocks = [str(clock.text) for clock in memory.children]
        table.append({"freq_mhz": int(clocks[0].split()[0]), "graphics_clocks": [int(clock.split()[0]) for clock in clocks[1:]]})
    return table


@pytest.mark.spec("I25")
@pytest.mark.parametrize("name", BOARDS)
def test_a_profile_has_the_clock_table_of_its_capture(name: str) -> None:
    query = captures.load(SPACE.captures, name).query
    assert query is not None
    gpus = [node for node in query.root.children if node.tag == "gpu"]
    assert gpus
    for gpu, device in zip(gpus, profiles.load(SPACE.profile_path(name)).devices, strict=False):
        assert device.values["supported_clocks.memory_clocks"] == printed(gpu)
