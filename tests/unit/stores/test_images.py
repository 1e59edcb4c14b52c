"""The image cache: made once, named by content, never half written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.stores import images
from harness.stores.images import ImageCache, cache_folder, key_of
from harness.words.errors import MissingError


def refuse():
    pytest.fail("made again")


def test_an_image_is_made_once(tmp_path: Path):
    cache = ImageCache(tmp_path / "new")
    path = cache.fetch("k", lambda: b"image")
    assert path.read_bytes() == b"image"
    assert cache.fetch("k", refuse) == path
    assert [made.name for made in cache.folder.iterdir()] == ["k.img"]


def test_a_maker_that_fails_leaves_nothing(tmp_path: Path):
    with pytest.raises(ZeroDivisionError):
        ImageCache(tmp_path).fetch("k", lambda: bytes(1 // 0))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_names_the_variable(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(MissingError, match="NVPARITY_CACHE"):
        ImageCache(tmp_path / "file" / "x").fetch("k", lambda: b"")


def test_the_longest_unused_go_first(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(images, "KEPT", 2)
    cache = ImageCache(tmp_path)
    for number, name in enumerate("ab"):
        os.utime(cache.fetch(name, lambda: b""), (number, number))
    cache.fetch("c", lambda: b"")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.img", "c.img"]


def test_keys_tell_where_parts_end():
    assert key_of([b"ab", b"c"]) != key_of([b"a", b"bc"])
    assert key_of([b"ab"]) == key_of(iter([b"ab"]))


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"NVPARITY_CACHE": "/c", "HOME": "/h"}, "/c"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/nvparity/images"),
        ({"HOME": "/h"}, "/h/.cache/nvparity/images"),
    ],
)
def test_where_images_are_kept(environment, folder):
    assert cache_folder(environment) == Path(folder)
