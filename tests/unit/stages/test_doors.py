"""How a capture comes in: from a file, standard input, gzip or a bug report; everything else is refused with what to do."""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
import types
import zipfile
from pathlib import Path

import pytest

from harness.stages.importing import doors
from harness.words.errors import InputError, UsageError
from tests.unit.text import samples

XML = b'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n\t<gpu id="0"/>\n</nvidia_smi_log>\n'
HEAD = (
    b"____________________________________________\n\nStart of NVIDIA bug report log file.  Please include this file\n\n"
    b"nvidia-bug-report.sh Version: 34275561\n\nDate: ...\n____________________________________________\n\n"
)
TEXT = b"/usr/bin/nvidia-smi --query\n\n==============NVSMI LOG==============\n\nGPU 0: name (UUID: GPU-1)\n"


def standard_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(data)))


def test_a_file_is_its_bytes(tmp_path: Path):
    path = tmp_path / "a.xml"
    path.write_bytes(XML)
    assert doors.read(path) == doors.Content(str(path), XML)


def test_standard_input_is_called_so_in_messages(monkeypatch: pytest.MonkeyPatch):
    standard_input(monkeypatch, XML)
    assert doors.read_all([Path("-")]) == [doors.Content("<stdin>", XML)]


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch):
    standard_input(monkeypatch, XML)
    with pytest.raises(UsageError, match="once"):
        doors.read_all([Path("-"), Path("-")])


def test_gzip_is_unpacked_by_its_bytes_every_member_and_noted(tmp_path: Path):
    path = tmp_path / "a.xml"
    path.write_bytes(gzip.compress(XML[:40]) + gzip.compress(XML[40:]))
    assert doors.read(path) == doors.Content(str(path), XML, ("unpacked from gzip",))


def test_a_gzip_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doors, "MAX_FILE", 1000)
    assert len(doors.unpack(gzip.compress(b"a" * 1000), "x").data) == 1000
    with pytest.raises(InputError, match="unpacks to more than"):
        doors.unpack(gzip.compress(b"a" * 1001), "x")
    with pytest.raises(InputError, match="unpacks to more than"):
        doors.unpack(gzip.compress(b"a" * 600) * 2, "x")


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (gzip.compress(XML)[:-9], "ends in the middle"),
        (b"\x1f\x8b" + b"junk" * 9, "damaged gzip file"),
        (gzip.compress(gzip.compress(XML)), "packed with gzip twice; unpack it once"),
    ],
)
def test_a_broken_gzip_file_is_refused(data: bytes, part: str):
    with pytest.raises(InputError, match=part):
        doors.unpack(data, "x.gz")


def test_what_stands_behind_the_gzip_data_is_told_but_for_padding():
    packed = gzip.compress(XML)
    assert doors.unpack(packed + bytes(512), "x").notes == ("unpacked from gzip",)
    assert doors.unpack(packed + b"junk\n", "x") == doors.Content("x", XML, ("unpacked from gzip", "left out the 5 bytes behind the gzip data"))


def archive(kind: str) -> bytes:
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w") as packed:
            packed.writestr("a.xml", XML)
    else:
        with tarfile.open(fileobj=out, mode="w:gz" if kind == "tar.gz" else "w") as packed:
            entry = tarfile.TarInfo("a.xml")
            entry.size = len(XML)
            packed.addfile(entry, io.BytesIO(XML))
    return out.getvalue()


@pytest.mark.parametrize(("kind", "word"), [("zip", "a zip archive"), ("tar", "a tar archive"), ("tar.gz", "a tar archive")])
def test_an_archive_is_refused_with_its_name_and_what_to_do(kind: str, word: str):
    with pytest.raises(InputError, match=f"x: {word}; unpack it"):
        doors.unpack(archive(kind), "x")


@pytest.mark.parametrize("pack", [gzip.compress, bytes])
def test_a_bug_report_without_a_query_names_the_command_that_makes_it(pack):
    with pytest.raises(InputError, match=r"no output of `nvidia-smi -q`.*nvidia-smi -q -x > query\.xml"):
        doors.unpack(pack(HEAD + TEXT), "nvidia-bug-report.log.gz")


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_the_text_in_a_bug_report_without_xml_is_cut_out_whole(end: bytes):
    query = samples.text(2).encode().lstrip(b"\n")
    units = b"==============NVSMI LOG==============\n\nTimestamp : x\nAttached Units                            : 0\n"
    report = HEAD + b"/usr/bin/nvidia-smi --query\n\n" + query + b"\n" + b"_" * 44 + b"\n\n/usr/bin/nvidia-smi --query --unit\n\n" + units
    content = doors.unpack(gzip.compress(report.replace(b"\n", end)), "x")
    assert content.data == query[:-1].replace(b"\n", end)
    assert content.notes == ("unpacked from gzip", "cut from line 12 of a bug report")


def test_several_texts_in_a_bug_report_are_told_by_their_lines():
    query = samples.text(1).encode()
    with pytest.raises(InputError, match=r"a bug report with 2 captures, at lines 11, 38; cut out the one to import"):
        doors.unpack(HEAD + query + query.replace(b"N/A", b"7 W"), "x")


def test_the_xml_of_a_bug_report_is_taken_before_its_text():
    assert doors.unpack(HEAD + samples.text(1).encode() + XML, "x").data == XML


def test_the_xml_in_a_bug_report_is_cut_out_and_its_line_noted():
    content = doors.unpack(gzip.compress(HEAD + TEXT + XML + b"\nmore\n"), "x")
    assert content.data == XML
    line = (HEAD + TEXT).count(b"\n") + 1
    assert content.notes == ("unpacked from gzip", f"cut from line {line} of a bug report")


def test_the_same_xml_twice_in_a_bug_report_is_one_and_two_are_refused_with_their_lines():
    assert doors.unpack(HEAD + XML + XML, "x").data == XML
    with pytest.raises(InputError, match="2 captures, at lines 10, 15; cut out"):
        doors.unpack(HEAD + XML + XML.replace(b'"0"', b'"1"'), "x")


@pytest.mark.parametrize("more", [b"", XML])
def test_a_capture_without_end_in_a_bug_report_is_told_with_its_line(more: bytes):
    with pytest.raises(InputError, match="whose XML from line 12 on has no end"):
        doors.unpack(HEAD + XML[: XML.index(b"</nvidia_smi_log>")] + b"\n" + more, "x")
    with pytest.raises(InputError, match=r"from line [0-9]+ on has no end"):
        doors.unpack(HEAD + XML + b"<nvidia_smi_log>\n", "x")


def test_a_file_that_is_too_large_or_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doors, "MAX_FILE", 10)
    path = tmp_path / "a.xml"
    path.write_bytes(b"x" * 11)
    with pytest.raises(InputError, match="larger than"):
        doors.read(path)
    with pytest.raises(InputError, match="cannot be read"):
        doors.read(tmp_path / "no.xml")


@pytest.mark.parametrize("again", [b"<nvidia_smi_log>", b"<?xml ", b"<!DOCTYPE nvidia_smi_log "])
def test_a_bug_report_of_beginnings_without_end_is_read_in_one_pass(again: bytes):
    with pytest.raises(InputError, match=r"from line 10 on has no end|that holds no output"):
        doors.unpack(HEAD + again * 100_000, "x")


def test_of_many_captures_in_a_bug_report_the_first_lines_are_named():
    many = b"".join(XML.replace(b'"0"', b'"%d"' % number) for number in range(1000))
    with pytest.raises(InputError, match=r"with 1000 captures, at lines (\d+, ){20}\.\.\.; cut out"):
        doors.unpack(HEAD + many, "x")
