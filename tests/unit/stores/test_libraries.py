"""The cache of branch libraries: whole or not at all, and the first of two that make the same one stands."""

from __future__ import annotations

from pathlib import Path

from harness.stores.libraries import LibraryCache


def test_one_that_another_process_made_meanwhile_stands(tmp_path: Path):
    cache = LibraryCache(tmp_path / "libraries")

    def make() -> bytes:
        assert cache.fetch("key", "1.2", lambda: b"first").read_bytes() == b"first"
        return b"second"

    assert cache.fetch("key", "1.2", make).read_bytes() == b"first"
    assert [path.name for path in cache.folder.iterdir()] == ["key"]


def test_one_that_is_no_longer_whole_is_made_again(tmp_path: Path):
    cache = LibraryCache(tmp_path / "libraries")
    path = cache.fetch("key", "1.2", lambda: b"first")
    (path.parent / "libnvidia-ml.so.1.2").unlink()
    assert cache.fetch("key", "1.2", lambda: b"again").read_bytes() == b"again"
    assert [path.name for path in cache.folder.iterdir()] == ["key"]
