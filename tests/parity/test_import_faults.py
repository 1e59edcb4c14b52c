"""Imports that are interrupted, run out of room or meet one another: never half a board, and the next one finds its way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path

import pytest

from harness.cli import guard
from harness.stages.importing import neighbours, pipeline
from harness.stores import pending
from harness.stores.workspace import Workspace
from harness.words.errors import MissingError

pytestmark = [pytest.mark.usefixtures("served_library"), pytest.mark.hostile]
ROOT = Path(__file__).resolve().parents[2]
Capsys = pytest.CaptureFixture[str]


def files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_a_failure_while_settling_takes_everything_back(space: Workspace, query: Path, monkeypatch: pytest.MonkeyPatch):
    rename = Path.rename

    def failing(path: Path, target: Path) -> Path:
        if "captures" in str(target) and ".import-" in str(path):
            raise OSError(28, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(MissingError, match="No space left"):
        pipeline.run(space, [query])
    assert files(space.root) == set()


def test_an_import_that_is_killed_leaves_no_capture(space: Workspace, query: Path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "harness.cli", "import", str(query), "--root", str(space.root)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    while not list(space.root.glob(".import-*")) and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert space.ids() == []
    assert pipeline.run(space, [query]).parity
    assert list(space.root.glob(".import-*")) == []


def test_a_workspace_that_cannot_be_written_is_status_4(space: Workspace, query: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_args: object, **_more: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.raises(MissingError, match="Permission denied"):
        pipeline.run(space, [query])


KILLED = """
import os, signal, sys
from pathlib import Path
from harness.cli import guard
count, rename = int(sys.argv[1]), Path.rename

def renamed(path, target):
    global count
    if ".import-" in str(path) and ".import-" not in str(target):
        count -= 1
        if count < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return rename(path, target)

Path.rename = renamed
sys.exit(guard.run(sys.argv[2:]))
"""


@pytest.mark.parametrize("renames", [0, 2, 4])
def test_an_import_killed_between_two_renames_is_taken_back_by_the_next(renames: int, space: Workspace, query: Path):
    query.write_text(query.read_text().replace("595.91.07", "596.10"))  # a node of its own: five things are renamed
    arguments = ["import", str(query), "--root", str(space.root), "--id", "a"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", KILLED, str(renames), *arguments], env=environment, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL
    assert space.ids() == []
    assert guard.run(arguments) == 0
    assert guard.run(["check", "--root", str(space.root)]) == 0
    assert not list(space.root.glob(".import-*"))


def test_what_follows_the_renames_takes_them_back_when_it_fails(space: Workspace, query: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupt(_space: Workspace, _staged: Workspace) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("harness.stages.importing.sources.write", interrupt)
        assert guard.run(["import", str(query), "--root", str(space.root)]) == 130
    assert files(space.root) == set()
    assert pipeline.run(space, [query]).parity


def test_a_full_disk_is_status_4_names_the_place_and_leaves_nothing(
    space: Workspace, query: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def full(_path: Path, _data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("harness.stores.goldens._write_whole", full)
    assert guard.run(["import", str(query), "--root", str(space.root)]) == 4
    said = capsys.readouterr().err
    assert said == f"nvparity: {space.root}/profiles/t4-x1_595.91.07.yaml: cannot be written: No space left on device\n"
    assert files(space.root) == set()


def test_a_capture_whose_node_would_break_another_of_its_version_is_refused(
    space: Workspace, query: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    text = query.read_text().replace("595.91.07", "596.10")
    query.write_text(text)
    other = tmp_path / "other.xml"
    other.write_text("".join(line for line in text.splitlines(keepends=True) if "<fan_speed>" not in line))
    assert guard.run(["import", str(query), "--root", str(space.root), "--id", "a"]) == 0
    before = {name: (space.root / name).read_bytes() for name in files(space.root)}
    assert guard.run(["import", str(other), "--root", str(space.root), "--id", "b"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "driver node 596.10" in line
    assert "no longer print a:" in line
    assert {name: (space.root / name).read_bytes() for name in files(space.root)} == before


def test_driver_nodes_that_another_import_changes_meanwhile_are_taken_up(space: Workspace, query: Path, monkeypatch: pytest.MonkeyPatch):
    query.write_text(query.read_text().replace("595.91.07", "596.10"))
    hold, others = neighbours.hold, ["b", "c"]

    def meanwhile(staged: Workspace, own: Workspace, names: Collection[str], node: str | None) -> None:
        hold(staged, own, names, node)
        if "a" in names and others:
            query_of_other = query.with_name("other.xml")
            query_of_other.write_text(query.read_text().replace("596.10", f"597.{len(others)}0"))
            pipeline.run(own, [query_of_other], others.pop())

    monkeypatch.setattr("harness.stages.importing.neighbours.hold", meanwhile)
    assert pipeline.run(space, [query], "a").parity
    assert space.ids() == ["a", "b", "c"]
    assert guard.run(["check", "--root", str(space.root)]) == 0


@pytest.mark.parametrize("propose", [False, True])
@pytest.mark.parametrize("same", [False, True])
def test_an_id_that_another_import_takes_meanwhile_is_left_to_it(
    same: bool, propose: bool, space: Workspace, query: Path, monkeypatch: pytest.MonkeyPatch
):
    other = query.with_name("other.xml")
    other.write_text(query.read_text() if same else query.read_text().replace("<gpu_temp>33 C<", "<gpu_temp>44 C<"))
    hold = neighbours.hold

    def meanwhile(*arguments: object) -> None:
        monkeypatch.setattr("harness.stages.importing.neighbours.hold", hold)
        pipeline.run(space, [other], propose=propose)

    monkeypatch.setattr("harness.stages.importing.neighbours.hold", meanwhile)
    name = "t4-x1_595.91.07"
    if same:
        with pytest.raises(pipeline.KnownError, match=f"already {'pending' if propose else 'imported'} as {name}:"):
            pipeline.run(space, [query], propose=propose)
    else:
        assert pipeline.run(space, [query], propose=propose).id == f"{name}_2"
    found = pending.ids(space) if propose else space.ids()
    assert found == ([name] if same else [name, f"{name}_2"])
    texts = [path.read_text() for path in sorted(space.root.glob("**/transcript.txt"))]
    assert ["44 C" in text for text in texts] == ([False] if same else [True, False])
