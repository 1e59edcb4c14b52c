"""Recipes on boards that have their rows: exactly the rows that a recipe names move, on the GPU it is put on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.stages import recipes as putting
from harness.stages.importing import source
from harness.stages.render import serving, session
from harness.stages.render.process import Job, Rendered
from harness.stores import profiles, recipes
from harness.stores.workspace import Workspace

BOARDS = ("b200-x8_580.105.08", "gb200-x4_580.173.02", "t4-x1_595.91.07", "v100-pcie-32gb-x1_460.39")
NOT_THERE = ("N/A", "", "Requested functionality has been deprecated")
MOVING = ("ecc-storm", "fabric-stuck", "power-throttle", "reset-required", "row-remap-failed", "row-remap-pending", "thermal-throttle", "xid-48",
          "xid-94")  # fmt: skip


class Bench:
    """Renders profiles in this process; every image, and the state beside it, is a file of its own."""

    def __init__(self, library: Path, space: Workspace, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.library, self.space, self.folder, self.patch = library, space, folder, patch
        self.made = 0
        self.rendered: dict[str, Rendered] = {}

    def profile(self, board: str) -> profiles.Profile:
        """The board's profile, two of its GPUs at most, the first of them idle."""
        whole = profiles.load(self.space.profiles / f"{board}.yaml")
        first, *others = whole.devices[:2]
        return replace(whole, devices=(replace(first, values={**first.values, "clocks_throttle_reasons.gpu_idle": True}), *others))

    def render(self, profile: profiles.Profile) -> Rendered:
        self.made += 1
        image = self.folder / f"{self.made}.nvpimg"
        image.write_bytes(serving.packed(profile, self.space))
        self.patch.setenv("NVPARITY_IMAGE", str(image))
        self.patch.setenv("MOCK_NVML_STATE", str(image.with_suffix(".nvpstate")))
        return session.render(Job(str(self.library), str(image), str(self.space.root), "q-x"))

    def base(self, board: str) -> Rendered:
        """The board as its profile has it."""
        return self.kept(board, self.profile(board))

    def kept(self, key: str, profile: profiles.Profile) -> Rendered:
        if key not in self.rendered:
            self.rendered[key] = self.render(profile)
        return self.rendered[key]

    def under(self, board: str, name: str) -> Rendered:
        """The board with the recipe on its first GPU."""
        profile = self.profile(board)
        first, *others = profile.devices
        given: Mapping[str, Any] = putting.keys_for(recipes.find(self.space, name), first, 0)
        return self.kept(f"{board} {name}", replace(profile, devices=(replace(first, values={**first.values, **given}), *others)))


@pytest.fixture(scope="module")
def bench(library_path: Path, repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with pytest.MonkeyPatch.context() as patch:
        yield Bench(library_path, Workspace(repository), tmp_path_factory.mktemp("recipes"), patch)


def texts(rendered: Rendered) -> dict[str, str]:
    """Path -> text of every leaf."""
    return dict(source.leaves(source.read(rendered.data, "rendered")))


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", MOVING)
def test_exactly_the_rows_that_a_recipe_names_move(name: str, board: str, bench: Bench) -> None:
    before, after = bench.base(board), bench.under(board, name)
    was, now = texts(before), texts(after)
    rows = {traced.path: traced.row for traced in before.trace}
    named = recipes.find(bench.space, name).moves
    assert was.keys() == now.keys()
    moved = {path for path in was if was[path] != now[path]}
    assert moved == {path for path in was if path.startswith("gpu[0]/") and rows.get(path) in named and was[path] not in NOT_THERE}


@pytest.mark.parametrize("name", MOVING)
def test_every_recipe_moves_something_somewhere(name: str, bench: Bench) -> None:
    assert any(texts(bench.base(board)) != texts(bench.under(board, name)) for board in BOARDS)
