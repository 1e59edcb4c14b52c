"""Every real capture by itself is a stranger's: imported into an empty workspace it reaches parity, and no file of the repository changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.stages.importing import pipeline, roundtrip, source
from harness.stores.workspace import Workspace
from harness.text import transcript
from tests.parity import raw_files

STRANGER = "a-strangers-own-id"
KEPT = ("captures", "profiles", "golden")
MOST_BYTES = 45_000
"""Of a transcript, that of the largest node included (eight B200)."""
MOST_VERBATIM = {"qx": 0.02}
"""Share of a re-indented query's lines that its transcript keeps as they stand."""


def digest(root: Path) -> dict[str, str]:
    """Every file of the folders that hold captures, profiles and goldens, by its hash."""
    files = [path for folder in KEPT for path in sorted((root / folder).rglob("*")) if path.is_file()]
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def untouched(repository: Path) -> Iterator[None]:
    """Holds the repository's own files to what they were before the test."""
    before = digest(repository)
    yield
    assert digest(repository) == before


@pytest.mark.parametrize("name", raw_files.listed("qx"))
def test_a_strangers_capture_reaches_parity_with_no_file_of_the_repository_changed(
    name: str,
    tmp_path: Path,
    raw_capture: Callable[[str], Path],
    library_path: Path,
    untouched: None,
    monkeypatch: pytest.MonkeyPatch,
    record_property,
):
    file = raw_capture(name)
    monkeypatch.setenv("NVPARITY_LIBRARY", str(library_path))
    (tmp_path / "work").mkdir()
    made = pipeline.run(Workspace(tmp_path / "work"), [file], STRANGER)
    (case,) = made.cases
    assert [(finding.path, finding.kind) for finding in case.findings] == []
    assert made.parity
    assert case.bytes == ("equal" if made.kind == "own" else "n/a")
    counts = case.counts
    assert counts.exact + counts.unmodelled + counts.redacted + counts.deferred == counts.elements > 0
    assert counts.unmodelled <= len(made.unmodelled)
    node = "a node learnt" if made.learnt is not None else "its node known"
    told = f"{counts.elements} elements, {counts.exact} exact, {counts.unmodelled} verbatim, {counts.redacted} redacted"
    record_property("figure", f"stranger  {name}: {made.kind}, {node}, {told}")


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in ("qx", "L") for name in raw_files.listed(kind, real=False)])
def test_a_raw_file_is_its_transcript_byte_for_byte(kind: str, name: str, raw_capture: Callable[[str], Path], record_property):
    data = raw_capture(name).read_bytes()
    trip = roundtrip.trip(data, name)
    assert trip.differs is None
    assert trip.kind != "own" or trip.verbatim == 0
    assert trip.verbatim <= trip.lines * MOST_VERBATIM.get(kind, 1.0)
    if kind == "L":
        assert trip.verbatim <= foreign_lines(data)
    size = len(transcript.dump(source.read(data, name)).encode())
    assert size <= MOST_BYTES
    record_property(
        "figure", f"roundtrip {name}: {trip.kind}, verbatim {trip.verbatim} of {trip.lines} lines, transcript {size} bytes of {len(data)}"
    )


def foreign_lines(data: bytes) -> int:
    """Lines of a list that nvidia-smi did not write as they stand: an identifier elided, or words behind the row."""
    lines = data.decode("utf-8", "replace").splitlines()
    return sum(1 for line in lines if line.strip() and ("..." in line or not line.rstrip().endswith(")")))
