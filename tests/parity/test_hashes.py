"""Hashes first: every committed capture against the raw file it came from, by code that the comparison does not use."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import pytest

from harness.stores import captures, goldens
from harness.stores.workspace import Workspace
from harness.text import scrub

ROOT = Path(__file__).resolve().parents[2]
SPACE = Workspace(ROOT)
IDS = SPACE.ids()


@pytest.fixture(scope="session")
def raw_by_hash(raw_captures: Path) -> dict[str, Path]:
    """sha256 of a raw file -> its path, as MANIFEST.tsv has it."""
    with (raw_captures / "MANIFEST.tsv").open(encoding="utf-8", newline="") as stream:
        return {row["sha256"]: raw_captures / row["file"] for row in csv.DictReader(stream, delimiter="\t")}


def test_there_are_captures_to_check():
    assert len(IDS) >= 4


@pytest.mark.parametrize("name", IDS)
def test_a_raw_file_scrubbed_again_gives_the_goldens_hashes(name: str, raw_by_hash: dict[str, Path]):
    golden = goldens.load(SPACE.golden / f"{name}.yaml")
    files = {view: raw_by_hash[hashes.raw].read_bytes() for view, hashes in golden.views.items()}
    assert goldens.differences(golden, files, scrub.scrub(files).files) == []


@pytest.mark.parametrize("name", IDS)
def test_a_transcript_gives_the_bytes_that_the_golden_hashed(name: str):
    golden = goldens.load(SPACE.golden / f"{name}.yaml")
    capture = captures.load(SPACE.captures, name)
    assert set(capture.texts) == set(golden.views) == set(capture.sidecar.views)
    for view, text in capture.texts.items():
        assert hashlib.sha256(text.to_bytes()).hexdigest() == golden.views[view].scrubbed == capture.sidecar.views[view].scrubbed
        assert capture.sidecar.views[view].raw == golden.views[view].raw


@pytest.mark.parametrize("name", IDS)
def test_nothing_committed_still_looks_like_an_identifier(name: str):
    for text in captures.load(SPACE.captures, name).texts.values():
        assert scrub.residue(text.to_bytes()) == []


def test_the_sources_page_is_that_of_the_sidecars():
    from harness.stages.importing import sources

    assert (SPACE.captures / sources.NAME).read_text("utf-8") == sources.table(SPACE)
