"""The real nvidia-smi on the mock: it runs every board without a crash, prints the same bytes whatever memory held before, and agrees with builtin.

The binary prints the host's clock; its timestamp line is put aside (and nothing else is).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.stages import compile as compiling
from harness.stages.answers import replaying
from harness.stages.render import serving
from harness.stages.smi import SmiRun, run_smi
from harness.stores import goldens, profiles
from harness.stores.workspace import Workspace
from harness.tables import drivers
from mocklib import image
from mocklib.image import Recorded
from tests.smi.conftest import each_pair

BOARDS = {
    "gt1030": "geforce-gt-1030-x1_470.74",
    "a100": "a100-sxm4-40gb-x1_570.148.08",
    "h100": "h100-sxm5-x8_580.105.08",
    "t4": "t4-x1_595.91.07",
}
VERSIONS = {470: "470.74", 525: "525.147.05", 535: "535.274.02", 550: "550.163.01"}
TIMESTAMP = re.compile(rb"<timestamp>.*</timestamp>")
Serve = Callable[..., Path]


def without_clock(text: bytes) -> bytes:
    return TIMESTAMP.sub(b"<timestamp/>", text, count=1)


@pytest.fixture(scope="module")
def space(repository: Path) -> Workspace:
    return Workspace.find(repository)


@pytest.fixture
def profile(space: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """``profile("t4", "550.163.01")``: the board's profile as it is, or claiming another driver."""
    monkeypatch.setenv("NVPARITY_CACHE", str(tmp_path / "cache"))

    def make(board: str, driver: str = "") -> Path:
        shipped = space.profile_path(BOARDS[board])
        if not driver:
            return shipped
        text, changed = re.subn(r"^  driver_version: .*$", f'  driver_version: "{driver}"', shipped.read_text("utf-8"), flags=re.MULTILINE)
        assert changed == 1
        path = tmp_path / f"{board}.yaml"
        path.write_text(text, "utf-8")
        return path

    return make


@pytest.fixture
def run(smi_binary: Callable[[int], Path], library_path: Path, space: Workspace) -> Callable[..., SmiRun]:
    """``run(470, profile, "-q", "-x", perturb=85)``: the binary of a branch on the board."""

    def start(branch: int, served: Path, *arguments: str, perturb: int | None = None) -> SmiRun:
        image = serving.image_of(served, space)
        return run_smi(smi_binary(branch), arguments, library=library_path, variables={"NVPARITY_IMAGE": str(image)}, perturb=perturb)

    return start


@pytest.mark.parametrize("arguments", [("-L",), ("-q", "-x"), ("-q",), ()], ids=" ".join)
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("branch", [470, 550])
def test_a_board_is_printed_the_same_whatever_memory_held(profile, run, branch: int, board: str, arguments: tuple[str, ...]) -> None:
    first, second = (run(branch, profile(board), *arguments, perturb=byte) for byte in (0x55, 0xAA))
    assert (first.status, first.stderr) == (0, b"")
    assert first.stdout.strip()
    if "-x" in arguments or "-L" in arguments:
        assert without_clock(first.stdout) == without_clock(second.stdout)
    else:
        clock = re.compile(rb"^(Timestamp .*|\w{3} \w{3} +\d+ [\d:]{8} \d{4} *)$", re.MULTILINE)
        assert clock.sub(b"", first.stdout) == clock.sub(b"", second.stdout)


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("branch", [470, 550])
def test_the_listing_is_builtins(profile, run, space: Workspace, branch: int, board: str) -> None:
    assert run(branch, profile(board), "-L").stdout == serving.render(profile(board), space, "L").data


def test_a_capture_of_the_binarys_own_branch_comes_back_whole(profile, run, space: Workspace) -> None:
    """The GT 1030 on 470, printed by the real 470 binary, is the scrubbed original: by hash, the clock set back to the capture's."""
    printed = run(470, profile("gt1030"), "-q", "-x").stdout
    captured = TIMESTAMP.search(serving.render(profile("gt1030"), space, "q-x").data)
    assert captured
    as_then = TIMESTAMP.sub(lambda _: captured.group(), printed, count=1)
    golden = goldens.load(space.golden / f"{BOARDS['gt1030']}.yaml")
    assert hashlib.sha256(as_then).hexdigest() == golden.views["q-x"].scrubbed


@pytest.mark.parametrize(("branch", "board"), each_pair(VERSIONS, BOARDS))
def test_builtin_and_the_binary_print_the_same_for_a_driver_of_its_branch(profile, run, space: Workspace, branch: int, board: str) -> None:
    served = profile(board, VERSIONS[branch])
    rendered = serving.render(served, space, "q-x")
    assert not rendered.assumed
    assert without_clock(run(branch, served, "-q", "-x").stdout) == without_clock(rendered.data)


@pytest.mark.parametrize(("branch", "board"), [(470, "gt1030"), (550, "h100")])
def test_recorded_answers_in_place_of_every_public_call_are_printed_as_the_fields_are(
    profile, smi_binary, library_path: Path, space: Workspace, tmp_path: Path, branch: int, board: str
) -> None:
    read = profiles.load(profile(board))
    spec = compiling.compile_profile(read, drivers.load(space.root).resolve(read.driver_version))
    recording = replaying.record_mock(profile(board), space)
    answers = tuple(Recorded(asked, answer) for asked, answer in recording.items())
    printed = []
    for name, served in (("fields", spec), ("answers", replace(spec, answers=answers))):
        image.write(tmp_path / name, image.pack(served))
        ran = run_smi(smi_binary(branch), ("-q", "-x"), library=library_path, variables={"NVPARITY_IMAGE": str(tmp_path / name)})
        assert (ran.status, ran.stderr) == (0, b"")
        printed.append(without_clock(ran.stdout))
    assert len(answers) > 800
    assert printed[0] == printed[1]
