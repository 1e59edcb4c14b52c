"""`nvparity record` with every real binary on the mock: all views, twice the same bundle, and the modes and refusals of the command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.stores import captures
from harness.stores.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = {470: "470.256.02", 525: "525.147.05", 535: "535.274.02", 550: "550.163.01", 555: "555.58.02"}


def run(library: Path, profile: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """`nvparity record` on the mock of ``profile``, which stands in the node's place: its branch library is the one that the loader finds."""
    record = [sys.executable, "-m", "harness.cli", "record", *arguments]
    command = [sys.executable, "-m", "harness.cli", "run", str(profile), "--", *record]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NVPARITY_LIBRARY": str(library), "PATH": "/usr/bin:/bin"}
    environment.pop("CI", None)
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.fixture
def profile(tmp_path: Path) -> Callable[[int], Path]:
    """``profile(550)``: two A100 on the driver of that branch's binary."""

    def make(branch: int) -> Path:
        text = next(ROOT.glob("profiles/rtx-a5000-x2_590.44.01.yaml")).read_text("utf-8").replace("590.44.01", VERSIONS[branch])
        path = tmp_path / f"node-{branch}.yaml"
        path.write_text(text, "utf-8")
        return path

    return make


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def still(name: str, data: bytes) -> list[bytes]:
    if name.endswith("SOURCES.md"):
        return []
    return [line for line in data.splitlines() if not line.startswith((b"id", b"recorded", b"sha256"))]


@pytest.mark.parametrize("branch", VERSIONS)
def test_every_view_is_recorded_and_a_second_recording_differs_in_what_moves_alone(
    branch: int, smi_binary: Callable[[int], Path], library_path: Path, profile: Callable[[int], Path], tmp_path: Path
) -> None:
    binary = smi_binary(branch)
    found = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        done = run(library_path, profile(branch), ["--root", str(tmp_path / name), "--smi", str(binary)])
        assert done.returncode == 0, done.stdout + done.stderr
        found.append(files(tmp_path / name))
    assert found[0].keys() == found[1].keys()
    assert [name for name in found[0] if still(name, found[0][name]) != still(name, found[1][name])] == []
    space = Workspace(tmp_path / "first")
    (identity,) = space.ids()
    capture = captures.load(space.captures, identity)
    assert capture.sidecar.driver == capture.sidecar.taken.nvidia_smi == VERSIONS[branch]
    runs = capture.runs
    assert (runs["query-gpu"].status, runs["query-gpu"].text.count(b"\n")) == (0, 3)
    assert runs["query-gpu"].command[1].count(",") > 100
    assert runs["mig-lgip"].status in (0, 6)
    assert runs["nvlink-info"].status == 2
    assert (runs["version"].status == 0) == (branch >= 550)
    assert {view for view, ran in runs.items() if ran.status == 0} >= {"q-x", "L", "q", "table", "supported-clocks", "query-gpu", "topo-m"}
    assert set(capture.sidecar.moved) <= {"timestamp"}


def test_the_readme_shows_what_a_recording_prints(smi_binary: Callable[[int], Path], library_path: Path, tmp_path: Path) -> None:
    """But for the milliseconds, and who asked."""
    (shown,) = re.findall(r"```text\n(geforce.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    profile = ROOT / "profiles" / f"{shown.partition(':')[0]}.yaml"
    done = run(library_path, profile, ["--root", str(tmp_path), "--smi", str(smi_binary(525))])
    assert (done.returncode, done.stderr.startswith("nvparity: ")) == (0, True), done.stderr

    def plain(text: str) -> list[str]:
        return [re.sub(r"^(  [a-z-]+ +(?:whole|empty|refused|unknown) +\d+) +\d+", r"\1", line.rstrip()) for line in text.splitlines()]

    found = [line.replace("asked not as root", "asked as root") for line in plain(done.stdout)]
    columns = [re.sub(" +", " ", line) for line in found]
    assert [line for line in plain(shown) if re.sub(" +", " ", line) not in columns] == []


def test_a_node_without_nvidia_smi_is_told_how_to_record_its_answers(library_path: Path, profile: Callable[[int], Path], tmp_path: Path) -> None:
    (tmp_path / "node").mkdir()
    done = run(library_path, profile(550), ["--root", str(tmp_path / "node"), "--smi", str(tmp_path / "none")])
    assert (done.returncode, list((tmp_path / "node").iterdir())) == (4, [])
    assert "--views none records the answers alone" in done.stderr


def test_a_library_that_is_none_or_a_driver_that_is_not_loaded_is_named(tmp_path: Path, library_path: Path, profile: Callable[[int], Path]) -> None:
    (tmp_path / "node").mkdir()
    (tmp_path / "libnvidia-ml.so.1").write_bytes(b"no library")
    record = [sys.executable, "-m", "harness.cli", "record", "--root", str(tmp_path / "node"), "--views", "none"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NVPARITY_LIBRARY": str(library_path)}
    environment.pop("CI", None)
    done = subprocess.run(
        [*record, "--library", str(tmp_path / "libnvidia-ml.so.1")], env=environment, capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert (done.returncode, done.stderr.count("\n")) == (4, 1)
    assert "libnvidia-ml.so.1 cannot be loaded" in done.stderr
    assert list((tmp_path / "node").iterdir()) == []


def test_a_view_that_is_none_is_named_with_the_nearest(tmp_path: Path, library_path: Path, profile: Callable[[int], Path]) -> None:
    done = run(library_path, profile(550), ["--root", str(tmp_path), "--views", "topo"])
    assert done.returncode == 2
    assert "did you mean 'topo-m'" in done.stderr
