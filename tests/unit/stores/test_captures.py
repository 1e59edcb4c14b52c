"""The capture store: whole folders, written once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.stores import captures, viewruns
from harness.text import answers, document, listing, transcript
from harness.text.timeline_model import Reading, TimeLine
from harness.words.errors import InputError, UsageError
from mocklib.answers import Asked
from tests.unit.text import samples

VIEW = captures.View("a" * 64, "b" * 64, 1234)


def capture(name: str = "a100-x2_570.148.08", views: str = "q-x L") -> captures.Capture:
    texts: dict[str, document.Document | listing.Listing] = {}
    texts |= {"q-x": document.read(samples.query(2).encode()), "L": listing.read(samples.LIST.encode())}
    chosen = views.split()
    source = captures.Source(repository="x/y", commit="abc", path="a/b.xml", licence="MIT", text="told: by mail")
    sidecar = captures.Sidecar(name, "own", "570.148.08", dict.fromkeys(chosen, VIEW), source, {"uuid": 2}, ("a note: with a colon",))
    return captures.Capture(sidecar, {view: texts[view] for view in chosen})


@pytest.mark.parametrize(
    ("views", "files"),
    [
        ("q-x L", ["listing.txt", "sidecar.yaml", "transcript.txt"]),
        ("q-x", ["sidecar.yaml", "transcript.txt"]),
        ("L", ["sidecar.yaml", "transcript.txt"]),
    ],
)
def test_a_capture_survives_its_folder(tmp_path, views, files):
    given = capture(views=views)
    folder = captures.write(tmp_path / "captures", given)
    assert sorted(path.name for path in folder.iterdir()) == files
    found = captures.load(tmp_path / "captures", given.sidecar.id)
    assert found == given
    assert (found.query is not None, found.list is not None) == ("q-x" in views, "L" in views)
    assert [path.name for path in (tmp_path / "captures").iterdir()] == [given.sidecar.id]


def test_every_file_says_its_format_first(tmp_path):
    folder = captures.write(tmp_path, capture())
    assert {path.read_text().split("\n")[0] for path in folder.iterdir()} == {"format: 1"}


def test_an_id_that_exists_is_refused_and_kept(tmp_path):
    captures.write(tmp_path, capture())
    before = (tmp_path / "a100-x2_570.148.08" / "sidecar.yaml").read_bytes()
    with pytest.raises(InputError, match="exists; choose another id"):
        captures.write(tmp_path, capture(views="L"))
    assert (tmp_path / "a100-x2_570.148.08" / "sidecar.yaml").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a100-x2_570.148.08"]


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".x", "a b"])
def test_what_is_no_id_is_refused(tmp_path, name):
    with pytest.raises(UsageError):
        captures.write(tmp_path, capture(name))
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(transcript, "dump", lambda _text, **_options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        captures.write(tmp_path, capture())
    assert list(tmp_path.iterdir()) == []


ANSWERS = """format: 1
node nvmlSystemGetDriverVersion = SUCCESS {"version":"570.148.08"}
gpu0 nvmlDeviceGetMigMode = NOT_SUPPORTED
"""
WHEN = captures.Taken("2026-01-31T12:00:00Z", ("timestamp", "gpu[0]/temperature/gpu_temp"), "0.1.0", "570.148.08", root=False)
PRINTED = "Sat Jan 31 12:00:01 2026"


def recording(*, alone: bool = False) -> captures.Capture:
    given = capture()
    views = {**({} if alone else given.sidecar.views), "answers": VIEW}
    texts = {} if alone else given.texts
    text = f"{PRINTED}\n<recorded> is what it prints, at {PRINTED}\n".encode()
    moments = viewruns.moments(text, lambda moment: moment == PRINTED)
    ran = viewruns.ViewRun(("nvidia-smi",), 0, "", WHEN.at, 12, "a" * 64, text, moments)
    kept = viewruns.ViewRun(("nvidia-smi", "-q", "-x"), 0, "odd: \t", WHEN.at, 12, "a" * 64)
    runs = {} if alone else {"q-x": kept, "table": ran}
    return captures.Capture(replace(given.sidecar, views=views, taken=WHEN), texts, answers.load(ANSWERS, "answers"), runs)


@pytest.mark.parametrize("alone", [False, True])
def test_a_recording_survives_its_folder(tmp_path, alone):
    given = recording(alone=alone)
    folder = captures.write(tmp_path, given)
    files = {"answers.txt", "sidecar.yaml"} if alone else {"answers.txt", "listing.txt", "sidecar.yaml", "transcript.txt", "views", "views.yaml"}
    assert {path.name for path in folder.iterdir()} == files == captures.files_of(given.sidecar)
    found = captures.load(tmp_path, given.sidecar.id)
    assert found == given
    assert found.sidecar.moved == WHEN.moved
    assert alone or viewruns.load(folder)["table"].text == given.runs["table"].text


def still(path):
    """The lines of a file that are the same in each recording of the same node."""
    return [line for line in path.read_text().splitlines() if not line.startswith(("id", "recorded", "sha256"))]


def test_what_moves_between_recordings_stands_on_lines_that_say_so(tmp_path):
    given = recording()
    later, other = "Sun Feb  1 12:00:01 2026", captures.View("c" * 64, "d" * 64, 99)
    text = given.runs["table"].text.replace(PRINTED.encode(), later.encode())
    ran = viewruns.ViewRun(
        ("nvidia-smi",), 0, "", "2026-02-01T12:00:00Z", 99, "c" * 64, text, viewruns.moments(text, lambda moment: moment == later)
    )
    query = document.read(samples.query(2).replace("Fri Aug 21 10:21:36 2026", "Fri Aug 21 10:21:37 2026").encode())
    assert query != given.query
    when = replace(WHEN, at="2026-02-01T12:00:00Z", moved=("timestamp",))
    sidecar = replace(given.sidecar, id="another-x2_1", views=dict.fromkeys(given.sidecar.views, other), taken=when)
    again = captures.Capture(sidecar, {**given.texts, "q-x": query}, given.answers, {"q-x": given.runs["q-x"], "table": ran})
    first, second = captures.write(tmp_path / "1", given), captures.write(tmp_path / "2", again)
    files = [path.relative_to(first) for path in sorted(first.rglob("*")) if path.is_file()]
    assert [str(file) for file in files if (first / file).read_bytes() != (second / file).read_bytes()] == [
        "sidecar.yaml", "transcript.txt", "views.yaml",
    ]  # fmt: skip
    assert all(still(first / file) == still(second / file) for file in files)


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("sidecar.yaml", "made:", "mode:", r"sidecar\.yaml:[0-9]+: 'mode' is no key here .did you mean 'made'"),
        ("sidecar.yaml", "recorded: {at: '2026-01-31T12:00:00Z'", "recorded: {at: 'noon'", r"sidecar\.yaml:[0-9]+: `at` is an instant"),
        ("sidecar.yaml", "root: false", "root: 0", r"sidecar\.yaml:[0-9]+: .*`root` is true or false"),
        ("sidecar.yaml", "sha256: {", "sha256: {odd: {}, ", r"sidecar\.yaml:[0-9]+: `sha256` holds the hashes"),
        ("views.yaml", "views:\n", "views:\n  ../x: {}\n", r"views\.yaml:1: .* mappings of the same views"),
        ("views.yaml", "status: 0", "status: ok", r"views\.yaml:[0-9]+: .*`status` a number or null"),
        ("views.yaml", "duration_ms: 12", "duration_ms: -1", r"views\.yaml:[0-9]+: .*`duration_ms` a number"),
        ("views/table.txt", "what it prints", "what was printed", r"table\.txt: not the text that was recorded"),
        ("views/table.txt", "<recorded>\n", "\n", r"table\.txt: 2 times <recorded>, but views\.yaml has 3"),
        ("answers.txt", "NOT_SUPPORTED", "NOT SUPPORTED", r"answers\.txt:3: "),
    ],
)
def test_a_damaged_recording_is_refused_where_it_is_damaged(tmp_path, file, old, new, said):
    folder = captures.write(tmp_path, recording())
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=said):
        captures.load(tmp_path, folder.name)


def test_a_recording_keeps_how_its_answers_moved(tmp_path):
    given = recording(alone=True)
    line = TimeLine(10**9, 5, 3, (Reading(Asked("nvmlDeviceGetPowerUsage", 0), "power", (1, 2, 1)),))
    given = replace(given, sidecar=replace(given.sidecar, taken=replace(WHEN, timeline=True)), timeline=line)
    folder = captures.write(tmp_path, given)
    assert captures.files_of(given.sidecar) == {path.name for path in folder.iterdir()} == {"sidecar.yaml", "answers.txt", "timeline.txt"}
    assert captures.load(tmp_path, folder.name) == given
    (folder / "timeline.txt").write_text((folder / "timeline.txt").read_text().replace("+1 -1", "+1"))
    with pytest.raises(InputError, match=r"timeline\.txt:7: 2 samples, the head says 3"):
        captures.load(tmp_path, folder.name)


def test_a_capture_without_answers_says_nothing_of_a_recording(tmp_path):
    folder = captures.write(tmp_path, capture())
    assert not any(line.startswith(("recorded", "sha256", "made")) for path in folder.iterdir() for line in path.read_text().splitlines())


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("sidecar.yaml", "format: 1", "format: 7", r"sidecar\.yaml:1: format 7 needs a newer"),
        ("sidecar.yaml", "id: a100", "id: b100", r"sidecar\.yaml:2: id 'b100-x2_570.148.08' in a folder called"),
        ("sidecar.yaml", "kind: own", "kind: won", r"sidecar\.yaml:3: 'won' is no kind"),
        ("sidecar.yaml", "  licence:", "  license:", r"sidecar\.yaml:9: 'license' is no key here .did you mean 'licence'"),
        ("sidecar.yaml", "  q-x:", "  qx:", r"sidecar\.yaml:1[0-9]: `views` holds"),
        ("sidecar.yaml", "    bytes: 1234", "    bytes: many", r"view q-x needs raw and scrubbed"),
        ("transcript.txt", "driver_version: ", "driver version: ", r"transcript\.txt:8: "),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, file, old, new, said):
    folder = captures.write(tmp_path, capture())
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=said):
        captures.load(tmp_path, folder.name)


def test_a_missing_file_is_named(tmp_path):
    folder = captures.write(tmp_path, capture())
    (folder / "listing.txt").unlink()
    with pytest.raises(InputError, match=r"listing\.txt: cannot be read"):
        captures.load(tmp_path, folder.name)
