"""How long the command takes to print its help, beside an interpreter that does nothing."""

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
# What the installed nvparity script does: import the entry point, call it, exit with its status.
COMMAND = [sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main())", "--help"]
NOTHING = [sys.executable, "-c", ""]


@dataclass(frozen=True)
class Startup:
    """Least and median times of both, in ms; ``ratio`` is that of the least ones, which other work on the machine disturbs least."""

    command_ms: float
    command_median_ms: float
    python_ms: float
    python_median_ms: float

    @property
    def ratio(self) -> float:
        return self.command_ms / self.python_ms


def _milliseconds(command: Sequence[str]) -> float:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment)
    return (time.perf_counter() - begin) * 1000


def measure(times: int) -> Startup:
    """Both started in turn ``times`` times, after one start each that compiles and reads what a first start does."""
    _milliseconds(COMMAND), _milliseconds(NOTHING)
    pairs = [(_milliseconds(COMMAND), _milliseconds(NOTHING)) for _ in range(times)]
    command, nothing = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return Startup(min(command), statistics.median(command), min(nothing), statistics.median(nothing))
