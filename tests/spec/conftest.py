"""The node that the ledger's rows are tried on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spec.serving import Node


@pytest.fixture(scope="session")
def node(library_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Node:
    """The library under test, open in this process."""
    return Node(library_path, tmp_path_factory.mktemp("rows"))
