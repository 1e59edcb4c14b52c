"""The README says what is so: its exit statuses are the program's, and every command it gives is run somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from harness.stores import captures
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


def test_the_rows_on_the_first_screen_are_what_the_check_prints(library_path: Path) -> None:
    """Cell by cell: the page has fewer columns than a pipe gets, each as wide as the widest of all captures."""
    shown, *_ = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    rows = [line.split() for line in shown.splitlines()[:-2]]
    variables = {**os.environ, "PYTHONPATH": str(tree.ROOT), "NVPARITY_LIBRARY": str(library_path)}
    variables.pop("COLUMNS", None)
    check = [sys.executable, "-m", "harness.cli", "check", "--root", str(tree.ROOT), *(row[0] for row in rows[1:])]
    done = subprocess.run(check, capture_output=True, text=True, check=False, env=variables)
    assert (done.returncode, done.stderr) == (0, "")
    printed = [line.split() for line in done.stdout.splitlines()][: len(rows)]
    columns = [printed[0].index(name) for name in rows[0]]
    assert [[cells[column] for column in columns] for cells in printed] == rows


def test_the_sum_on_the_first_screen_claims_no_more_than_there_is() -> None:
    """A board of one's own adds to it."""
    sums = re.search(r"^parity: (\d+) of (\d+) captures, (\d+) elements, 0 findings, (\d+) edited: not compared$", README, re.MULTILINE)
    assert sums
    equal, compared, elements, edited = map(int, sums.groups())
    kinds = [captures.load_sidecar(path).kind for path in sorted((tree.ROOT / "captures").glob("*/sidecar.yaml"))]
    assert equal == compared <= len(kinds) - kinds.count("edited")
    assert edited <= kinds.count("edited")
    assert elements > 0
