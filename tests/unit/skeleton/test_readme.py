"""The README says what is so: its exit statuses are the program's, and every command it gives is run somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from harness.words.errors import EXIT_TABLE
from tests.unit.skeleton import tree

README = (tree.ROOT / "README.md").read_text("utf-8")
NEEDS_A_GPU = {"nvidia-smi -q -x > query.xml", "nvidia-smi -L > list.txt"}


def commands() -> list[str]:
    """Every line of every shell block."""
    return [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines() if line]


def test_the_exit_statuses_are_the_programs() -> None:
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", README, re.MULTILINE)
    assert rows == [(str(status), meaning) for status, meaning in EXIT_TABLE]


def test_every_command_is_run_by_the_gate_or_a_test() -> None:
    runs = [path.read_text("utf-8") for path in tree.files() if tree.name(path).startswith((".ci/", "tests/"))]
    assert [command for command in commands() if command not in NEEDS_A_GPU and not any(command in text for text in runs)] == []


def test_every_link_leads_to_a_file() -> None:
    pages = [path for path in tree.files() if path.suffix == ".md"]
    links = [(page, target) for page in pages for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8"))]
    assert [f"{tree.name(page)}: {target}" for page, target in links if ":" not in target and not (page.parent / target).exists()] == []


def test_the_version_is_in_the_changelog() -> None:
    version = re.search(r'^version = "(.+)"$', (tree.ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert version
    assert f"\n## {version[1]}" in (tree.ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_output_on_the_first_screen_is_what_the_check_prints(library_path: Path) -> None:
    variables = {**os.environ, "PYTHONPATH": str(tree.ROOT), "NVPARITY_LIBRARY": str(library_path)}
    variables.pop("COLUMNS", None)
    (shown,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    boards = [line.split()[0] for line in shown.splitlines()[1:-1]]  # an imported board of one's own is not on the page
    check = [sys.executable, "-m", "harness.cli", "check", "--root", str(tree.ROOT), *boards]
    done = subprocess.run(check, capture_output=True, text=True, check=False, env=variables)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.rstrip() for line in done.stdout.splitlines()] == shown.splitlines()
