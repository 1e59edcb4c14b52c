"""A whole sanitized run: every process has the runtime, and what any of them reports fails it, whether a test looks or not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mocklib import build
from tests.sanitized import chunks, figures, found
from tests.sanitized.runtime import SANITIZERS, World

CHILD = "int main(int count, char **words) { (void)words; int four[4] = {0}; volatile int at = count + 3; return four[at]; }\n"
"""A program that reads one past its four numbers; started without arguments."""
TESTS = """
import subprocess, sys

def test_one_that_looks_at_nothing():
    subprocess.run([{child!r}], env={{}}, stderr=subprocess.DEVNULL)

def test_a_child_with_an_empty_environment_opens_the_library():
    program = "import ctypes; assert ctypes.CDLL({library!r}).nvmlInit_v2() == 0"
    assert subprocess.run(["/bin/sh", "-c", '"$0" -c "$1"', sys.executable, program], env={{}}).returncode == 0
"""
Plain = Callable[[str], tuple[World, Path]]


@pytest.fixture
def world(flavour_path: Callable[[str], Path], tmp_path: Path) -> Plain:
    """``world(flavour)``: where a run of this flavour keeps its findings, and the library."""

    def made(flavour: str) -> tuple[World, Path]:
        return World(SANITIZERS[flavour], tmp_path), flavour_path(flavour)

    return made


@pytest.mark.sanitize
@pytest.mark.parametrize(
    ("flavour", "file", "words"),
    [
        ("sanitize", "tests/contract/test_set_clocks.py", "test_the_boards_performance_state_is_the_one_there_is"),
        ("threads", "tests/contract/test_lifecycle.py", "threads_that_init"),
    ],
    ids=["sanitize", "threads"],
)
def test_tests_of_the_suite_are_clean_on_the_library_with_a_sanitizer(world: Plain, flavour: str, file: str, words: str) -> None:
    chunk = chunks.run(*world(flavour), [file], ["-k", words])
    assert chunk.clean, chunk
    assert chunk.outcomes["passed"] >= 1
    assert chunk.processes >= 1


@pytest.mark.sanitize
def test_a_report_of_a_child_that_no_test_looks_at_fails_the_run_of_its_file(world: Plain, tmp_path: Path) -> None:
    home, library = world("sanitize")
    child, source, tests = tmp_path / "child", tmp_path / "child.c", tmp_path / "test_child.py"
    source.write_text(CHILD, "ascii")
    build.find_compiler().run("-fsanitize=address", "-g", "-w", str(source), "-o", str(child))
    tests.write_text(TESTS.format(child=str(child), library=str(library)), "ascii")
    chunk = chunks.run(home, library, [str(tests)])
    assert (chunk.status, chunk.outcomes, chunk.processes, chunk.plain) == (0, {"passed": 2}, 1, {})
    (said,) = chunk.reports.values()
    assert "stack-buffer-overflow" in said
    assert "child.c:1" in next(tmp_path.glob("out/*.reports/*")).read_text("utf-8")
    assert not chunk.clean


@pytest.mark.sanitize
def test_a_library_without_the_runtime_fails_the_run_of_its_file(world: Plain, flavour_path: Callable[[str], Path], tmp_path: Path) -> None:
    home, library = world("threads")
    plain, tests = flavour_path("release"), tmp_path / "test_plain.py"
    tests.write_text(TESTS.format(child="/bin/true", library=str(plain)), "ascii")
    chunk = chunks.run(home, library, [str(tests)])
    assert (chunk.status, chunk.processes, chunk.reports, chunk.plain) == (0, 0, {}, {str(plain): 1})
    assert not chunk.clean


def test_who_opened_the_library_is_told_by_what_it_asks_for(tmp_path: Path) -> None:
    ours, other = tmp_path / "ours", tmp_path / "other one"
    ours.write_bytes(b"x MOCK_NVML_EPOCH\0")
    other.write_bytes(b"x NVPARITY_IMAGE\0")
    told = [("1", "asan", ours), ("1", "asan", ours), ("2", "asan", ours), ("3", "none", ours), ("4", "none", other), ("5", "none", "/gone")]
    lines = [f"{pid} {runtime} python {path}\n" for pid, runtime, path in told]
    assert found.loads(lines, "asan") == found.Loads(2, {str(ours): 1, "/gone": 1}, 1)
    assert found.loads(lines, "tsan").sanitized == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a.c:3:5: runtime error: shift exponent 99\n    #0 f a.c:3 (libnvidia-ml.so.1+0x1)\n", "a.c:3:5: runtime error: shift exponent 99 #0 f"),
        ("=====\nWARNING: ThreadSanitizer: data race (pid=1)\n  Write of size 4\n", "WARNING: ThreadSanitizer: data race (pid=1)"),
        ("the runtime had no room\n", "the runtime had no room"),
    ],
)
def test_a_report_is_told_by_its_kind_and_its_first_place_in_the_library(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "asan.host.12").write_text(text, "utf-8")
    (said,) = found.reports(tmp_path).items()
    assert said[0] == "asan.host.12"
    assert said[1].startswith(told)


def test_files_of_a_folder_run_a_few_at_a_time_and_those_done_not_again() -> None:
    every = chunks.divided(["tests/contract"])
    assert {len(files) for files in every[:-1]} == {chunks.FILES}
    assert {Path(file).parent for files in every for file in files} == {Path("tests/contract")}
    assert chunks.divided(["tests/contract"], [file for files in every[1:] for file in files]) == every[:1]


def test_an_account_keeps_the_last_run_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "account.json"
    chunks.keep(path, chunks.Chunk(["a", "b"], "x", {"failed": 1}, status=1))
    chunks.keep(path, chunks.Chunk(["c"], "x", {"passed": 2}))
    chunks.keep(path, chunks.Chunk(["b"], "x", {"passed": 1}))
    assert [(chunk.files, chunk.clean) for chunk in chunks.kept(path)] == [(["c"], True), (["b"], True)]


def test_a_path_without_tests_is_a_usage_error() -> None:
    command = [sys.executable, "-m", "tests.sanitized", "threads", "tests/none"]
    done = subprocess.run(command, cwd=chunks.ROOT, env={**os.environ, "PYTHONPATH": str(chunks.ROOT)}, capture_output=True, text=True, check=False)
    assert (done.returncode, "no tests at tests/none" in done.stderr) == (2, True)


def test_the_pages_figures_are_those_of_both_accounts(tmp_path: Path) -> None:
    (file, *_), *_ = chunks.divided(["tests/contract"])
    chunks.keep(tmp_path / "sanitize.json", chunks.Chunk([file], "x", {"passed": 1200, "skipped": 2}, {}, 7, seconds=150.0))
    assert figures.rows(tmp_path) == []
    chunks.keep(tmp_path / "threads.json", chunks.Chunk(["tests/gone.py"], "x", {"passed": 3}))
    chunks.keep(tmp_path / "threads.json", chunks.Chunk([file], "x", {"passed": 5}, {}, 4, reports={"tsan.x.1": "data race"}))
    *_, addresses, threads = figures.rows(tmp_path)
    assert addresses.startswith("| addresses and undefined behaviour | 1 of ")
    assert addresses.endswith("| 1,200 passed, 2 skipped | 7 | 0 | 2 min |")
    assert threads.endswith("| 5 passed | 4 | 1 | 0 min |")
