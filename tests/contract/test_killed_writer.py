"""What Python writes into a state, its process killed before any of its stores."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.killed_writer import COMMANDS, writes

ROOT = Path(__file__).resolve().parents[2]
COMMITS = {"reset everything": 3, "temp 85 --gpu all": 2, "reset": 2, "recipe xid-94 --gpu 0": 2, "apply": 2}
"""Changes that a write makes one after the other: of each record, and an event; every other write is one."""


def killed(library: Path, folder: Path, environment: dict[str, str], what: str) -> dict[str, tuple[int, int, str]]:
    """Write -> how many stores it was killed before, commits that were seen, and what was wrong."""
    command = [sys.executable, "-m", "tests.contract.killed_writer", str(library), str(folder), what]
    done = subprocess.run(command, cwd=ROOT, env=environment | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return {name: (stores, commits, wrong) for name, stores, commits, wrong in map(json.loads, done.stdout.splitlines())}


@pytest.mark.hostile
@pytest.mark.parametrize(("what", "names"), [("states", set(writes())), ("commands", {" ".join(words) for words in COMMANDS})])
def test_every_write_from_python_killed_before_any_of_its_stores_leaves_what_one_of_its_commits_did(
    what: str, names: set[str], library_path: Path, tmp_path: Path, clean_environment: dict[str, str]
) -> None:
    found = killed(library_path, tmp_path, clean_environment, what)
    assert set(found) == names
    assert {name: wrong for name, (_, _, wrong) in found.items() if wrong} == {}
    assert {name: commits for name, (_, commits, _) in found.items()} == {name: COMMITS.get(name, 1) for name in names}
    assert min(stores for stores, _, _ in found.values()) >= 6
