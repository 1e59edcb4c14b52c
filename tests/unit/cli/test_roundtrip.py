"""``nvparity roundtrip``: every file is told, and the worst of them is the exit status."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from harness.cli import guard
from harness.stages.importing import roundtrip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two good lists, one of them packed, and one file that is no capture."""
    rows = b"GPU 0: A (UUID: GPU-1)\n"
    (tmp_path / "a").write_bytes(rows)
    (tmp_path / "b").write_bytes(b"hello\n")
    (tmp_path / "c").write_bytes(gzip.compress(rows))
    return tmp_path


def test_a_file_that_is_no_capture_stops_no_other(folder: Path, capsys: pytest.CaptureFixture[str]):
    names = [str(folder / name) for name in ("a", "b", "no", "c")]
    assert guard.run(["roundtrip", *names]) == 3
    said = capsys.readouterr()
    assert said.out.splitlines() == [f"exact {name}: own, 0 of 1 lines kept verbatim" for name in (names[0], names[3])]
    assert [line.split(": ")[1] for line in said.err.splitlines()] == [names[1], names[2]]


def test_a_difference_is_the_first_line_and_status_1(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    trips = iter([roundtrip.Trip("own", 3, 0, 2), roundtrip.Trip("own", 3, 0, None)])
    monkeypatch.setattr(roundtrip, "trip", lambda data, name: next(trips))
    assert guard.run(["roundtrip", str(folder / "a"), str(folder / "c")]) == 1
    assert capsys.readouterr().out.splitlines() == [f"differs {folder / 'a'}:2", f"exact {folder / 'c'}: own, 0 of 3 lines kept verbatim"]
