"""Proposals: written and read again the same; what was changed by hand or reaches outside the capture is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.stores import pending
from harness.stores.golden_reader import sha256
from harness.stores.pending import Change, Proposal
from harness.stores.workspace import Workspace
from harness.words.errors import InputError, UsageError

NEW = sha256(b"new\n")
CHANGES = (Change("profiles/a.yaml", "0" * 64, NEW), Change("golden/baselines/a.yaml", "1" * 64, None), Change("captures/a/listing.txt", None, NEW))
GOOD = Proposal("a", "derive", "derive again: another profile", None, CHANGES)


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    """A workspace in which ``GOOD`` is pending."""
    folder = tmp_path / pending.place("a")
    for change in CHANGES:
        if change.new is not None:
            (folder / change.file).parent.mkdir(parents=True)
            (folder / change.file).write_bytes(b"new\n")
    (folder / pending.PROPOSAL).write_text(pending.dump(GOOD), "utf-8")
    return Workspace(tmp_path)


def test_a_proposal_is_read_as_it_was_written(space: Workspace):
    assert pending.load(space, "a") == GOOD
    assert [change.kind for change in GOOD.changes] == ["changed", "removed", "new"]


def test_the_same_proposal_is_the_same_text():
    assert pending.dump(GOOD) == pending.dump(Proposal("a", "derive", "derive again: another profile", None, CHANGES))


def test_a_workspace_without_proposals_has_none(tmp_path: Path):
    assert pending.ids(Workspace(tmp_path)) == []
    with pytest.raises(UsageError, match="nothing is pending for 'a'; nothing is pending"):
        pending.select(Workspace(tmp_path), ("a",))


def test_a_name_that_is_not_pending_is_told_with_those_that_are(space: Workspace):
    assert pending.select(space, ()) == pending.select(space, ("a", "a")) == ["a"]
    with pytest.raises(UsageError, match="nothing is pending for 'b'; pending: a"):
        pending.select(space, ("b",))


def test_a_file_that_is_not_the_one_proposed_is_refused(space: Workspace):
    path = space.root / pending.place("a") / "profiles" / "a.yaml"
    for change in (lambda: path.write_bytes(b"other\n"), path.unlink):
        change()
        with pytest.raises(InputError, match=r"profiles/a\.yaml: not the file that was proposed"):
            pending.load(space, "a")
    assert pending.read(space, "a") == GOOD


@pytest.mark.parametrize(
    "file",
    ["../x", "/etc/passwd", "profiles/../../x", "profiles/b.yaml", "golden/rules.yaml", "captures/b/transcript.txt", "captures/a/../b", "golden/x",
     "captures/SOURCES.md", "profiles/drivers/../x.yaml", "mocklib/a.yaml", ""],
)  # fmt: skip
def test_a_proposal_reaches_nothing_but_its_capture_and_driver_nodes(file: str, space: Workspace):
    path = space.root / pending.place("a") / pending.PROPOSAL
    path.write_text(path.read_text("utf-8").replace("profiles/a.yaml", repr(file)), "utf-8")
    with pytest.raises(InputError, match=r"proposal.yaml:[0-9]+: .* is no file of the capture a and no driver node"):
        pending.read(space, "a")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("format: 1", "format: 7", "proposal.yaml:1: format 7 needs a newer nvparity"),
        ("id: a", "id: b", "`id` is the folder's name"),
        ("by: derive", "by: hand", "`by` one of import, record, derive, migrate"),
        ("why:", "wy:", "'wy' is no key here .did you mean 'why'"),
        ("  to: null", "  to: x", "`from` and `to` are sha256"),
        ("findings: null", "findings: many", "proposal.yaml:5: `findings` is how many there were, or null"),
        ("findings: null", "findings: true", "proposal.yaml:5: `findings` is how many there were, or null"),
    ],
)
def test_a_proposal_that_is_not_sound_is_refused(old: str, new: str, said: str, space: Workspace):
    path = space.root / pending.place("a") / pending.PROPOSAL
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    with pytest.raises(InputError, match=said):
        pending.read(space, "a")


def test_what_is_hidden_is_no_proposal(space: Workspace):
    (space.root / pending.FOLDER / ".DS_Store").write_bytes(b"x")
    assert pending.ids(space) == ["a"]


def test_a_folder_that_is_no_proposal_is_named(space: Workspace):
    (space.root / pending.FOLDER / "b").mkdir()
    with pytest.raises(InputError, match=r"pending/b: no proposal\.yaml in it: nothing that nvparity proposed; remove it"):
        pending.load(space, "b")
