"""Goldens: hashes in a file, without a word of the capture."""

from __future__ import annotations

import pytest

from harness.stores import goldens
from harness.text import scrub
from harness.words.errors import InputError, MissingError
from tests.unit.text import samples

RAW = {"q-x": samples.query(2).encode(), "L": samples.LIST.encode()}
SCRUBBED = scrub.scrub(RAW).files


@pytest.fixture
def golden() -> goldens.Golden:
    return goldens.make("a100-x2_570.148.08", "own", RAW, SCRUBBED, "a person", "seen on hardware")


def test_a_golden_survives_its_file(golden, tmp_path):
    path = goldens.write(tmp_path, golden)
    assert path == tmp_path / "a100-x2_570.148.08.yaml"
    assert goldens.load(path) == golden
    assert path.read_text().startswith("format: 1\n")
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_the_golden_of_a_recording_has_its_hashes_on_one_line(golden, tmp_path):
    told = b'format: 1\nnode nvmlSystemGetNVMLVersion = SUCCESS {"version":"12.570"}\ngpu0 nvmlDeviceGetIndex = SUCCESS {"index":0}\n'
    raw = {**RAW, "answers": told}
    made = goldens.make(golden.id, "own", raw, {**SCRUBBED, "answers": told}, "record", "taken", recorded=True)
    path = goldens.write(tmp_path, made)
    assert goldens.load(path) == made
    moving = [line for line in path.read_text().splitlines() if line.startswith("sha256: {")]
    assert len(moving) == 1
    assert not [line for line in path.read_text().splitlines() if line not in moving and any(len(word) == 64 for word in line.split())]
    other = {**raw, "answers": told.replace(b'"index":0', b'"index":1')}
    found = goldens.differences(made, other, {**SCRUBBED, "answers": other["answers"]})
    assert [line for line in found if "readings" in line] == [
        f"{made.id}: answers: readings of GPU 0 differ", f"{made.id}: answers: readings of section gpu differ",
    ]  # fmt: skip
    path.write_text(path.read_text().replace("sha256: {", "views: {}\nsha256: {"))
    with pytest.raises(InputError, match="a recording's golden has `sha256`, any other `views`"):
        goldens.load(path)


def test_no_text_of_the_capture_is_in_it(golden):
    text = goldens.dump(golden)
    for line in SCRUBBED["q-x"].decode().split("\n"):
        reading = line.partition(">")[2].partition("<")[0]
        assert len(reading) < 5 or reading in golden.id or reading not in text


def test_the_same_files_differ_in_nothing(golden):
    assert goldens.differences(golden, RAW, SCRUBBED) == []


def test_another_file_is_told_by_file_gpu_and_section(golden):
    raw = {**RAW, "q-x": RAW["q-x"].replace(b"32 C", b"33 C")}
    found = "\n".join(goldens.differences(golden, raw, scrub.scrub(raw).files))
    assert "q-x: the raw file has sha256" in found
    assert "q-x: the scrubbed file has sha256" in found
    assert "q-x: readings of GPU 1 differ" in found
    assert "q-x: readings of section temperature differ" in found
    assert "GPU 0" not in found
    assert "L:" not in found


def test_a_view_too_many_or_too_few_is_told(golden):
    assert goldens.differences(golden, {"L": RAW["L"]}, SCRUBBED) == ["a100-x2_570.148.08: view q-x is in the golden only"]
    alone = goldens.make("x", "own", {"L": RAW["L"]}, SCRUBBED, "a", "b")
    assert goldens.differences(alone, RAW, SCRUBBED) == ["x: view q-x is not in the golden"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("format: 1", "format: 2", r"x\.yaml:1: format 2 needs a newer nvparity"),
        ("format: 1\n", "", r"x\.yaml:1: no `format:`"),
        ("id: x", "id: y", r"x\.yaml:2: id 'y' in a file called x.yaml"),
        ("kind:", "kinds:", r"x\.yaml:3: 'kinds' is no key of the file .did you mean 'kind'"),
        ("    whole: ", "    hole: ", r"'hole' is no key of views/L/readings .did you mean 'whole'"),
        ("    raw: ", "    raw: 1", "a hash is 64 hexadecimal digits"),
        ("  by: a", "  why: a", "stands twice|duplicate|twice"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, old, new, said):
    text = goldens.dump(goldens.make("x", "own", {"L": RAW["L"]}, SCRUBBED, "a", "b"))
    assert old in text
    (tmp_path / "x.yaml").write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=said):
        goldens.load(tmp_path / "x.yaml")


def test_a_failed_write_leaves_nothing(tmp_path):
    (tmp_path / "x.yaml").mkdir()
    with pytest.raises(MissingError, match="directory"):
        goldens.write_whole(tmp_path / "x.yaml", b"text")
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.yaml"]
