"""Every raw capture: read, scrubbed, transcribed, written again, the same bytes."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from harness.stores import golden_reader
from harness.text import document, listing, outline, rawbytes, scrub, transcript
from harness.text.model import Node


def rows(folder: Path, kind: str) -> list[dict[str, str]]:
    with (folder / "MANIFEST.tsv").open(newline="", encoding="utf-8") as stream:
        return [row for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE) if row["kind"] == kind]


@pytest.fixture(scope="module")
def queries(raw_captures) -> dict[str, bytes]:
    return {row["file"]: (raw_captures / row["file"]).read_bytes() for row in rows(raw_captures, "qx")}


@pytest.fixture(scope="module")
def lists(raw_captures) -> dict[str, bytes]:
    return {row["file"]: (raw_captures / row["file"]).read_bytes() for row in rows(raw_captures, "L")}


def test_every_query_survives_its_transcript(queries):
    assert len(queries) >= 42
    for name, data in queries.items():
        found = document.read(data, name)
        text = transcript.dump(found)
        again = transcript.load(text, name)
        assert again == found, name
        assert again.to_bytes() == data, name
        assert transcript.dump(again) == text, name


def test_own_layout_needs_no_verbatim_line_and_no_other_more_than_two_in_a_hundred(queries):
    own = 0
    for name, data in queries.items():
        found = document.read(data, name)
        own += found.kind == document.OWN
        assert found.verbatim_lines <= (0 if found.kind == document.OWN else data.count(b"\n") * 0.02), name
    assert own >= 17


def test_every_text_survives_its_transcript_at_a_quarter_of_its_size(raw_captures):
    sizes = [0, 0]
    found = rows(raw_captures, "q")
    assert len(found) >= 40
    for row in found:
        data = (raw_captures / row["file"]).read_bytes()
        read = outline.read(data, row["file"])
        text = transcript.dump(read)
        again = transcript.load(text, row["file"])
        assert again == read, row["file"]
        assert again.to_bytes() == data, row["file"]
        assert read.verbatim_lines <= 6, row["file"]
        assert len(read.gpus) == int(row["gpus"]) or row["real_or_edited"].startswith("EDITED") or read.kind == "trimmed", row["file"]
        sizes = [sizes[0] + len(data), sizes[1] + len(text)]
    assert sizes[1] * 4 < sizes[0]


def test_the_goldens_reader_finds_the_readings_of_every_text(raw_captures):
    for row in rows(raw_captures, "q"):
        data = (raw_captures / row["file"]).read_bytes()
        ours = [leaf for path, node in outline.read(data).root.walk() for leaf in _leaves(path, node)]
        assert [(plain(path), text.rstrip()) for path, text in golden_reader.leaves(data)] == ours, row["file"]


def plain(path: str) -> str:
    """``path`` without indices, and without the blanks at the ends of labels, which an editor may have taken off."""
    return re.sub(" +(?=/|$)", "", re.sub(r"\[[0-9]+\]", "", path))


def _leaves(path: str, node: Node) -> list[tuple[str, str]]:
    attributes = [(f"{plain(path)}/@{name}", text) for name, text in node.attributes.items()]
    return [*attributes, (plain(path), (node.text or "").rstrip())] if node.is_leaf else attributes


def test_every_list_survives_its_transcript(lists):
    assert len(lists) >= 54
    for name, data in lists.items():
        found = listing.read(data, name)
        again = transcript.load(transcript.dump(found), name)
        assert again == found, name
        assert again.to_bytes() == data, name
        assert found.gpus, name


def test_trimmed_is_what_the_manifest_calls_trimmed(raw_captures, queries):
    for row in rows(raw_captures, "qx"):
        found = document.read(queries[row["file"]], row["file"])
        assert (found.kind == document.TRIMMED) == ("real, trimmed" in row["real_or_edited"]), row["file"]
        assert len(found.gpus) == int(row["gpus"]), row["file"]


def test_a_transcript_is_small(queries):
    sizes = {name: len(transcript.dump(document.read(data, name))) for name, data in queries.items()}
    b200 = next(size for name, size in sizes.items() if name.startswith("qx/b200_"))
    assert b200 < 12_000
    assert max(sizes.values()) < 20_000


def test_clock_lists_are_one_line_each(queries):
    for name, data in queries.items():
        text = transcript.dump(document.read(data, name))
        assert "\n      supported_graphics_clock:" not in text, name
        lines = [line for line in text.split("\n") if "supported_mem_clock: {" in line]
        assert len(lines) <= data.count(b"<supported_mem_clock>"), name


def test_both_readers_read_the_same(queries):
    for name, data in queries.items():
        ours = [text.encode("latin-1") for path, text in golden_reader.leaves(data) if "@" not in path]
        assert ours == [rawbytes.encode(text) for _, text in document.read(data, name).root.leaves()], name


def test_scrub_keeps_lengths_layout_and_readings_that_are_no_identifier(queries, lists):
    for name, data in {**queries, **lists}.items():
        found = scrub.scrub({name: data}).files
        assert len(found[name]) == len(data), name
        assert scrub.scrub(found).files == found, name
        assert scrub.residue(found[name]) == [], name
    identifying = re.compile(r"serial|uuid|pdi|guid|process_name", re.IGNORECASE)
    for name, data in queries.items():
        before, after = document.read(data, name), document.read(scrub.scrub({name: data}).files[name], name)
        assert (before.layout, before.kind, before.doctype) == (after.layout, after.kind, after.doctype), name
        pairs = zip(before.root.leaves(), after.root.leaves(), strict=True)
        changed = [path for (path, old), (_, new) in pairs if old != new]
        assert [path for path in changed if not identifying.search(path)] == [], name


def test_one_changed_reading_changes_one_line(queries):
    """Each leaf of the smallest whole capture of several GPUs in turn."""
    data = min((data for data in queries.values() if data.count(b"<gpu id") == 2 and document.read(data).kind == document.OWN), key=len)
    before = transcript.dump(document.read(data)).split("\n")
    for place in list(re.finditer(rb">([^<>\n]+)</(?!attached_gpus)", data))[::7]:
        after = transcript.dump(document.read(data[: place.start(1)] + b"other 1" + data[place.end(1) :])).split("\n")
        assert len(after) == len(before)
        assert sum(one != other for one, other in zip(before, after, strict=True)) == 1, place.group()
