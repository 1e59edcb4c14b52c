"""Every view with every binary for boards that between them reach every path of the library: no crash, no hang, no byte that nobody wrote, no exit
status without a reason; and each gives what docs/views.md says.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.reports import matrix
from harness.stages import binaries
from harness.stages.matrix.running import Matrix
from harness.stores.workspace import Workspace
from harness.tables import views

ROOT = Path(__file__).resolve().parents[2]
BOARDS = (
    "p100-pcie-12gb-x2_375.66",  # Pascal with ECC; a driver older than most
    "geforce-gtx-1070-x6_384.66",
    "quadro-p400-x1_418.43",
    "v100s-pcie-32gb-x8_460.73.01",  # processes; no architecture told
    "geforce-gt-1030-x1_470.74",
    "grid-p4-1q-x1_513.46",  # a vGPU
    "geforce-rtx-3090-x1_525.147.05",
    "a100-sxm4-80gb-x1_535.54.03",
    "l4-x2_555.42.06",
    "h100-sxm5-x8_580.105.08",
    "gb200-x4_580.173.02",
    "t4-x1_595.91.07",
    "h100-sxm5-x8_nodrv",  # names and UUIDs alone
)
"""By hand all profiles are run: `nvparity matrix`."""


@pytest.mark.spec("Z17")
@pytest.mark.parametrize("board", BOARDS)
def test_every_view_ends_as_documented_and_gives_what_the_page_says(
    board: str, smi_binaries: dict[int, Path], served_library: Path, tmp_path: Path
) -> None:
    at_hand = binaries.Binaries(smi_binaries, served_library)
    found = [binary for binary in map(at_hand.of, at_hand) if binary is not None]
    space = Workspace(ROOT)
    run = Matrix(space, {board: space.profile_path(board)}, found, views.table().views, tmp_path)
    cells = list(run.cells())
    assert [f"{cell.branch} {cell.view}: {fault}" for cell in cells for fault in cell.faults] == []
    page = matrix.read_page((ROOT / "docs" / "views.md").read_text("utf-8"))
    for line in matrix.lines(cells):
        assert line.marks == matrix.on_page(page, line.view, board), f"{line.view}: nvparity matrix --page prints what belongs into docs/views.md"
