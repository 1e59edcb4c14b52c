"""Sampling in a child: a library that is not ours, one that dies, and Ctrl-C."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.stages.answers import replaying
from harness.stages.recording import following
from harness.stages.recording.sampling import Plan
from harness.text.timeline_model import answer_at
from harness.words.errors import MissingError
from mocklib.answers import Asked

PLAN = Plan(1_000_000, 4)


def test_what_moves_in_a_library_that_is_not_ours_is_followed_and_what_stays_is_not_in_the_time_line(nvml_stub: Callable[..., Path]) -> None:
    moving = frozenset(("nvmlDeviceGetPowerUsage", "nvmlDeviceGetFanSpeed"))
    library = nvml_stub(seed=5, gpus=2, moving=moving)
    first = replaying.record_library(library)
    followed = following.follow(library, first, PLAN)
    assert followed.line is not None
    calls = dict(followed.line.calls())
    assert {(asked.function, asked.gpu) for asked in calls} >= {(name, gpu) for name in moving for gpu in (0, 1)}
    assert Asked("nvmlDeviceGetUUID", 0) not in calls
    assert all(answer_at(readings, 0) == first[asked] for asked, readings in calls.items())
    assert all(len({str(answer_at(readings, number)) for number in range(4)}) > 1 for readings in calls.values())
    assert f"4 of 4 samples, one every 0.001 s; {len(calls)} of " in followed.said


def test_a_library_that_dies_while_it_is_sampled_costs_the_time_line_alone(nvml_stub: Callable[..., Path]) -> None:
    first = replaying.record_library(nvml_stub(seed=5))
    followed = following.follow(nvml_stub(seed=5, crashes="nvmlDeviceGetPowerUsage"), first, PLAN)
    assert followed.line is None
    assert "time line: none: " in followed.said
    assert "sampling was ended by SIGSEGV, in nvmlDeviceGetPowerUsage of GPU 0" in followed.said


def test_a_library_that_is_gone_is_an_environment_that_lacks_one(nvml_stub: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"gone\.so"):
        following.follow(tmp_path / "gone.so", replaying.record_library(nvml_stub(seed=5)), PLAN)


def interrupted(repository: Path, name: str, folder: Path) -> None:
    """Run ``name`` of interrupts.py in a process of one thread: an interrupt reaches any thread, and a test worker has several."""
    script = Path(__file__).with_name("interrupts.py")
    variables = {**os.environ, "PYTHONPATH": f"{repository}:{folder}:{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, str(script), name, str(folder)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupt_that_came_is_found_where_a_sample_is_waited_for(repository: Path, tmp_path: Path) -> None:
    interrupted(repository, "waiting", tmp_path)


def test_a_child_that_can_be_stopped_answers_after_an_interrupt(repository: Path, tmp_path: Path) -> None:
    interrupted(repository, "answering", tmp_path)


def test_a_second_interrupt_ends_a_child_that_does_not_answer(repository: Path, tmp_path: Path) -> None:
    interrupted(repository, "ending", tmp_path)
