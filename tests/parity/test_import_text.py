"""Import of `-q` text: alone, beside `-q -x` or `-L` of the node, a section of it, out of a bug report; a lost GPU and a state stay what they are."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import guard
from harness.stages.importing import pipeline
from harness.stages.render import serving
from harness.stores import captures, profiles
from harness.stores.workspace import Workspace
from harness.text.document import TRIMMED
from harness.words.state import State
from tests.parity import proved, raw_files
from tests.parity.mutations_board import SPACE

pytestmark = pytest.mark.usefixtures("served_library")
BOARD = "l4-x2_555.42.06"
SAMPLED = ("tesla-t4_535.183.01_forceinjection-ai-fundermentals_1", "unknown_384.81_yasuyuky-nvidia-smi-rs_1")
"""One that is cut off, and a section in the code of a program; all in ``nox -s proofs``."""
STRANGERS = [name for name in raw_files.listed("q") if proved.FULL or Path(name).stem in {*SAMPLED, raw_files.NONE}]


@pytest.fixture(scope="module")
def text() -> bytes:
    """What `nvidia-smi -q` prints on the board."""
    return serving.render(SPACE.profile_path(BOARD), SPACE, "q").data


def put(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def first_gpu(text: bytes) -> bytes:
    """``text`` up to the end of its first GPU."""
    return text[: text.index(b"\n\nGPU 0000", text.index(b"GPU 0000")) + 1]


@pytest.mark.parametrize("name", STRANGERS)
def test_a_strangers_text_reaches_parity(name: str, space: Workspace, raw_capture: Callable[[str], Path]):
    made = pipeline.run(space, [raw_capture(name)], "stranger")
    (case,) = made.cases
    assert [(finding.path, finding.kind, finding.expected, finding.actual) for finding in case.findings] == []
    assert made.parity
    assert case.bytes == ("equal" if made.kind == "own" else "n/a")
    assert case.counts.exact + case.counts.unmodelled + case.counts.deferred == case.counts.elements > 0
    assert case.counts.unmodelled <= 10


def test_a_text_alone_says_of_a_gpu_what_the_query_says(space: Workspace, tmp_path: Path, text: bytes):
    made = pipeline.run(space, [put(tmp_path, "q.txt", text)], "mine")
    assert (made.kind, made.driver, made.parity, made.unmodelled) == ("own", "555.42.06", True, {})
    assert "`nvidia-smi -q` alone: the profile lacks what `-q -x` prints beside (" in made.notes[-1]
    told, known = (profiles.load(path) for path in (space.profile_path("mine"), SPACE.profile_path(BOARD)))
    for ours, theirs in zip(told.devices, known.devices, strict=True):
        lacking = {key for key in theirs.values if ours.values.get(key) != theirs.values[key]}
        assert lacking == {"supported_clocks.memory_clocks", "power.power_state", "accounting.terminated"}
        assert ours.states.items() <= theirs.states.items() | {(key, State.NOT_SUPPORTED) for key in ours.states}
    assert {path.name for path in (space.captures / "mine").iterdir()} == {"sidecar.yaml", "transcript.txt"}
    assert (space.golden / "baselines" / "mine.yaml").is_file()
    assert guard.run(["check", "--root", str(space.root)]) == 0


def test_a_section_alone_is_told_and_rendered_as_that_section(space: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    part = serving.render(SPACE.profile_path(BOARD), SPACE, "q:MEMORY,POWER").data
    made = pipeline.run(space, [put(tmp_path, "q.txt", part)], "mine")
    assert made.parity
    assert made.learnt is None or made.learnt.changes == ()
    outline = captures.load(space.captures, "mine").outline
    assert outline is not None
    assert outline.view == "q:MEMORY,POWER"
    device = profiles.load(space.profile_path("mine")).devices[0]
    assert {"memory.total_bytes", "power.enforced_limit_mw", "pci.bus_id"} <= device.values.keys()
    assert not {"name", "uuid", "serial", "clocks.sm_current"} & device.values.keys()
    assert guard.run(["check", "--root", str(space.root)]) == 0


def test_a_text_beside_the_query_is_a_view_of_its_own_and_what_moved_is_set_apart(
    space: Workspace, tmp_path: Path, text: bytes, capsys: pytest.CaptureFixture[str]
):
    query = serving.render(SPACE.profile_path(BOARD), SPACE, "q-x").data
    row = next(line for line in text.split(b"\n") if b"GPU Current Temp" in line)
    later = text.replace(row, row.rpartition(b": ")[0] + b": 77 C", 1).replace(b"13:41:56", b"13:41:57")
    made = pipeline.run(space, [put(tmp_path, "q.txt", later), put(tmp_path, "q.xml", query)], "mine")
    assert [(case.view, len(case.findings), case.bytes) for case in made.cases] == [("q-x", 0, "equal"), ("q", 0, "differs")]
    assert 1 <= made.cases[1].counts.moved <= 2
    assert {path.name for path in (space.captures / "mine").iterdir()} == {"sidecar.yaml", "transcript.txt", "outline.txt"}
    assert guard.run(["show", "mine:temperature/gpu_temp", "--root", str(space.root)]) == 0
    assert guard.run(["check", "--root", str(space.root)]) == 0


@pytest.mark.parametrize(
    ("label", "old", "new"),
    [
        (b"Product Name", b": NVIDIA L4", b": NVIDIA L5"),
        (b"VBIOS Version", b"", b": 95.04.5D.00.FF"),
        (b"Total", b"", b": 24000 MiB"),
    ],
)
def test_a_text_with_another_name_vbios_or_memory_is_of_another_node(
    space: Workspace, tmp_path: Path, text: bytes, label: bytes, old: bytes, new: bytes, capsys: pytest.CaptureFixture[str]
):
    query = serving.render(SPACE.profile_path(BOARD), SPACE, "q-x").data
    row = next(line for line in text.split(b"\n") if line.strip().startswith(label + b" ") and old in line)
    other = text.replace(row, row.rpartition(b": ")[0] + new, 1)
    files = [str(put(tmp_path, "q.txt", other)), str(put(tmp_path, "q.xml", query))]
    assert guard.run(["import", *files, "--root", str(space.root)]) == 3
    said = capsys.readouterr().err
    assert "are not of one node" in said
    assert f"{new.decode()[2:]} at gpu[0]/" in said
    assert list(space.root.rglob("*.yaml")) == []


def test_what_cannot_move_between_two_commands_is_a_finding(space: Workspace, tmp_path: Path, text: bytes):
    query = serving.render(SPACE.profile_path(BOARD), SPACE, "q-x").data
    row = next(line for line in text.split(b"\n") if b"Compute Mode" in line)
    other = text.replace(row, row.rpartition(b": ")[0] + b": Prohibited", 1)
    made = pipeline.run(space, [put(tmp_path, "q.txt", other), put(tmp_path, "q.xml", query)], "mine")
    assert [(case.view, [finding.path for finding in case.findings]) for case in made.cases] == [("q-x", []), ("q", ["gpu[0]/Compute Mode"])]
    assert made.cases[1].counts.moved == 0


def test_a_text_of_another_node_is_refused_beside_a_query(space: Workspace, tmp_path: Path, text: bytes):
    other = serving.render(SPACE.profile_path("t4-x1_595.91.07"), SPACE, "q-x").data
    assert guard.run(["import", str(put(tmp_path, "q.txt", text)), str(put(tmp_path, "q.xml", other)), "--root", str(space.root)]) == 3
    assert list(space.root.rglob("*.yaml")) == []


def test_a_list_joins_the_text_of_its_node(space: Workspace, tmp_path: Path, text: bytes):
    listed = serving.render(SPACE.profile_path(BOARD), SPACE, "L").data
    made = pipeline.run(space, [put(tmp_path, "L.txt", listed), put(tmp_path, "q.txt", text)], "mine")
    assert [(case.view, case.parity) for case in made.cases] == [("q", True), ("L", True)]
    assert not (space.golden / "baselines" / "mine.yaml").exists()


def test_the_text_of_a_bug_report_is_imported(space: Workspace, tmp_path: Path, text: bytes):
    report = b"Start of NVIDIA bug report log file.\n\n/usr/bin/nvidia-smi --query\n\n" + text + b"_" * 44 + b"\n\nmore: of it\n"
    made = pipeline.run(space, [put(tmp_path, "nvidia-bug-report.log.gz", gzip.compress(report))], "mine")
    assert (made.kind, made.parity) == ("own", True)


def test_a_gpu_that_is_left_out_is_uncaptured_and_its_neighbour_equal(space: Workspace, tmp_path: Path, text: bytes):
    made = pipeline.run(space, [put(tmp_path, "q.txt", first_gpu(text))], "mine")
    assert (made.kind, made.parity) == (TRIMMED, True)
    assert [device.state for device in profiles.load(space.profile_path("mine")).devices] == [State.UNCAPTURED, None]


def test_a_lost_gpu_is_a_state_of_its_own(space: Workspace, tmp_path: Path, text: bytes):
    """Every binary at hand ends there, and so does the render: the rest of such a text is told as missing."""
    lost = b"Unable to determine the device handle for GPU0000:FF:00.0: GPU is lost.  Reboot the system to recover this GPU\n"
    made = pipeline.run(space, [put(tmp_path, "q.txt", lost + first_gpu(text))], "mine")
    assert not made.parity
    assert [device.state for device in profiles.load(space.profile_path("mine")).devices] == [None, State.GPU_LOST]


def test_states_stay_states(space: Workspace, tmp_path: Path, text: bytes):
    label = b"    Fan Speed                             : "
    odd = b"\n".join(label + b"Unknown Error" if line.startswith(label) else line for line in text.split(b"\n"))
    made = pipeline.run(space, [put(tmp_path, "q.txt", odd)], "mine")
    assert made.parity
    assert profiles.load(space.profile_path("mine")).devices[0].states["fan.speed_percent"] is State.UNKNOWN_ERROR


def test_a_text_that_was_changed_by_hand_is_kept_and_not_compared(space: Workspace, tmp_path: Path, text: bytes, capsys: pytest.CaptureFixture[str]):
    torn = text.replace(b"Driver Version", b"Driver Verzion")
    assert guard.run(["import", str(put(tmp_path, "q.txt", torn)), "--root", str(space.root)]) == 3
    assert "the capture has no Driver Version" in capsys.readouterr().err
    assert guard.run(["import", str(tmp_path / "q.txt"), "--kind", "edited", "--root", str(space.root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "edited"


def test_shown_found_and_compared_by_labels(space: Workspace, tmp_path: Path, text: bytes, capsys: pytest.CaptureFixture[str]):
    file = str(put(tmp_path, "q.txt", text))
    assert guard.run(["show", f"{file}:gpu[0]/Clocks/SM", "--root", str(space.root)]) == 0
    by_path = capsys.readouterr().out
    assert guard.run(["show", f"{file}:gpu[0]/clocks.sm_current", "--root", str(space.root)]) == 0
    assert by_path.partition(": ")[2] == capsys.readouterr().out.partition(": ")[2] == "2040 MHz\n"
    other = str(put(tmp_path, "other.txt", text.replace(b": NVIDIA L4", b": NVIDIA L5")))
    assert guard.run(["diff", file, other, "--root", str(space.root)]) == 1
    assert "Product Name" in capsys.readouterr().out
    assert guard.run(["roundtrip", file]) == 0
    assert "own, 0 of" in capsys.readouterr().out
