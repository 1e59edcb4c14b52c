"""MANIFEST.tsv: what it says of a file, and what is wrong with one that is no table."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from harness.stages.importing import manifest
from harness.stores.captures import Source
from harness.words.errors import InputError

HEAD = "file\tboard\trepo\tpath\tcommit\tlicence\treal_or_edited\tsha256\tnote\n"


def loaded(tmp_path: Path, *rows: str, head: str = HEAD) -> dict[str, manifest.Row]:
    (tmp_path / "MANIFEST.tsv").write_text(head + "".join(f"{row}\n" for row in rows))
    return manifest.load(tmp_path)


def test_a_row_is_the_source_of_its_file(tmp_path: Path):
    rows = loaded(tmp_path, "qx/a.xml\tT4\to/r\tdir/a.xml\tabc\tMIT [LICENSE]\treal: of a user\t\twhole file")
    assert rows == {"qx/a.xml": manifest.Row(Source("o/r", "abc", "dir/a.xml", "MIT", "real: of a user; whole file"), False, "", 2)}


@pytest.mark.parametrize(
    ("said", "edited"), [("EDITED: no driver", True), ("EDITED (UUIDs elided)", True), ("real (lightly edited): x", False), ("real, trimmed", False)]
)
def test_only_a_row_that_begins_so_is_edited(said: str, edited: bool, tmp_path: Path):
    assert loaded(tmp_path, f"a\t\t\t\t\t\t{said}\t\t")["a"].edited is edited


def test_a_folder_without_one_has_no_rows(tmp_path: Path):
    assert manifest.load(tmp_path) == {}


@pytest.mark.parametrize(
    ("rows", "head", "part"),
    [
        ([], HEAD.replace("licence", "license"), r"MANIFEST\.tsv:1: no column 'licence' \(did you mean 'license'\?\)"),
        (["a\tb"], HEAD, r"MANIFEST\.tsv:2: 2 cells, the head has 9 columns"),
        (["a" + "\t" * 6 + "real\t\t", "a" + "\t" * 6 + "real\t\t"], HEAD, r"MANIFEST\.tsv:3: a stands in line 2 already"),
        (["a" + "\t" * 8], HEAD, r"MANIFEST\.tsv:2: real_or_edited is ''; it begins with real or EDITED"),
        ([], "", r"MANIFEST\.tsv:1: no column 'file'"),
    ],
)
def test_what_is_no_such_table_is_refused_with_the_line(rows, head: str, part: str, tmp_path: Path):
    with pytest.raises(InputError, match=part):
        loaded(tmp_path, *rows, head=head)


def test_a_hash_that_is_given_is_checked(tmp_path: Path):
    data = b"text"
    row = loaded(tmp_path, f"a\t\t\t\t\t\treal\t{hashlib.sha256(data).hexdigest().upper()}\t")["a"]
    manifest.check(row, data, "a")
    manifest.check(None, data, "a")
    with pytest.raises(InputError, match=r"a: its sha256 is not the one in MANIFEST\.tsv:2"):
        manifest.check(row, data + b"x", "a")
