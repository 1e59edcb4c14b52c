"""Fixtures of the tests that hold builtin against the binaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

import pytest

from tests.smi.side_by_side import Pairs

STALE = pytest.mark.unsanitized("of a board without architecture 535 prints the ECC family that memory tells, which lies otherwise there", "threads")


def each_pair(branches: Iterable[int], boards: Iterable[str]) -> list[object]:
    """Every branch with every board, for pytest's ``parametrize``; ``gt1030`` is one without architecture."""
    return [pytest.param(*pair, marks=STALE if pair == (535, "gt1030") else ()) for pair in product(branches, boards)]


@pytest.fixture(scope="module")
def pairs(smi_binaries: dict[int, Path], library_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pairs]:
    """Every binary whose driver the tree has a node of, beside builtin; the library finds no image but the pair's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NVPARITY_LIBRARY", str(library_path))
        patch.setenv("NVPARITY_IMAGE", "")
        patch.setenv("MOCK_NVML_STATE", "")
        yield Pairs(smi_binaries, library_path, tmp_path_factory.mktemp("pairs"))
