"""A live check with the real nvidia-smi: the mock stands for the node's library, and where the tree has the version's node nothing is found."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli import guard
from harness.stages.answers import replaying
from harness.stages.compile import compile_profile
from harness.stages.live import Node, check
from harness.stages.live.running import Live
from harness.stages.render import process, serving
from harness.stores import profiles
from harness.stores.workspace import Workspace
from harness.tables import drivers
from harness.words.errors import MissingError
from mocklib import image
from mocklib.image import Clock
from tests.smi.conftest import each_pair

BOARDS = {
    "gt1030": "geforce-gt-1030-x1_470.74",
    "a100": "a100-sxm4-40gb-x1_570.148.08",
    "h100": "h100-sxm5-x8_580.105.08",
    "t4": "t4-x1_595.91.07",
}
VERSIONS = {470: "470.74", 525: "525.147.05", 535: "535.274.02", 550: "550.163.01", 555: "555.58.02"}
RAMP = 1
CLOCK = {"timestamp"}
"""What a second that goes by between two runs of nvidia-smi moves."""


@pytest.fixture
def node(
    smi_binary: Callable[[int], Path], library_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: Path
) -> Callable[..., Node]:
    """``node(550, "t4")``: the board on the driver of that branch's binary, whose library is the mock; ``version``: that it claims another."""
    space = Workspace(repository)
    monkeypatch.setenv("NVPARITY_CACHE", str(tmp_path / "cache"))

    def make(branch: int, board: str, version: str = "", root: Path | None = None) -> Node:
        text = space.profile_path(BOARDS[board]).read_text("utf-8")
        text = re.sub(r"^  driver_version: .*$", f'  driver_version: "{version or VERSIONS[branch]}"', text, flags=re.MULTILINE)
        profile = tmp_path / f"{board}.yaml"
        profile.write_text(text, "utf-8")
        image = tmp_path / "image"
        image.write_bytes(serving.image_bytes(profile, space))
        monkeypatch.setenv("NVPARITY_IMAGE", str(image))
        monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "state"))
        return Node(root, dict(os.environ), time.time, smi_binary(branch), library_path)

    return make


def found(live: Live) -> set[tuple[str, str]]:
    return {(finding.kind, finding.path) for verdict in live.verdicts for finding in verdict.case.findings}


@pytest.mark.parametrize(("branch", "board"), each_pair(VERSIONS, BOARDS))
def test_nothing_is_found_where_the_tree_has_the_version(node: Callable[..., Node], branch: int, board: str) -> None:
    live = check(node(branch, board))
    assert found(live) == set()
    assert not live.assumed
    assert live.not_asked == ()
    for verdict in live.verdicts:
        assert set(verdict.moved) <= CLOCK
        assert verdict.case.bytes == "equal"


def test_a_wrong_row_and_a_wrong_layout_are_found_exactly(node: Callable[..., Node], repository: Path, tmp_path: Path) -> None:
    nodes = tmp_path / "workspace" / "profiles" / "drivers"
    nodes.mkdir(parents=True)
    right = (repository / "profiles" / "drivers" / "550.163.01.yaml").read_text("utf-8")
    (nodes / "550.163.01.yaml").write_text(right.replace("\nchanges:\n", "\nchanges:\n  - {remove: gpu/fan_speed}\n"), "utf-8")
    live = check(node(550, "h100", root=tmp_path / "workspace"))
    assert found(live) == {("missing", f"gpu[{number}]/fan_speed") for number in range(8)}
    (nodes / "550.163.01.yaml").write_text(
        right.replace("\nroutes:\n", "\nroutes:\n  persistence_mode: {call: nvmlDeviceGetDisplayActive, out: isActive}\n"), "utf-8"
    )
    live = check(node(550, "h100", root=tmp_path / "workspace"))
    assert found(live) == {("changed", f"gpu[{number}]/persistence_mode") for number in range(8)}
    asked = live.verdicts[0].asked["gpu[7]/persistence_mode"]
    assert (asked.route, asked.code) == ("call nvmlDeviceGetDisplayActive() isActive", 0)


def test_a_version_nobody_has_seen_takes_the_assumed_node_and_its_own_table(node: Callable[..., Node]) -> None:
    live = check(node(550, "t4", version="550.200.01"))
    assert (live.layout, live.assumed, live.not_asked, found(live)) == ("550.163.01", True, (), set())


def test_rows_of_an_unmeasured_table_are_set_aside_and_nothing_else(node: Callable[..., Node]) -> None:
    live = check(node(555, "t4", version="560.35.03"))
    assert "gpu_part_number" in live.not_asked
    assert live.verdicts[0].case.deferrals["not asked"] > 5


def test_readings_that_move_are_set_aside_by_that_evidence(node: Callable[..., Node], tmp_path: Path, repository: Path) -> None:
    made = node(550, "t4")
    read = profiles.load(tmp_path / "t4.yaml")
    spec = compile_profile(read, drivers.load(repository).resolve(read.driver_version))
    spec.devices[0]["thermal.temperature_gpu_c"] = replace(spec.devices[0]["thermal.temperature_gpu_c"], kind=RAMP, rate=1)
    start = time.time_ns()
    image.write(tmp_path / "image", image.pack(replace(spec, clock=Clock("scaled", start, 10_000, start), ramp_start_ns=start)))
    live = check(made)
    assert found(live) == set()
    assert set(live.verdicts[0].moved) - CLOCK == {"gpu[0]/temperature/gpu_temp"}
    assert live.verdicts[0].case.bytes == "equal"


def settled(text: str) -> list[str]:
    """The lines of a live check of a T4, whether a second went by meanwhile or not, and without the folders of library and nvidia-smi."""
    text = re.sub(r"[^ ]+(?=/(?:libnvidia-ml\.so\.1|nvidia-smi)\b)", "...", text)
    return [line.replace("284 exact, 1 moved", "285 exact, 0 moved") for line in text.strip().splitlines() if "not compared: timestamp" not in line]


def test_the_command_says_where_it_looked_and_ends_with_the_gates_status(
    node: Callable[..., Node], capsys: pytest.CaptureFixture[str], repository: Path
) -> None:
    """And docs/live.md shows it."""
    made = node(550, "t4")
    report = Path(os.environ["NVPARITY_CACHE"]).parent / "report.xml"
    status = guard.run(["check", "--live", "--smi", str(made.smi), "--library", str(made.library), "--junit", str(report)])
    told = capsys.readouterr().out
    assert status == 0
    assert f"{made.library} against {made.smi}" in told
    assert told.rstrip().endswith("parity")
    (shown,) = re.findall(r"```text\n(live: .*?)```", (repository / "docs" / "live.md").read_text("utf-8"), re.DOTALL)
    assert settled(told) == settled(shown)
    assert b'testcase name="view q-x"' in report.read_bytes()


@pytest.mark.parametrize("branch", VERSIONS)
def test_a_real_library_without_its_driver_is_an_environment_that_lacks_something(smi_binary: Callable[[int], Path], branch: int) -> None:
    library = smi_binary(branch).parent / "lib" / "libnvidia-ml.so.1"
    if not library.is_file():
        pytest.skip(f"NVPARITY_SMI has no library of branch {branch}")
    if Path("/proc/driver/nvidia/version").exists():
        pytest.skip("this machine has a driver")
    with pytest.raises(MissingError, match=r"nvmlInit_v2 answers DRIVER_NOT_LOADED"):
        replaying.record_library(library)
    with pytest.raises(MissingError, match=r"nvmlInit_v2 answers DRIVER_NOT_LOADED \(9\): the library is there, the kernel's driver is not"):
        process.render(process.Job(str(library), "", None, now=0))
    with pytest.raises(MissingError, match=r"exit status 9 and no whole text of that view: NVIDIA-SMI has failed"):
        check(Node(None, {}, time.time, smi_binary(branch), library))
