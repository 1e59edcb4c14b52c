"""Fixtures of the tests that hold builtin against the binaries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.smi.side_by_side import Pairs


@pytest.fixture(scope="module")
def pairs(smi_binaries: dict[int, Path], library_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pairs]:
    """Every binary whose driver the tree has a node of, beside builtin; the library finds no image but the pair's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NVPARITY_LIBRARY", str(library_path))
        patch.setenv("NVPARITY_IMAGE", "")
        patch.setenv("MOCK_NVML_STATE", "")
        yield Pairs(smi_binaries, library_path, tmp_path_factory.mktemp("pairs"))
