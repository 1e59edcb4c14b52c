"""Many readers and writers of one state: nothing is torn, nothing is lost, nothing waits for ever and nothing grows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mocklib import build, state
from tests.contract.herd import ENDS, Herd, grown
from tests.contract.test_sweep import runtime


@pytest.fixture
def herd(tmp_path: Path, library_path: Path, clean_environment: dict[str, str]) -> Herd:
    """The program on the library under test."""
    return Herd(tmp_path, library_path, clean_environment)


@pytest.mark.hostile
@pytest.mark.spec("A22", "Y04")
def test_threads_of_several_processes_see_whole_records_and_grow_in_nothing(herd: Herd) -> None:
    seen = herd.storm(processes=3, threads=16, rounds=100)
    assert [(each["torn"], each["refused"], each["reads"]) for each in seen] == [(0, 0, 16 * 100 * 50)] * 3
    assert sum(map(len, map(grown, seen))) == 0
    assert state.read(herd.state).generations[1] == sum(each["writes"] for each in seen)


@pytest.mark.hostile
@pytest.mark.spec("Y08")
def test_every_value_read_while_another_process_writes_is_one_that_was_written_and_none_comes_back(herd: Herd) -> None:
    written, read = herd.pair(100_000)
    assert (read["torn"], read["backwards"], read["refused"], written["refused"]) == (0, 0, 0, 0)
    assert 1 < read["distinct"] <= written["writes"] + 1


@pytest.mark.hostile
def test_writers_killed_at_random_instants_leave_a_whole_record_and_a_free_lock(herd: Herd) -> None:
    seen = herd.kill(300)
    assert (seen["torn"], seen["strange"], seen["stuck"], seen["timeouts"], seen["refused"]) == (0, 0, 0, 0, 0)
    assert seen["moved"] > 30
    ends = [state.read(herd.state).devices[0].values[name] for name in ENDS]
    assert ends[0] == ends[1]


@pytest.mark.sanitize
def test_the_thread_sanitizer_reports_nothing_while_threads_init_read_set_and_shut_down(
    flavour_path: Callable[[str], Path], tmp_path: Path, clean_environment: dict[str, str]
) -> None:
    runtime("libtsan.so")
    herd = Herd(tmp_path, flavour_path("threads"), clean_environment | {"TSAN_OPTIONS": "halt_on_error=1"})
    source = str(Path(__file__).with_name("herd.c"))
    build.find_compiler().run("-std=c11", "-D_GNU_SOURCE", "-O1", "-w", "-pthread", "-fsanitize=thread", source, "-o", herd.command, "-ldl")
    seen = herd.storm(processes=2, threads=6, rounds=60)
    assert [(each["torn"], each["refused"]) for each in seen] == [(0, 0)] * 2
