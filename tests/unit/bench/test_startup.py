"""Starts of programs: their processor time is theirs alone, failures are named."""

from __future__ import annotations

import sys

import pytest

from tests.bench import startup
from tests.bench.startup import Startup, StartupError


def test_the_ratio_is_that_of_processor_time() -> None:
    assert Startup(command_cpu_ms=40.0, python_cpu_ms=10.0, command_ms=900.0, python_ms=10.0).ratio == 4.0


def test_time_asleep_is_on_the_clock_but_no_processor_time() -> None:
    found = startup.start([sys.executable, "-S", "-c", "import time; time.sleep(0.3)"])
    assert found.wall_ms >= 300
    assert 0 < found.cpu_ms < found.wall_ms


def test_a_program_that_fails_is_named_with_its_status() -> None:
    with pytest.raises(StartupError, match=r"import sys; sys\.exit\(3\): exit status 3"):
        startup.start([sys.executable, "-S", "-c", "import sys; sys.exit(3)"])


def test_what_is_started_is_the_commands_help() -> None:
    assert startup.start(startup.COMMAND).cpu_ms > 0
