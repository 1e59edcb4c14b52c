"""What it costs the command to print its help, beside an interpreter that does nothing."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# pip compiles what it installs; the sessions' environment is not compiled, so its bytecode is kept here from the first start on.
BYTECODE = ROOT / "build" / "bench" / "bytecode"
# What the installed nvparity script does: import the entry point, call it, exit with its status.
COMMAND = [sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main())", "--help"]
NOTHING = [sys.executable, "-c", ""]


class StartupError(RuntimeError):
    """A program that is timed failed; the message names it and its exit status."""


@dataclass(frozen=True)
class Start:
    """One program started: ms on the clock, and ms of processor time (user and system), which other work on the machine does not add to."""

    wall_ms: float
    cpu_ms: float


@dataclass(frozen=True)
class Startup:
    """The command's starts and the interpreter's: least processor time of each, median time on the clock of each, ms."""

    command_cpu_ms: float
    python_cpu_ms: float
    command_ms: float
    python_ms: float

    @property
    def ratio(self) -> float:
        """The command's processor time as a multiple of the interpreter's."""
        return self.command_cpu_ms / self.python_cpu_ms


def start(command: Sequence[str]) -> Start:
    """Start ``command`` and wait for its end; StartupError where it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(BYTECODE)}
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise StartupError(f"{' '.join(command[1:])}: exit status {process.returncode}")
    return Start(wall * 1000, (usage.ru_utime + usage.ru_stime) * 1000)


def measure(times: int) -> Startup:
    """Both started in turn ``times`` times, after one start each that compiles and reads what a first start does."""
    start(COMMAND), start(NOTHING)
    pairs = [(start(COMMAND), start(NOTHING)) for _ in range(times)]
    command, nothing = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return Startup(
        min(found.cpu_ms for found in command),
        min(found.cpu_ms for found in nothing),
        statistics.median(found.wall_ms for found in command),
        statistics.median(found.wall_ms for found in nothing),
    )
