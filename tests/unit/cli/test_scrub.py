"""``nvparity scrub``: a capture to be handed on, and whether what is stored holds anything real."""

from __future__ import annotations

import gzip
import io
import shutil
import types
from pathlib import Path

import pytest

from harness.cli import guard
from tests.unit.text import samples

ROOT = Path(__file__).resolve().parents[3]
UUID = "GPU-12ab34cd-56ef-78ab-90cd-12ef34ab56cd"
OTHER = "GPU-12ab34ce-56ef-78ab-90cd-12ef34ab56cd"
FIRST = "GPU-00000001-0000-0000-0000-000000000001"
ROWS = f"GPU 0: A (UUID: {UUID})\nGPU 1: A (UUID: {OTHER})\n"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A list of two GPUs."""
    path = tmp_path / "list.txt"
    path.write_text(ROWS)
    return path


def test_a_file_goes_to_standard_output_and_the_report_to_standard_error(rows: Path, capfdbinary: pytest.CaptureFixture[bytes]):
    assert guard.run(["scrub", str(rows)]) == 0
    said = capfdbinary.readouterr()
    assert said.out.decode() == ROWS.replace(UUID, FIRST).replace(OTHER, FIRST.replace("1", "2"))
    assert said.err == b"scrubbed: uuid 2 (2 places)\n"
    assert rows.read_text() == ROWS


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input_packed_or_not(pack, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]):
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO(pack(ROWS.encode()))))
    assert guard.run(["scrub", "-"]) == 0
    assert FIRST.encode() in capfdbinary.readouterr().out


def test_nothing_to_scrub_is_said_and_the_bytes_are_the_same(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]):
    path = tmp_path / "a"
    path.write_bytes(b"\xff\x00 any bytes\r\n")
    assert guard.run(["scrub", str(path)]) == 0
    assert capfdbinary.readouterr() == (b"\xff\x00 any bytes\r\n", b"scrubbed: nothing to scrub\n")


def test_files_of_one_node_stay_joined_in_a_folder(rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "query.xml.gz").write_bytes(gzip.compress(f"<uuid>{OTHER}</uuid>\n<uuid>{UUID}</uuid>\n".encode()))
    out = tmp_path / "clean"
    assert guard.run(["scrub", str(tmp_path / "query.xml.gz"), str(rows), "-o", str(out)]) == 0
    said = capsys.readouterr()
    second = FIRST.replace("1", "2")
    assert (out / "query.xml").read_text() == f"<uuid>{FIRST}</uuid>\n<uuid>{second}</uuid>\n"
    assert (out / "list.txt").read_text() == ROWS.replace(UUID, second).replace(OTHER, FIRST)
    assert said.out == ""
    assert said.err.splitlines() == [f"wrote {out / 'query.xml'}", f"wrote {out / 'list.txt'}", "scrubbed: uuid 2 (4 places)"]


def test_nothing_is_written_over(rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "b").write_text("x")
    assert guard.run(["scrub", str(tmp_path / "b"), str(rows), "-o", str(tmp_path)]) == 3
    assert "exists" in capsys.readouterr().err
    assert rows.read_text() == ROWS


@pytest.mark.parametrize(
    ("arguments", "status", "part"),
    [
        (["{a}", "{a}"], 2, "name it with -o DIR"),
        (["{a}", "{a}", "-o", "{out}"], 2, "named twice"),
        (["{a}", "{b}", "-o", "{out}"], 2, "would both be"),
        (["--check", "{a}", "-o", "{out}"], 2, "--check writes nothing"),
        (["{out}"], 3, "cannot be read"),
        (["--check", "{empty}"], 5, "no files in it"),
    ],
)
def test_what_cannot_be_scrubbed(arguments, status: int, part: str, rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("other", "empty"):
        (tmp_path / name).mkdir()
    shutil.copy(rows, tmp_path / "other" / rows.name)
    places = {"a": rows, "b": tmp_path / "other" / rows.name, "out": tmp_path / "out", "empty": tmp_path / "empty"}
    assert guard.run(["scrub", *(word.format(**places) for word in arguments)]) == status
    assert part in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_whose_identifiers_would_all_stay_is_refused(encoding: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]):
    path = tmp_path / "query.xml"
    path.write_bytes(samples.query(2).encode(encoding))
    for arguments in ([], ["--check"], ["-o", str(tmp_path / "out")]):
        assert guard.run(["scrub", str(path), *arguments]) == 3
        said = capfdbinary.readouterr()
        assert said.out == b""
        assert b"query.xml: UTF-16 text" in said.err
    assert not (tmp_path / "out").exists()


def test_bytes_that_are_no_text_are_looked_at_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name, data in {"a": b"", "b": bytes(5000), "c": b"x", "d": bytes(99) + UUID.encode() + bytes(3)}.items():
        (tmp_path / name).write_bytes(data)
    assert guard.run(["scrub", "--check", str(tmp_path)]) == 1
    assert capsys.readouterr().out == f"{tmp_path / 'd'}:1: uuid\n"


def test_the_check_names_place_and_family_and_never_the_value(rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.gz").write_bytes(gzip.compress(b"fine\n<serial>1739402683820</serial>\n"))
    assert guard.run(["scrub", "--check", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert said.splitlines() == [f"{rows}:1: uuid", f"{rows}:2: uuid", f"{tmp_path / 'sub' / 'b.gz'}:2: serial"]


def test_what_scrub_gives_is_clean(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "query.xml"
    path.write_text(samples.query(2))
    assert guard.run(["scrub", str(path), "-o", str(tmp_path / "out")]) == 0
    assert guard.run(["scrub", "--check", str(tmp_path / "out")]) == 0
    assert "clean: 1 file, nothing that looks like a real identifier" in capsys.readouterr().out


@pytest.mark.parametrize("folder", ["captures", "profiles", "golden"])
def test_what_the_repository_stores_is_clean(folder: str, capsys: pytest.CaptureFixture[str]):
    assert guard.run(["scrub", "--check", str(ROOT / folder)]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("captures/t4-x1_595.91.07/transcript.txt", "GPU-00000000-0000-0000-0000-000000000000", UUID),
        ("captures/a100-sxm4-40gb-x1_570.148.08/transcript.txt", "0000000000001", "1739402683820"),
        ("profiles/h100-sxm5-x8_580.105.08.yaml", "pdi: 0x1\n", "pdi: 0xc52d7e08a91f3621\n"),
        ("profiles/b200-x8_580.105.08.yaml", "pdi: 0xB\n", "pdi: 0xC52D7E08A91F3621\n"),
        ("profiles/b200-x8_580.105.08.yaml", "00000000000000020000000000000000", "c52d7e08a91f36210000000000000000"),
        ("profiles/geforce-gt-1030-x1_470.74.yaml", FIRST, UUID),
    ],
)
def test_an_identifier_in_what_is_stored_is_found_and_goes(file: str, old: str, new: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]):
    text = (ROOT / file).read_text()
    assert old in text
    path = tmp_path / Path(file).name
    path.write_text(text.replace(old, new))
    assert guard.run(["scrub", "--check", str(path)]) == 1
    capfdbinary.readouterr()
    assert guard.run(["scrub", str(path)]) == 0
    assert new.encode().strip() not in capfdbinary.readouterr().out
