"""Baselines: written whole, read strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.stages.compare.baselines import Baselines, digest, load, path_of, write
from harness.words.errors import InputError

GOOD = Baselines("a", {"L": digest(b"GPU 0\n")}, "me", "agreed")


def test_what_is_written_is_read_again(tmp_path: Path):
    path = write(tmp_path, GOOD)
    assert path == path_of(tmp_path, "a")
    assert path.read_text().startswith("format: 1\n")
    assert load(path) == GOOD


def test_a_file_that_is_not_there_is_no_baseline(tmp_path: Path):
    assert load(path_of(tmp_path, "a")) is None


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("format: 1", "format: 9", "format"),
        ("id: a", "id: b", "`id`"),
        ("  L:", "  Q:", "no view"),
        (GOOD.views["L"], "12", "64 hexadecimal"),
        ("accepted:", "rejected:", "accepted"),
        ("format: 1", "- x", "YAML"),
    ],
)
def test_a_file_that_is_off_is_refused_with_its_place(tmp_path: Path, old: str, new: str, part: str):
    path = write(tmp_path, GOOD)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError, match=r"a\.yaml") as caught:
        load(path)
    assert part in str(caught.value)
