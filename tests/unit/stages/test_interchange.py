"""An answers document of DCGM's NVML injection comes in as a capture: what is written, scrubbed, told and refused."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import guard
from harness.stages.answers import replaying
from harness.stores import captures, goldens
from harness.stores.workspace import Workspace
from mocklib.answers import Asked, Gpu, Recording
from mocklib.binding import Answer

pytestmark = pytest.mark.usefixtures("served_library")
ONE, OTHER = "GPU-8f3a1c52-77d0-4b1e-9a66-0c2d5e7f9b31", "GPU-1b7e90d4-2a5c-4f38-8e01-c94f6a2b7d50"
SERIAL = "1563220017432"
DOCUMENT = f"""\
Global:
  DeviceOrder: [{OTHER}, {ONE}]
  Count: {{FunctionReturn: 0, ReturnValue: 2}}
  DriverVersion: {{FunctionReturn: 0, ReturnValue: 580.105.08}}
Device:
  {ONE}:
    Name: {{FunctionReturn: 0, ReturnValue: NVIDIA Example}}
    Index: {{FunctionReturn: 0, ReturnValue: 1}}
    P2PStatus: {{{OTHER}: {{0: {{FunctionReturn: 0, ReturnValue: 3}}}}}}
    NvLinkVersion: {{7: {{FunctionReturn: 3}}}}
  {OTHER}:
    UUID: {{FunctionReturn: 0, ReturnValue: {OTHER}}}
    Name: {{FunctionReturn: 0, ReturnValue: NVIDIA Example}}
    Index: {{FunctionReturn: 0, ReturnValue: 0}}
    Serial: {{FunctionReturn: 0, ReturnValue: '{SERIAL}'}}
    PowerUsage: {{FunctionReturn: 0, ReturnValue: 70123}}
    EccMode: {{FunctionReturn: 15, ReturnValue: [0, 0]}}
    BoardId: {{FunctionReturn: 0, ReturnValue: 4294967295}}
    GpuLockedClocks: {{FunctionReturn: 0}}
MigDevice:
  MIG-3c1b5a77-1f20-4f6e-8b11-5d0f2e8a6c93:
    Name: {{FunctionReturn: 0, ReturnValue: NVIDIA Example}}
"""
ID = "example-x2_580.105.08"


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "whatever.txt"
    path.write_text(DOCUMENT, "utf-8")
    return path


def recording_of(space: Workspace) -> Recording:
    """The answers of the capture that the document became."""
    found = captures.load(space.captures, ID).answers
    assert found is not None
    return found


def run(space: Workspace, *arguments: object) -> int:
    return guard.run(["import", *map(str, arguments), "--no-ci", "--root", str(space.root)])


@pytest.fixture(scope="module")
def imported(library_path: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, str]:
    """The workspace that the document was imported into, and what the command printed."""
    root = tmp_path_factory.mktemp("imported")
    (root / "work").mkdir()
    (root / "document.yaml").write_text(DOCUMENT, "utf-8")
    command = [sys.executable, "-m", "harness.cli", "import", str(root / "document.yaml"), "--no-ci", "--root", str(root / "work")]
    variables = {**os.environ, "NVPARITY_LIBRARY": str(library_path)}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return Workspace(root / "work"), done.stdout


def test_it_becomes_a_capture_with_answers_alone_whose_mock_answers_as_it_says(imported):
    space, out = imported
    capture = captures.load(space.captures, ID)
    assert (list(capture.sidecar.views), capture.sidecar.taken, capture.sidecar.kind, capture.texts) == (["answers"], None, "own", {})
    recording = capture.answers
    served = replaying.record_mock(space.profile_path(ID), space)
    assert {asked: served[asked] for asked in recording} == recording
    assert recording[Asked("nvmlDeviceGetPowerUsage", 0)] == Answer(0, {"power": 70123})
    assert recording[Asked("nvmlDeviceGetEccMode", 0)] == Answer(15)
    assert recording[Asked("nvmlDeviceGetP2PStatus", 1, (("device2", Gpu(0)), ("p2pIndex", 0)))] == Answer(0, {"p2pStatus": 3})
    assert len(recording) == 13
    assert out.splitlines()[-1] == "  parity: rendered from the mock library, bytes equal, 13 elements exact"


def test_what_it_does_not_say_stays_unknown(imported):
    recording = recording_of(imported[0])
    assert {asked.function for asked in recording} == {
        "nvmlSystemGetDriverVersion", "nvmlDeviceGetCount_v2", "nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetIndex", "nvmlDeviceGetSerial",
        "nvmlDeviceGetPowerUsage", "nvmlDeviceGetEccMode", "nvmlDeviceGetBoardId", "nvmlDeviceGetP2PStatus",
    }  # fmt: skip


def test_identifiers_are_replaced_before_anything_is_written(imported):
    space, out = imported
    assert "scrubbed: serial 1, uuid 2" in out
    written = [path.read_text("utf-8") for path in space.root.rglob("*") if path.is_file()]
    for text in (*written, out):
        assert not any(secret.lower() in text.lower() for secret in (ONE, OTHER, SERIAL, "MIG-3c1b5a77"))
    first, second = (recording_of(space)[Asked("nvmlDeviceGetUUID", gpu)].out["uuid"] for gpu in (0, 1))
    assert first != second


def test_what_is_not_kept_is_counted_in_the_report_and_in_the_sidecar(imported):
    space, out = imported
    told = [line.removeprefix("  note: ") for line in out.splitlines() if line.startswith("  note: ")]
    assert told == [
        "from an answers document of DCGM's NVML injection: 13 answers",
        "not kept, 1 x no getter of the list has this key: Device.GpuLockedClocks",
        "not kept, 1 x a recording asks GPUs and keeps no answers of MIG devices: MigDevice.Name",
        "not kept, 1 x a recording does not ask it with these arguments: Device.NvLinkVersion",
    ]
    assert list(captures.load(space.captures, ID).sidecar.notes) == told


def test_the_golden_keeps_the_hashes_of_the_document_and_of_the_answers(imported):
    space, _ = imported
    golden = goldens.load(space.golden / f"{ID}.yaml")
    assert (list(golden.views), golden.recorded, golden.by) == (["answers"], False, "import")
    assert golden.views["answers"].readings.count == 13
    assert guard.run(["check", "--root", str(space.root)]) == 0


def test_a_change_of_an_answer_is_found_by_the_check(imported, tmp_path, capsys):
    shutil.copytree(imported[0].root, tmp_path / "copy")
    space = Workspace(tmp_path / "copy")
    path = space.profile_path(ID)
    text = path.read_text("utf-8")
    assert "70123" in text
    path.write_text(text.replace("70123", "70124"), "utf-8")
    assert guard.run(["check", "--root", str(space.root)]) == 1
    assert "nvmlDeviceGetPowerUsage" in capsys.readouterr().out


def test_the_same_document_twice_is_known_and_a_second_import_of_an_id_is_proposed(imported, document, tmp_path, capsys):
    shutil.copytree(imported[0].root, tmp_path / "copy")
    space = Workspace(tmp_path / "copy")
    assert run(space, document) == 3
    assert f"already imported as {ID}" in capsys.readouterr().err
    document.write_text(DOCUMENT.replace("70123", "70124"), "utf-8")
    assert run(space, document, "--id", ID) == 0
    assert "nothing else changed" in capsys.readouterr().out
    assert recording_of(space)[Asked("nvmlDeviceGetPowerUsage", 0)].out == {"power": 70123}


def test_it_may_be_packed_and_come_from_a_named_source(space, tmp_path):
    packed = tmp_path / "answers.gz"
    packed.write_bytes(gzip.compress(DOCUMENT.encode(), mtime=0))
    assert run(space, packed, "--source", "repository=https://example.org/x licence=MIT", "--id", "mine") == 0
    sidecar = captures.load(space.captures, "mine").sidecar
    assert (sidecar.source.repository, sidecar.source.licence) == ("https://example.org/x", "MIT")
    assert "unpacked from gzip" in sidecar.notes


def test_a_folder_takes_it_for_what_it_is_and_refuses_a_broken_one(space, tmp_path, query, capsys):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.yaml").write_text(DOCUMENT, "utf-8")
    (folder / "b.txt").write_text(DOCUMENT.replace("FunctionReturn: 15", "FunctionReturn: x"), "utf-8")
    (folder / "c.yaml").write_text("Global: 1\n", "utf-8")
    (folder / "d.xml").write_bytes(query.read_bytes())
    assert run(space, folder, "--json") == 3
    found = {entry["files"][0]: (entry["outcome"], entry["id"]) for entry in json.loads(capsys.readouterr().out)["files"]}
    assert found == {"a.yaml": ("imported", ID), "b.txt": ("refused", None), "c.yaml": ("skipped", None), "d.xml": ("imported", "t4-x1_595.91.07")}


REFUSED = {
    "no driver": (DOCUMENT.replace("  DriverVersion", "  Driver"), 3, "Global.DriverVersion is missing"),
    "a driver that failed": (DOCUMENT.replace("0, ReturnValue: 580.105.08", "9"), 3, "Global.DriverVersion answered DRIVER_NOT_LOADED"),
    "a driver version that is none": (DOCUMENT.replace("580.105.08", "new"), 3, "Global.DriverVersion: "),
    "no devices": ("Global: {DriverVersion: {FunctionReturn: 0, ReturnValue: 580.105.08}}\nDevice: {}\n", 3, "no devices in it"),
    "a device too few": (DOCUMENT.replace("ReturnValue: 2", "ReturnValue: 3"), 3, "Global.Count says 3, and the document has 2 devices"),
    "a device too many": (DOCUMENT.replace("ReturnValue: 2", "ReturnValue: 1"), 3, "Global.Count says 1, and the document has 2 devices"),
    "damage": (DOCUMENT.replace("FunctionReturn: 15", "FunctionReturn: x"), 3, ":17: Device[0].EccMode.FunctionReturn is no return code"),
}


@pytest.mark.parametrize(("text", "status", "said"), REFUSED.values(), ids=REFUSED)
def test_a_document_of_which_no_board_can_be_made_is_refused_and_nothing_is_written(space, document, capsys, text, status, said):
    document.write_text(text, "utf-8")
    assert run(space, document) == status
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1
    assert not [path for path in space.root.rglob("*") if path.is_file()]


def test_options_that_are_for_texts_are_refused(space, document, query, capsys):
    assert run(space, document, query) == 2
    assert run(space, document, "--kind", "edited") == 2
    assert run(space, query) == 0
    assert run(space, document, "--compare", "t4-x1_595.91.07") == 2
    said = capsys.readouterr().err.splitlines()
    assert "imported alone" in said[0]
    assert "--kind edited is for what nvidia-smi wrote" in said[1]
    assert "--compare follows what nvidia-smi prints" in said[2]
