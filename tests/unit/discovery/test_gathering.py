"""Where the texts come from: files, folders, captures, a node."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from harness.discovery import doctor, gathering, problems, texts
from harness.stores import captures
from harness.words.errors import InputError, MissingError, UsageError
from tests.unit.discovery.nodes import card, modes, report

ROOT = Path(__file__).resolve().parents[3]
LIST = b"GPU 0: Tesla T4 (UUID: GPU-0)\n"
REPORT = report(card(modes("N/A")))
LGI = b"+---+\n| GPU instances:   |\n"
LCI = b"+---+\n| Compute instances:   |\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in (("a", LIST), ("b", REPORT), ("c", LGI), ("d", LCI), ("notes.md", b"no such text\n"), (".hidden", LIST)):
        (tmp_path / name).write_bytes(data)
    (tmp_path / "more").mkdir()
    return tmp_path


def fake(path: Path, body: str) -> Path:
    """A program of the name nvidia-smi."""
    path.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (LIST, gathering.LISTING), (b"  # GPU 0: x (UUID: y)\n", gathering.LISTING), (b"No devices were found\n", gathering.LISTING),
        (REPORT, gathering.REPORT), (LGI, gathering.GPU_INSTANCES), (b"No GPU instances found: Not Found\n", gathering.EITHER),
        (LCI, gathering.COMPUTE_INSTANCES), (b"No compute instances found: Not Found\n", gathering.COMPUTE_INSTANCES),
        (b"Failed to display GPU instances: Insufficient Permissions\n", gathering.GPU_INSTANCES),
        (b"No MIG-enabled devices found.\n", gathering.EITHER), (b"", None), (b"| GPU  Name |\n", None),
    ],
)  # fmt: skip
def test_a_text_is_told_by_its_content(data: bytes, part: str | None) -> None:
    assert gathering.part_of(data) == part


def test_a_folders_other_files_are_passed_over(folder: Path) -> None:
    found = gathering.of_folder(folder)
    assert (found.listing, found.report, found.gpu_instances, found.compute_instances, found.missing) == (LIST, REPORT, LGI, LCI, ())


def test_what_is_missing_is_named(folder: Path) -> None:
    found = gathering.of_files([folder / "a"])
    assert (found.listing, found.report) == (LIST, None)
    assert found.reason("-q -x") == "no file holds a text of -q -x"
    assert [view for view, _ in found.missing] == ["-q -x", "mig -lgi", "mig -lci"]


def test_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(gzip.compress(REPORT))
    assert gathering.of_files([tmp_path / "x.gz"]).report == REPORT


def test_files_that_do_not_go_together_are_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "e").write_bytes(LIST)
    with pytest.raises(InputError, match=r"e: a second text of nvidia-smi -L, beside .*a"):
        gathering.of_files([folder / "a", tmp_path / "e"])
    with pytest.raises(InputError, match=r"notes.md: none of -L, -q -x, mig -lgi, mig -lci"):
        gathering.of_files([folder / "notes.md"])
    with pytest.raises(UsageError, match="no file given"):
        gathering.of_files([])


@pytest.mark.parametrize("sentence", [b"No GPU instances found: Not Found\n", b"No MIG-enabled devices found.\n"])
def test_a_sentence_that_both_tables_have_in_their_place_is_either(tmp_path: Path, sentence: bytes) -> None:
    for name in ("lci", "lgi"):
        (tmp_path / name).write_bytes(sentence)
    found = gathering.of_folder(tmp_path)
    assert (found.gpu_instances, found.compute_instances) == (sentence, sentence)
    (tmp_path / "lgi").write_bytes(LGI)
    found = gathering.of_folder(tmp_path)
    assert (found.gpu_instances, found.compute_instances) == (LGI, sentence)
    (tmp_path / "more").write_bytes(LCI)
    with pytest.raises(InputError, match="a second text of nvidia-smi mig -lgi"):
        gathering.of_folder(tmp_path)


def test_a_file_that_cannot_be_read_is_named_where_its_text_is_missing(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(LIST.decode().encode("utf-16"))
    with pytest.raises(InputError, match=r"no file of it holds .* \(.*list: UTF-16 text"):
        gathering.of_folder(tmp_path)
    with pytest.raises(InputError, match=r"list: UTF-16 text"):
        gathering.of_files([tmp_path / "list"])
    (tmp_path / "report").write_bytes(REPORT)
    assert "list: UTF-16 text" in gathering.of_folder(tmp_path).reason("-L")


def test_a_folders_pipes_sockets_and_links_to_them_are_passed_over(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to(folder / "pipe")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "broken").symlink_to("nowhere")
    (folder / "loop").symlink_to(folder)
    assert gathering.of_folder(folder).listing == LIST


def test_a_folder_without_texts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file of it holds"):
        gathering.of_folder(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        gathering.of_folder(tmp_path / "none")
    for number in range(gathering.MAX_FILES + 1):
        (tmp_path / str(number)).write_bytes(LIST)
    with pytest.raises(InputError, match="the most is 64"):
        gathering.of_folder(tmp_path)


def test_a_capture_gives_the_views_that_it_holds() -> None:
    found = gathering.of_capture(captures.load(ROOT / "captures", "h100-sxm5-x8_580.105.08"))
    assert found.report is not None
    assert found.report.count(b"<gpu id=") == 8
    assert found.reason("mig -lgi") == "capture h100-sxm5-x8_580.105.08 holds no text of mig -lgi"


@pytest.mark.parametrize(
    ("text", "made"),
    [
        (b"   GPU 0: x (UUID: u)\n   MIG 1g.5gb Device 0: (UUID: v)\n", b"GPU 0: x (UUID: u)\n  MIG 1g.5gb      Device  0: (UUID: v)\n"),
        (b"# GPU 0: x (UUID: u)\n#   MIG 1g.5gb Device 0: (UUID: v)\n", b"GPU 0: x (UUID: u)\n  MIG 1g.5gb      Device  0: (UUID: v)\n"),
        (b"GPU 0: x (UUID: u)\nMIG 1g.5gb Device 0: (UUID: v)\n", b"GPU 0: x (UUID: u)\nMIG 1g.5gb Device 0: (UUID: v)\n"),
    ],
)
def test_a_list_out_of_a_page_is_put_back(text: bytes, made: bytes) -> None:
    assert gathering.moved(text) == made


@pytest.mark.spec("DM64", "DM88", "DM89")
def test_on_a_node_a_command_that_fails_leaves_its_part_empty_and_a_sentence_is_a_text(tmp_path: Path) -> None:
    body = """case "$*" in
    -L) echo 'GPU 0: Tesla T4 (UUID: GPU-0)';;
    "-q -x") echo 'Failed to initialize NVML: x'; exit 18;;
    "mig -lgi") echo 'No GPU instances found: Not Found'; exit 6;;
    "mig -lci") echo 'No compute instances found' >&2; exit 6;;
    esac"""
    found = gathering.of_node({"PATH": "/nonexistent"}, fake(tmp_path / "nvidia-smi", body))
    assert (found.listing, found.report) == (LIST, None)
    assert (found.gpu_instances, found.compute_instances) == (b"No GPU instances found: Not Found\n", b"No compute instances found\n")
    assert found.reason("-q -x").endswith("nvidia-smi -q -x ended with status 18: Failed to initialize NVML: x")


@pytest.mark.spec("DM64")
def test_the_list_that_fails_leaves_the_report(tmp_path: Path) -> None:
    (tmp_path / "report").write_bytes(REPORT)
    found = gathering.of_node({"PATH": str(tmp_path)}, fake(tmp_path / "nvidia-smi", f'[ "$1" = -q ] && exec cat {tmp_path}/report; exit 255'))
    assert (found.listing, found.report) == (None, REPORT)


def test_what_a_command_printed_before_it_failed_is_kept_apart(tmp_path: Path) -> None:
    """As nvidia-smi does on a node of which one card is lost."""
    gone = "Unable to determine the device handle for GPU0000:01:00.0: GPU is lost."
    body = f'[ "$1" = -L ] && echo "{LIST.decode().strip()}"; echo "{gone}"; exit 15'
    found = gathering.of_node({"PATH": str(tmp_path)}, fake(tmp_path / "nvidia-smi", body))
    ended = f"{tmp_path}/nvidia-smi -L ended with status 15: {gone}"
    assert (found.listing, found.report, found.failed) == (LIST + gone.encode() + b"\n", None, (("-L", ended),))
    node = texts.discover(found)
    assert [gpu.uuid for gpu in node.placeable] == ["GPU-0"]
    assert problems.FAILED.format(reason=ended) in node.problems
    assert texts.discover(found, compatible=True).gpus == ()


@pytest.mark.spec("DM87")
def test_the_doctor_takes_no_report_of_a_command_that_failed(tmp_path: Path) -> None:
    (tmp_path / "report").write_bytes(REPORT)
    found = gathering.of_node({"PATH": str(tmp_path)}, fake(tmp_path / "nvidia-smi", f"cat {tmp_path}/report; exit 6"))
    assert found.report == REPORT
    for compatible in (False, True):
        with pytest.raises(InputError, match=r"nvidia-smi -q -x: .*nvidia-smi -q -x ended with status 6"):
            doctor.examine(found, compatible=compatible)


def test_a_node_without_nvidia_smi_is_told_so() -> None:
    with pytest.raises(MissingError, match="no nvidia-smi on PATH"):
        gathering.of_node({"PATH": "/nonexistent"})
