"""A library without some of its symbols truly lacks them, and answers as before otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from mocklib import binding, missing
from mocklib.binding import Answer
from mocklib.spec import ImageError

GONE = frozenset({"nvmlDeviceGetName", "nvmlSystemGetDriverBranch"})


def test_the_symbols_are_gone_and_all_others_answer(library_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NVPARITY_IMAGE", raising=False)
    path = tmp_path / "libnvidia-ml.so.1"
    path.write_bytes(missing.without(library_path.read_bytes(), GONE))
    whole, other = binding.open_library(library_path), binding.open_library(path)
    assert [name for name in binding.function_names() if other.function(name) is None] == sorted(
        {name for name in binding.function_names() if whole.function(name) is None} | GONE
    )
    assert other.init() == 0
    device = other.device(0)
    assert other.call("nvmlDeviceGetName", device) == Answer(13, missing=True)
    assert other.call("nvmlDeviceGetUUID", device).code == 0
    assert other.shutdown() == 0


def test_names_that_it_has_not_change_nothing(library_path: Path) -> None:
    data = library_path.read_bytes()
    assert missing.without(data, {"nvmlNoSuchThing", ""}) == data
    assert missing.without(data, ()) == data


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x01\x01" + bytes(100), b"#!/bin/sh\n", b"\x7fELF\x02\x03" + bytes(100)])
def test_what_is_no_64_bit_library_is_refused(data: bytes) -> None:
    with pytest.raises(ImageError):
        missing.without(data, GONE)


def test_a_library_that_is_cut_off_is_refused(library_path: Path) -> None:
    data = library_path.read_bytes()
    for size in (60, len(data) // 2):
        with pytest.raises(ImageError, match="table of symbols"):
            missing.without(data[:size], GONE)
