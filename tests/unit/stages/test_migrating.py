"""Formats: a reader takes this one and the one before, migrate rewrites or proposes, all or nothing.

format-1/ is a workspace as nvparity wrote it in format 1; it stays as it is for as long as format 1 is read.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli import guard
from harness.stages.compare import baselines
from harness.stages.importing import staging
from harness.stages.review import deciding, migrating
from harness.stores import captures, goldens, pending, profiles, sidecars
from harness.stores.workspace import Workspace
from harness.tables import drivers
from harness.words import fileformat
from harness.words.errors import GateError, InputError, MissingError, UsageError
from harness.words.fileformat import Formats

KEPT = Path(__file__).parent / "format-1"
Capsys = pytest.CaptureFixture[str]
NEXT = Formats(
    2,
    {
        ("sidecar", 1): lambda text: text.replace("remarks:", "notes:"),
        ("golden", 1): lambda text: text.replace("taken from the bytes", "taken from all bytes"),
        ("profile", 1): lambda text: text.replace("Tesla T4", "T4"),
    },
)
"""A format 2 that calls a sidecar's notes so, and in which a golden and a profile say something else."""


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    """The workspace of format 1."""
    shutil.copytree(KEPT, tmp_path / "work")
    return Workspace(tmp_path / "work")


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """An nvparity whose format is 2."""
    monkeypatch.setattr(fileformat, "FORMATS", NEXT)
    for writer in (goldens, baselines, sidecars, pending):
        monkeypatch.setattr(writer, "FORMAT", NEXT.current)
    monkeypatch.setattr(drivers, "_parsed", drivers._parsed.__wrapped__)


def state(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def everything(space: Workspace) -> list[Any]:
    """What the readers make of the workspace."""
    capture = captures.load(space.captures, "old")
    profile = profiles.load(space.profile_path("old"))
    return [
        capture.sidecar,
        capture.texts["L"].to_bytes(),
        goldens.load(space.golden / "old.yaml").views,
        (profile.system, [device.values["uuid"] for device in profile.devices]),
        baselines.load(baselines.path_of(space.golden, "old")),
        drivers.load(space.root).resolve("595.99").layout,
        space.short_names(),
    ]


def test_the_files_kept_from_format_1_are_of_format_1_and_of_every_kind():
    listed = migrating._files(Workspace(KEPT))
    found = {kind: fileformat.number_of((KEPT / file).read_text("utf-8")) for file, kind in listed}
    assert found == dict.fromkeys(["transcript", "sidecar", "profile", "golden", "baselines", "node", "boards"], 1)


def test_the_files_kept_from_format_1_are_read(space: Workspace):
    assert everything(space)[6] == {"mine": "old"}


def test_readers_of_the_next_format_take_the_files_of_this_one(space: Workspace, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest):
    before = everything(space)
    sidecar = space.captures / "old" / "sidecar.yaml"
    sidecar.write_text(sidecar.read_text("utf-8").replace("notes:", "remarks:"), "utf-8")
    with pytest.raises(InputError, match="'remarks' is no key"):
        everything(space)
    request.getfixturevalue("later")
    assert everything(space) == before


def test_readers_refuse_a_format_too_old_and_one_too_new_and_say_what_to_do():
    known = Formats(3)
    assert [fileformat.check_format(number, "f", known) for number in (2, 3)] == [2, 3]
    for number, said in (
        (1, r"f:1: format 1 is too old \(file format 1; this nvparity reads 2 and 3\); run `nvparity migrate` of the versions between"),
        (4, r"f:1: format 4 needs a newer nvparity \(file format 4; this one, [0-9.]+, reads 2 and 3\)"),
        (True, "no format number"),
        ("x", "no format number"),
        (0, "no format number"),
        (None, "no `format:` in the first line; every file of nvparity starts with it"),
    ):
        with pytest.raises(InputError, match=said):
            fileformat.check_format(number, "f:1", known)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("format: 1\nx: 2\n", 1),
        ("# a comment\n\nformat: 12 # so\n", 12),
        ("\ufeffformat: 1\r\n", 1),
        ("format: x\n", "x"),
        ("format: 99999999999\n", "99999999999"),
        ("x: 1\nformat: 1\n", None),
        ("", None),
    ],
)
def test_the_format_is_the_first_thing_in_a_file(text: str, number: object):
    assert fileformat.number_of(text) == number


def test_a_text_of_another_format_than_the_one_before_is_left_to_its_reader():
    for text in ("format: 2\nremarks: 1\n", "format: 9\nremarks: 1\n", "remarks: 1\n"):
        assert fileformat.upgraded("sidecar", text, NEXT) == text
    assert fileformat.upgraded("sidecar", "format: 1 # old\nremarks: 1\n", NEXT) == "format: 2 # old\nnotes: 1\n"


def test_nothing_is_old_in_the_repository(repository: Path):
    assert migrating.find(Workspace(repository)) == []


def test_migrate_rewrites_what_says_the_same_and_proposes_what_does_not(space: Workspace, later: None):
    before = state(space.root)
    found = migrating.find(space, formats=NEXT)
    assert {str(old.file) for old in found} == set(before)
    assert migrating.run(space, found) == ["old"]
    after = state(space.root)
    kept = {"golden/old.yaml", "profiles/old.yaml"}
    assert {name for name in before if after[name] == before[name]} == kept
    assert all(after[name] == before[name].replace(b"format: 1", b"format: 2", 1) for name in set(before) - kept)
    proposal = pending.load(space, "old")
    assert (proposal.by, [change.file for change in proposal.changes]) == ("migrate", sorted(kept))
    assert {str(old.file) for old in migrating.find(space, formats=NEXT)} == kept
    deciding.accept(space, ["old"], "ann")
    assert [device.values["name"] for device in profiles.load(space.profile_path("old")).devices] == ["T4", "T4"]
    assert goldens.load(space.golden / "old.yaml").by == "ann"


def test_migrate_takes_one_file_or_folder(space: Workspace, later: None, tmp_path: Path):
    assert {old.kind for old in migrating.find(space, space.captures, NEXT)} == {"transcript", "sidecar"}
    for name in ("answers.txt", "timeline.txt", "views.yaml"):
        (space.captures / "old" / name).write_text("format: 1\n")
    assert {old.kind for old in migrating.find(space, space.captures, NEXT)} == {"transcript", "sidecar", "answers", "timeline", "views"}
    assert [old.kind for old in migrating.find(space, space.profiles / "boards.yaml", NEXT)] == ["boards"]
    with pytest.raises(UsageError, match="no file of captures"):
        migrating.find(space, tmp_path / "elsewhere", NEXT)


@pytest.mark.parametrize("steps", [0, 2, 5])
def test_a_migration_that_fails_half_way_leaves_every_file_as_it_was(steps: int, space: Workspace, later: None, monkeypatch: pytest.MonkeyPatch):
    before, rename, count = state(space.root), Path.rename, [steps]

    def failing(path: Path, target: Path) -> Path:
        if staging.PREFIX in str(path) and "made" not in path.parts:
            count[0] -= 1
            if count[0] == -1:
                raise OSError(28, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(MissingError, match="No space left"):
        migrating.run(space, migrating.find(space, formats=NEXT))
    assert state(space.root) == before


def test_a_pending_proposal_of_another_command_is_not_overwritten(space: Workspace, later: None):
    folder = space.root / pending.place("old")
    folder.mkdir(parents=True)
    (folder / pending.PROPOSAL).write_text("format: 2\nid: old\nby: import\nwhy: x\nfindings: 0\nchanges: []\n")
    before = state(space.root)
    with pytest.raises(GateError, match="old: another proposal is pending"):
        migrating.run(space, migrating.find(space, formats=NEXT))
    assert state(space.root) == before


@pytest.fixture
def run(space: Workspace) -> Callable[..., int]:
    """A command on the workspace."""
    return lambda *arguments: guard.run([*arguments, "--root", str(space.root)])


def test_the_command_checks_rewrites_and_has_nothing_left_to_do(space: Workspace, run, later: None, capsys: Capsys):
    before = state(space.root)
    assert run("migrate", "--check") == 1
    said = capsys.readouterr().out
    assert "would rewrite captures/old/transcript.txt: transcript, format 1 -> 2\n" in said
    assert "pending golden/old.yaml: golden, format 1 -> 2\n" in said
    assert run("migrate", "--ci") == 1
    assert "in CI nothing is written: run nvparity migrate elsewhere" in capsys.readouterr().err
    assert state(space.root) == before
    assert run("migrate") == 0
    assert "rewrote captures/old/sidecar.yaml: sidecar, format 1 -> 2\n" in capsys.readouterr().out
    assert run("accept", "old", "--by", "ann") == 0
    capsys.readouterr()
    assert run("migrate", "--check") == 0
    assert capsys.readouterr().out == "nothing to do: every file is of format 2\n"


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("golden/old.yaml", "format: 7\n", "golden/old.yaml:1: format 7 needs a newer nvparity (file format 7; this one, "),
        ("captures/old/sidecar.yaml", "id: old\n", "captures/old/sidecar.yaml:1: no `format:` in the first line"),
        ("profiles/drivers/595.99.yaml", "format: 0\n", "profiles/drivers/595.99.yaml:1: format 0 is no format number"),
    ],
)
def test_a_file_that_cannot_be_migrated_is_named_and_nothing_is_written(
    file: str, text: str, said: str, space: Workspace, run, later, capsys: Capsys
):
    (space.root / file).write_text(text)
    before = state(space.root)
    assert run("migrate") == 3
    assert said in capsys.readouterr().err
    assert state(space.root) == before
