"""A node made up for a test: the mock as its library, a program that prints texts made beforehand as its nvidia-smi."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.stages.live import Node
from harness.stages.live.node import VIEWS
from harness.stages.render import serving
from harness.stores.workspace import Workspace
from tests.conftest import ROOT

SPACE = Workspace(ROOT)
T4, GT1030 = "t4-x1_595.91.07", "geforce-gt-1030-x1_470.74"
AT = 1_790_000_000
"""The clock of a test's node."""
SCRIPT = """#!/bin/sh
case "$*" in "-q -x") view=q-x;; "-L") view=L;; *) exit 2;; esac
run=$(cat {folder}/$view.run 2>/dev/null || echo 1)
echo $((run + 1)) > {folder}/$view.run
cat {folder}/$view.$run 2>/dev/null || cat {folder}/$view.1
"""
Edit = Callable[[bytes], bytes]


def same(text: bytes) -> bytes:
    return text


@pytest.fixture
def node(tmp_path: Path, library_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Node]:
    """``node(T4, first=edit, second=edit, listed=edit)``: nvidia-smi prints the board's own texts as the edits leave them; ``root``: a workspace."""
    monkeypatch.setenv("NVPARITY_LIBRARY", str(library_path))

    def make(board: str, first: Edit = same, second: Edit | None = None, listed: Edit = same, root: Path | None = None) -> Node:
        image = tmp_path / "image"
        image.write_bytes(serving.image_bytes(SPACE.profile_path(board), SPACE))
        monkeypatch.setenv("NVPARITY_IMAGE", str(image))  # the library reads it in the child, as a real one reads its kernel's driver
        monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "state"))
        text, rows = (serving.render(SPACE.profile_path(board), SPACE, view).data for view in VIEWS)
        text = stamped(text)
        for name, data in (("q-x.1", first(text)), ("q-x.2", (second or first)(text)), ("L.1", listed(rows))):
            (tmp_path / name).write_bytes(data)
        return Node(root, dict(os.environ), lambda: AT, program(tmp_path, SCRIPT.format(folder=tmp_path)), library_path, 60)

    return make


def stamped(text: bytes) -> bytes:
    """``text`` with the clock of the node."""
    from harness.tables import moments

    start, end = text.index(b"<timestamp>") + len(b"<timestamp>"), text.index(b"</timestamp>")
    return text[:start] + moments.ctime(AT).encode() + text[end:]


def program(folder: Path, script: str) -> Path:
    path = folder / "nvidia-smi"
    path.write_text(script, "utf-8")
    path.chmod(0o755)
    return path
