"""The capture store: whole folders, written once."""

from __future__ import annotations

import pytest

from harness.stores import captures
from harness.text import document, listing, transcript
from harness.words.errors import InputError, UsageError
from tests.unit.text import samples

VIEW = captures.View("a" * 64, "b" * 64, 1234)


def capture(name: str = "a100-x2_570.148.08", views: str = "q-x L") -> captures.Capture:
    texts: dict[str, document.Document | listing.Listing] = {}
    texts |= {"q-x": document.read(samples.query(2).encode()), "L": listing.read(samples.LIST.encode())}
    chosen = views.split()
    source = captures.Source(repository="x/y", commit="abc", path="a/b.xml", licence="MIT", text="told: by mail")
    sidecar = captures.Sidecar(name, "own", "570.148.08", dict.fromkeys(chosen, VIEW), source, {"uuid": 2}, ("a note: with a colon",))
    return captures.Capture(sidecar, {view: texts[view] for view in chosen})


@pytest.mark.parametrize(
    ("views", "files"),
    [
        ("q-x L", ["listing.txt", "sidecar.yaml", "transcript.txt"]),
        ("q-x", ["sidecar.yaml", "transcript.txt"]),
        ("L", ["sidecar.yaml", "transcript.txt"]),
    ],
)
def test_a_capture_survives_its_folder(tmp_path, views, files):
    given = capture(views=views)
    folder = captures.write(tmp_path / "captures", given)
    assert sorted(path.name for path in folder.iterdir()) == files
    found = captures.load(tmp_path / "captures", given.sidecar.id)
    assert found == given
    assert (found.query is not None, found.list is not None) == ("q-x" in views, "L" in views)
    assert [path.name for path in (tmp_path / "captures").iterdir()] == [given.sidecar.id]


def test_every_file_says_its_format_first(tmp_path):
    folder = captures.write(tmp_path, capture())
    assert {path.read_text().split("\n")[0] for path in folder.iterdir()} == {"format: 1"}


def test_an_id_that_exists_is_refused_and_kept(tmp_path):
    captures.write(tmp_path, capture())
    before = (tmp_path / "a100-x2_570.148.08" / "sidecar.yaml").read_bytes()
    with pytest.raises(InputError, match="exists; choose another id"):
        captures.write(tmp_path, capture(views="L"))
    assert (tmp_path / "a100-x2_570.148.08" / "sidecar.yaml").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a100-x2_570.148.08"]


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".x", "a b"])
def test_what_is_no_id_is_refused(tmp_path, name):
    with pytest.raises(UsageError):
        captures.write(tmp_path, capture(name))
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(transcript, "dump", lambda _text: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        captures.write(tmp_path, capture())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("sidecar.yaml", "format: 1", "format: 7", r"sidecar\.yaml:1: format 7 needs a newer"),
        ("sidecar.yaml", "id: a100", "id: b100", r"sidecar\.yaml:2: id 'b100-x2_570.148.08' in a folder called"),
        ("sidecar.yaml", "kind: own", "kind: won", r"sidecar\.yaml:3: 'won' is no kind"),
        ("sidecar.yaml", "  licence:", "  license:", r"sidecar\.yaml:9: 'license' is no key here .did you mean 'licence'"),
        ("sidecar.yaml", "  q-x:", "  qx:", r"sidecar\.yaml:1[0-9]: `views` holds"),
        ("sidecar.yaml", "    bytes: 1234", "    bytes: many", r"view q-x needs raw and scrubbed"),
        ("transcript.txt", "driver_version: ", "driver version: ", r"transcript\.txt:8: "),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, file, old, new, said):
    folder = captures.write(tmp_path, capture())
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=said):
        captures.load(tmp_path, folder.name)


def test_a_missing_file_is_named(tmp_path):
    folder = captures.write(tmp_path, capture())
    (folder / "listing.txt").unlink()
    with pytest.raises(InputError, match=r"listing\.txt: cannot be read"):
        captures.load(tmp_path, folder.name)
