"""Leave one out: the node of a driver seen by several captures, made again from all but one of them, prints that one: elements and order.

What nothing tells cannot fit: the inside of a block, or of a list's entries, that none of the node's other captures shows open.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.parity import leave_one_out
from tests.parity.mutations_library import Served

PAIRS = [(version, name) for version, names in leave_one_out.by_driver().items() for name in names]


@pytest.fixture(scope="module")
def served(library_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Served:
    return Served(library_path, tmp_path_factory.mktemp("served"))


def places(name: str) -> set[str]:
    """The elements that a capture shows, without their numbers."""
    return {plain(path) for path, _ in leave_one_out.query(name).root.walk()}


def plain(path: str) -> str:
    return re.sub(r"\[[0-9]+\]", "", path)


def untold(path: str, others: set[str]) -> bool:
    """Whether the block around ``path`` is open in none of the captures that the node was made from; ``others``: their elements."""
    around = plain(path).rpartition("/")[0]
    return around != "" and not any(place.startswith(f"{around}/") for place in others)


@pytest.mark.parametrize(("version", "name"), PAIRS)
def test_a_node_made_from_the_other_captures_of_its_driver_prints_the_one_left_out(version: str, name: str, served: Served, record_property):
    others = [other for other in leave_one_out.by_driver()[version] if other != name]
    fit = leave_one_out.fit(name, leave_one_out.learnt_from(version, map(leave_one_out.query, others)), served)
    shown = set().union(*map(places, others))
    excused = {one for one in fit.differences if untold(one.path, shown)}
    assert fit.differences - excused == set()
    assert {path for path in fit.own if not untold(path, shown)} == set(), "explained by the node that every capture made, not by this one"
    words = sorted({f"{plain(one.path)} {one.kind}" for one in excused} | {f"{plain(path)} unmodelled" for path in fit.own})
    record_property(
        "figure",
        f"leave one out {version} from {len(others)}: {name}: {fit.elements} elements, {len(fit.differences)} differ"
        + (f" ({', '.join(words)}: nothing tells)" if words else "")
        + f", {len(fit.unmodelled)} unmodelled",
    )


def test_what_nothing_tells_is_the_inside_of_a_block_that_no_other_capture_shows_open():
    others = {"gpu", "gpu/uuid", "gpu/remapped_rows", "gpu/processes", "gpu/processes/process_info", "gpu/processes/process_info/pid"}
    assert untold("gpu[0]/remapped_rows/inactive", others)
    assert untold("gpu[0]/ecc_errors/volatile/sram", others)
    assert not untold("gpu[0]/processes/process_info[0]/name", others)
    assert not untold("gpu[0]/serial", others)
    assert not untold("cuda_version", others)
