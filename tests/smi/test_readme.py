"""What the README says of the real nvidia-smi is what a newcomer gets who types it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.skeleton import tree

SECTION = (tree.ROOT / "README.md").read_text("utf-8").partition("\n## The real nvidia-smi\n")[2].partition("\n## ")[0]
COMMANDS = {
    "nvparity run --driver 550 h100 -- build/smi/550/nvidia-smi": 3,
    "nvparity matrix --smi build/smi t4": 1,
}
"""Each command and how many of the lines shown are its."""


def test_each_command_prints_what_is_shown_of_it(smi_binaries: dict[int, Path], library_path: Path, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "nvparity"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m harness.cli "$@"\n', "utf-8")
    program.chmod(0o755)
    given = {"PYTHONPATH": str(tree.ROOT), "NVPARITY_LIBRARY": str(library_path), "NVPARITY_CACHE": str(tmp_path / "cache")}
    variables = {**os.environ, **given, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    (block,) = re.findall(r"```text\n(.*?)```", SECTION, re.DOTALL)
    shown = block.splitlines()
    assert len(shown) == sum(COMMANDS.values())
    if len(smi_binaries) < 10:
        pytest.skip("the page shows what ten binaries give")
    for command, count in COMMANDS.items():
        assert command in SECTION
        typed = command.replace("build/smi", str(smi_binaries[550].parent.parent))
        done = subprocess.run(typed, shell=True, cwd=tree.ROOT, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert set(shown[:count]) <= set(done.stdout.splitlines())
        shown = shown[count:]
