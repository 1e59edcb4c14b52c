"""A folder of captures: each file told apart by its bytes, imported whole or not at all, ids that hang on content alone, one summary."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from harness.cli import guard
from harness.reports import folder as report
from harness.stages.importing import folder, pipeline
from harness.stores import captures
from harness.stores.workspace import Workspace

pytestmark = pytest.mark.usefixtures("served_library")
ROOT = Path(__file__).resolve().parents[2]
NODE = "GPU-0a1b2c3d-1111-2222-3333-444455556666"


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """The folder to import."""
    path = tmp_path / "given"
    path.mkdir()
    return path


def query(celsius: int = 33, uuid: str = NODE) -> bytes:
    """The T4's query, as hot as said and with a UUID of its own."""
    text = captures.load(ROOT / "captures", "t4-x1_595.91.07").texts["q-x"].to_bytes()
    zeros = b"GPU-00000000-0000-0000-0000-000000000000"
    assert text.count(zeros) == text.count(b"<gpu_temp>33 C<") == 1
    return text.replace(zeros, uuid.encode()).replace(b"<gpu_temp>33 C<", f"<gpu_temp>{celsius} C<".encode())


def other(number: int) -> str:
    """The UUID of another node."""
    return f"GPU-{number}a1b2c3d-1111-2222-3333-444455556666"


def listed(uuid: str = NODE, name: str = "Tesla T4") -> bytes:
    return f"GPU 0: {name} (UUID: {uuid})\n".encode()


def fill(path: Path, **files: bytes) -> None:
    for name, data in files.items():
        where = path / name.replace("__", "/").replace("_DOT_", ".")
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(data)


def outcomes(space: Workspace, path: Path) -> dict[tuple[str, ...], tuple[str, str]]:
    """What became of the files: outcome and id of each group."""
    planned = folder.plan(path, captures.Source())
    return {one.files: (one.outcome, one.id) for one in (*folder.run(space, planned), *planned.settled)}


def test_every_file_is_told_apart_by_its_bytes_and_a_refusal_stops_no_other(space: Workspace, given: Path, capsys: pytest.CaptureFixture[str]):
    fill(given, a=query(), b__list=listed(), c=listed("GPU-1"), d=b"+-----------------------+\n| NVIDIA-SMI 550 |\n", e=query(34)[:5000])
    fill(given, f=query(35, other(1)))
    fill(given, g=b"", h=gzip.compress(query(36, other(2))), i=query(), _DOT_hidden=query(40))
    assert guard.run(["import", str(given), "--root", str(space.root)]) == 3
    said = capsys.readouterr()
    rows = [line.split(maxsplit=1) for line in said.out.splitlines()[1:-1]]
    assert [row[0] for row in rows] == ["imported"] * 4 + ["already"] + ["refused"] + ["skipped"] * 2
    assert any("a + b/list" in row[1] and "t4-x1_595.91.07" in row[1] for row in rows)
    assert "truncated" in next(row[1] for row in rows if row[0] == "refused")
    assert said.out.splitlines()[-1] == "4 imported, 1 already there, 1 refused, 2 skipped"
    assert said.err == ""
    assert sorted(len(captures.load(space.captures, name).texts) for name in space.ids()) == [1, 1, 1, 2]
    assert list(space.root.rglob(".*")) == []
    assert guard.run(["check", "--root", str(space.root)]) == 0


def test_nothing_refused_is_status_0_and_a_second_run_finds_all_of_it_there(space: Workspace, given: Path, capsys: pytest.CaptureFixture[str]):
    fill(given, a=query(), b=listed(), notes=b"hello\n")
    for totals in ({"imported": 1, "already there": 0}, {"imported": 0, "already there": 1}):
        assert guard.run(["import", str(given), "--root", str(space.root), "--json"]) == 0
        made = json.loads(capsys.readouterr().out)
        assert made["totals"] == {**totals, "refused": 0, "skipped": 1}
        assert made["files"][0]["files"] == ["a", "b"]
        assert made["files"][0]["id"] == "t4-x1_595.91.07"


def test_ids_hang_on_content_and_not_on_the_names_of_files(tmp_path: Path, given: Path):
    found = []
    for names in (("a", "b", "c"), ("z", "y", "x")):
        root = tmp_path / f"work-{names[0]}"
        root.mkdir()
        here = given / names[0]
        fill(here, **{name: query(celsius) for name, celsius in zip(names, (41, 42, 43), strict=True)})
        made = outcomes(Workspace(root), here)
        found.append({(here / files[0]).read_bytes(): name for files, (_, name) in made.items()})
    assert found[0] == found[1]
    assert sorted(found[0].values()) == ["t4-x1_595.91.07", "t4-x1_595.91.07_2", "t4-x1_595.91.07_3"]
    in_order = sorted(found[0], key=lambda data: hashlib.sha256(data).hexdigest())
    assert [found[0][data][-2:] for data in in_order] == ["07", "_2", "_3"]


ALONE = (listed(other(9)), listed(name="Other T4"), listed("GPU-00000000-0000-0000-0000-000000000000"), listed("GPU-..."))


@pytest.mark.parametrize("second", ALONE, ids=["other node", "other name", "zeros", "masked"])
def test_a_list_that_does_not_join_is_imported_alone(second: bytes, space: Workspace, given: Path):
    fill(given, a=query(), b=second)
    assert set(outcomes(space, given)) == {("a",), ("b",)}


def test_masked_nodes_are_not_taken_for_one(space: Workspace, given: Path):
    zeros = "GPU-00000000-0000-0000-0000-000000000000"
    fill(given, a=query(uuid=zeros), b=listed(zeros))
    assert set(outcomes(space, given)) == {("a",), ("b",)}


def test_two_queries_of_the_node_of_one_list_stay_alone(space: Workspace, given: Path):
    fill(given, a=query(), b=query(50), c=listed())
    assert set(outcomes(space, given)) == {("a",), ("b",), ("c",)}


def manifest(path: Path, *rows: tuple[str, str, str]) -> None:
    """MANIFEST.tsv with file, real_or_edited and sha256 of each row."""
    head = "file\trepo\tpath\tcommit\tlicence\treal_or_edited\tsha256\tnote\n"
    lines = [f"{name}\to/r\tdir/{name}\tabc123\tMIT [LICENSE]\t{said}\t{digest}\twhole file\n" for name, said, digest in rows]
    (path / "MANIFEST.tsv").write_text(head + "".join(lines))


def test_a_manifest_gives_source_and_kind_and_its_hashes_are_checked(space: Workspace, given: Path, capsys: pytest.CaptureFixture[str]):
    fill(given, a=query(), b=query(50), c=query(60))
    known = hashlib.sha256(query()).hexdigest()
    manifest(given, ("a", "real (lightly edited)", known), ("b", "EDITED: by hand", ""), ("c", "real", "0" * 64), ("gone", "real", ""))
    assert guard.run(["import", str(given), "--root", str(space.root), "--source", "repository=other"]) == 3
    said = capsys.readouterr().out
    assert "its sha256 is not the one in MANIFEST.tsv:4" in said
    assert "MANIFEST.tsv:5 names it, the folder has it not" in said
    sidecars = {one.source.path: one for one in (captures.load(space.captures, name).sidecar for name in space.ids())}
    assert {path: one.kind for path, one in sidecars.items()} == {"dir/a": "own", "dir/b": "edited"}
    assert sidecars["dir/a"].source == captures.Source("o/r", "abc123", "dir/a", "MIT", "real (lightly edited); whole file")
    sources = (space.captures / "SOURCES.md").read_text()
    assert "| o/r | abc123 | dir/b | MIT | EDITED: by hand; whole file |" in sources
    assert "other" not in sources


def test_a_manifest_that_is_none_refuses_the_folder_before_anything_is_written(space: Workspace, given: Path, capsys: pytest.CaptureFixture[str]):
    fill(given, a=query())
    (given / "MANIFEST.tsv").write_text("file\n")
    assert guard.run(["import", str(given), "--root", str(space.root)]) == 3
    assert "MANIFEST.tsv:1: no column 'repo'" in capsys.readouterr().err
    assert list(space.root.iterdir()) == []


HEAD = "file\trepo\tpath\tcommit\tlicence\treal_or_edited\tnote"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (f"{HEAD}\tfile\na\tr\tp\tc\tl\treal\tn\tb\n", "1: column 'file' stands there twice"),
        (f"{HEAD}\n./a\tr\tp\tc\tl\tEDITED\tn\n", "2: './a' is no file of the folder"),
        (f'{HEAD}\n"a"\tr\tp\tc\tl\tEDITED\tn\n', "2: '\"a\"' is no file of the folder"),
        (f"{HEAD}\n../a\tr\tp\tc\tl\treal\tn\n", "2: '../a' is no file of the folder"),
        (f"{HEAD}\n\tr\tp\tc\tl\treal\tn\n", "2: '' is no file of the folder"),
        (f"{HEAD}\na\tr\tp\tc\tl\treel\tn\n", "2: real_or_edited is 'reel'"),
        (f"{HEAD}\na\tr\tp\tc\tl\t\tn\n", "2: real_or_edited is ''"),
        (f"{HEAD}\na\tr\tp\tc\tl\treal\tone\u2028line\nb\n", "3: 1 cells"),
    ],
)
def test_a_row_that_cannot_be_meant_is_refused_with_its_line(text: str, part: str, space: Workspace, given: Path, capsys: pytest.CaptureFixture[str]):
    fill(given, a=query())
    (given / "MANIFEST.tsv").write_text(text)
    assert guard.run(["import", str(given), "--root", str(space.root)]) == 3
    assert f"MANIFEST.tsv:{part}" in capsys.readouterr().err
    assert list(space.root.iterdir()) == []


@pytest.mark.parametrize("said", ["EDITED", "Edited: by hand", "edited"])
def test_a_manifest_of_another_editor_says_the_same(said: str, space: Workspace, given: Path, capsys: pytest.CaptureFixture[str]):
    fill(given, a=query())
    text = f"{HEAD}\na\to/r\tp\tc\tl\t{said}\tn\nA\to/r\tp\tc\tl\treal\tn\n"
    (given / "MANIFEST.tsv").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert guard.run(["import", str(given), "--root", str(space.root)]) == 0
    assert [captures.load(space.captures, name).sidecar.kind for name in space.ids()] == ["edited"]
    assert "MANIFEST.tsv:3 names it, the folder has it not" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("data", "outcome"),
    [
        (gzip.compress(query())[:400], "refused"),
        (gzip.compress(query())[:-20] + b"damaged in the middle", "refused"),
        (gzip.compress(b"just a log\n"), "skipped"),
        (b"PK\x03\x04 whatever", "skipped"),
    ],
    ids=["cut off", "damaged", "something else", "an archive"],
)
def test_a_damaged_gzip_file_may_have_been_a_capture_and_is_refused(data: bytes, outcome: str, space: Workspace, given: Path):
    fill(given, a=data)
    assert outcomes(space, given) == {("a",): (outcome, "")}


def test_a_name_that_does_not_print_stays_on_its_line(space: Workspace, given: Path, capsys: pytest.CaptureFixture[str]):
    (given / "one\nimported\x1b[2J").write_bytes(b"hello\n")
    assert guard.run(["import", str(given), "--root", str(space.root)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 3
    assert '"one\\nimported\\u001b[2J"' in said[1]


@pytest.mark.parametrize(
    ("arguments", "status", "part"),
    [
        (["{given}", "--id", "x"], 2, "--id names one capture"),
        (["{given}", "{given}"], 2, "a folder is imported alone"),
        (["{given}"], 5, "no files in it"),
    ],
)
def test_what_a_folder_cannot_be_given_with(arguments, status: int, part: str, space: Workspace, given: Path, capsys: pytest.CaptureFixture[str]):
    assert guard.run(["import", *(word.format(given=given) for word in arguments), "--root", str(space.root)]) == status
    assert part in capsys.readouterr().err


def test_the_bar_shows_on_a_terminal_only():
    done = folder.Outcome(("a.xml",), folder.KNOWN, "a")
    shown = {}
    for terminal in (True, False):
        stream = io.StringIO()
        assert list(report.watched([done], 1, Console(file=stream, force_terminal=terminal, width=100))) == [done]
        shown[terminal] = stream.getvalue()
    assert "1/1" in shown[True]
    assert "a.xml" in shown[True]
    assert shown[False] == ""


def test_a_query_whose_list_was_imported_with_it_is_already_there(space: Workspace, tmp_path: Path):
    (tmp_path / "q").write_bytes(query())
    (tmp_path / "l").write_bytes(listed())
    made = pipeline.run(space, [tmp_path / "q", tmp_path / "l"])
    for name in ("q", "l"):
        with pytest.raises(pipeline.KnownError, match=f"already imported as {made.id}"):
            pipeline.run(space, [tmp_path / name])
