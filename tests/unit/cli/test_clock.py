"""``--clock`` of ``render`` and ``run``: the time of the mock, and of a time line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import guard
from harness.text import timeline
from harness.text.timeline_model import Reading, TimeLine
from harness.words.errors import EXIT_INPUT, EXIT_USAGE
from mocklib.answers import Asked
from mocklib.spec import Clock

pytestmark = pytest.mark.usefixtures("served_library")
T4 = "t4-x1_595.91.07"
AT = "2026-08-21T09:23:10Z"
TEMPERATURE = Asked("nvmlDeviceGetTemperature", 0, (("sensorType", 0),))


@pytest.fixture
def profile(tmp_path: Path, repository: Path) -> Path:
    """A profile whose temperature goes 33, 40, 51 degrees, a minute each."""
    (tmp_path / "t.txt").write_text(timeline.dump(TimeLine(60 * 10**9, 5, 3, (Reading(TEMPERATURE, "temp", (33, 40, 51)),))))
    path = tmp_path / "mine.yaml"
    path.write_text((repository / "profiles" / f"{T4}.yaml").read_text() + "timeline: {file: t.txt}\n")
    return path


def rendered(capfdbinary: pytest.CaptureFixture[bytes], profile: Path, *options: str) -> list[str]:
    """The lines of the timestamp and of the temperature."""
    assert guard.run(["render", str(profile), *options]) == 0
    said = capfdbinary.readouterr()
    assert said.err == b""
    return [line.strip() for line in said.out.decode().splitlines() if "<timestamp>" in line or "<gpu_temp>" in line]


@pytest.mark.parametrize(
    ("clock", "timestamp", "temperature"),
    [
        ((), "Fri Aug 21 09:23:10 2026", 33),
        (("--clock", "frozen"), "Fri Aug 21 09:23:10 2026", 33),
        (("--clock", "at:+59.999999999s"), "Fri Aug 21 09:24:09 2026", 33),
        (("--clock", "at:+60s"), "Fri Aug 21 09:24:10 2026", 40),
        (("--clock", "at:2026-08-21T09:25:10Z"), "Fri Aug 21 09:25:10 2026", 51),
        (("--clock", "at:+2h"), "Fri Aug 21 11:23:10 2026", 51),
    ],
)
def test_a_render_stands_where_its_clock_does(
    profile: Path, capfdbinary: pytest.CaptureFixture[bytes], clock: tuple[str, ...], timestamp: str, temperature: int
) -> None:
    assert rendered(capfdbinary, profile, *clock) == [f"<timestamp>{timestamp}</timestamp>", f"<gpu_temp>{temperature} C</gpu_temp>"]


CLIENT = "import os, pathlib; from mocklib import state; print(state.read(pathlib.Path(os.environ['MOCK_NVML_STATE'])).node.clock)"


@pytest.mark.parametrize(("clock", "mode", "scale"), [("play", "scaled", 1.0), ("scaled:60", "scaled", 60.0), ("at:+1m", "frozen", 1.0)])
def test_the_processes_of_a_run_have_one_clock(profile: Path, repository: Path, clock: str, mode: str, scale: float) -> None:
    client = f'{sys.executable} -c "{CLIENT}"'
    command = [sys.executable, "-m", "harness.cli", "run", str(profile), "--clock", clock, "--", "sh", "-c", f"{client}; {client}"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == second
    found = eval(first, {"Clock": Clock})
    assert (found.mode, found.scale) == (mode, scale)
    assert found.at_ns == 1787304190 * 10**9 + (60 * 10**9 if mode == "frozen" else 0)
    assert (found.start_ns > found.at_ns) == (mode == "scaled")


@pytest.mark.parametrize("command", ["render", "run"])
def test_a_clock_that_is_none_is_a_usage_error_and_nothing_is_started(
    profile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    tail = ["--", "touch", str(tmp_path / "started")] if command == "run" else []
    assert guard.run([command, str(profile), "--clock", "plya", *tail]) == EXIT_USAGE
    assert "--clock: no clock 'plya' (did you mean 'play'?); known: frozen, real, play, scaled:X, at:INSTANT" in capsys.readouterr().err
    assert not (tmp_path / "started").exists()


def test_a_profile_without_an_instant_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.yaml"
    path.write_text('version: "1.0"\nsystem: {driver_version: 570.148.08, num_devices: 1}\ndevice_defaults: {name: x}\n')
    assert guard.run(["render", str(path), "--clock", "play"]) == EXIT_INPUT
    assert "names no instant" in capsys.readouterr().err


def test_a_missing_time_line_is_one_line_of_error(profile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.txt").unlink()
    for arguments in (["render", str(profile)], ["compile", str(profile), "-o", str(tmp_path / "x.nvpimg")]):
        assert guard.run(arguments) == EXIT_INPUT
        assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "x.nvpimg").exists()
