"""Files told apart by content, read, laid out as readings, written again."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli import guard
from harness.stages.importing import roundtrip, source
from harness.words.errors import InputError

QUERY = (
    b'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n\t<driver_version>1.2</driver_version>\n'
    b'\t<attached_gpus>1</attached_gpus>\n\t<gpu id="00:1">\n\t\t<uuid>GPU-1</uuid>\n\t</gpu>\n\n</nvidia_smi_log>\n'
)
LIST = b"GPU 0: A (UUID: GPU-1)\nGPU 1: B (UUID: GPU-2)\n"


def test_views_are_told_apart_by_content():
    assert source.view(source.read(QUERY, "a")) == "q-x"
    assert source.view(source.read(LIST, "a")) == "L"


def test_readings_have_one_path_each():
    assert source.leaves(source.read(QUERY, "a")) == [
        ("driver_version", "1.2"),
        ("attached_gpus", "1"),
        ("gpu[0]/@id", "00:1"),
        ("gpu[0]/uuid", "GPU-1"),
    ]
    assert source.leaves(source.read(LIST, "a")) == [
        ("gpu[0]/name", "A"),
        ("gpu[0]/uuid", "GPU-1"),
        ("gpu[1]/name", "B"),
        ("gpu[1]/uuid", "GPU-2"),
    ]


@pytest.mark.parametrize("data", [b"", b"Failed to initialize NVML: Driver/library version mismatch\n", QUERY[:-40]])
def test_what_is_no_capture_is_refused_with_one_line_that_names_the_file(data):
    with pytest.raises(InputError, match="file") as caught:
        source.read(data, "file")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [QUERY, QUERY.replace(b"\t", b"  "), QUERY.replace(b"\n", b"\r\n"), LIST, LIST[:-1]])
def test_a_trip_gives_the_same_bytes(data):
    trip = roundtrip.trip(data, "file")
    assert trip.differs is None
    assert trip.verbatim == 0


def test_the_first_line_that_differs_is_named():
    assert roundtrip._first_difference(b"a\nb\nc\n", b"a\nx\nc\n") == 2
    assert roundtrip._first_difference(b"a\n", b"a") == 1


def test_one_line_a_file(tmp_path: Path, capsys):
    (tmp_path / "q.xml").write_bytes(QUERY)
    (tmp_path / "l.txt").write_bytes(LIST)
    assert guard.run(["roundtrip", str(tmp_path / "q.xml"), str(tmp_path / "l.txt")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"exact {tmp_path}/q.xml: own, 0 of 10 lines kept verbatim",
        f"exact {tmp_path}/l.txt: own, 0 of 2 lines kept verbatim",
    ]


def test_a_difference_is_status_1(tmp_path: Path, capsys, monkeypatch):
    (tmp_path / "l.txt").write_bytes(LIST)
    monkeypatch.setattr(roundtrip, "_first_difference", lambda *_: 7)
    assert guard.run(["roundtrip", str(tmp_path / "l.txt")]) == 1
    assert capsys.readouterr().out == f"differs {tmp_path}/l.txt:7\n"


def test_a_file_that_is_not_there_is_bad_input(capsys):
    assert guard.run(["roundtrip", "/nonexistent/x"]) == 3
    assert "/nonexistent/x" in capsys.readouterr().err


def test_readings_that_the_giver_hid_are_known_by_their_text():
    leaves = [
        ("gpu[0]/uuid", "GPU-..."),
        ("gpu[0]/pci/pci_device_id", "[REDACTED]"),
        ("gpu[0]/serial", "xxxxxxx"),
        ("gpu[0]/product_name", "A..."),
        ("gpu[0]/processes/process_info[0]/process_name", "/usr/bin/hidden"),
        ("gpu[0]/pdi", "0x0"),
    ]
    assert source.redacted(leaves) == {"gpu[0]/uuid", "gpu[0]/pci/pci_device_id", "gpu[0]/serial"}
