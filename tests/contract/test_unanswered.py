"""Calls without data: counted by function where NVPARITY_UNANSWERED names a file, told apart from what is known to be unsupported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mocklib import image
from mocklib.answers import Asked
from mocklib.binding import Answer
from mocklib.image import FieldValue, Recorded
from tests.contract import boards

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., tuple[list[str], str]]
HEAD = """
import os, sys
from mocklib import binding
nvml = binding.open_library(sys.argv[1])
nvml.init()
device = nvml.device(0)
def ask(name, **arguments):
    assert nvml.call(name, device, arguments).code == 3, name
"""
NO_HANDLER = "nvmlDeviceGetVgpuMetadata"
ANSWERS = (
    Recorded(Asked("nvmlDeviceGetNvLinkUtilizationControl", 0, (("counter", 0), ("link", 0))), Answer(3)),
    Recorded(Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", 9), ("scopeId", 0))), Answer(3)),
)


@pytest.fixture
def run(library_path: Path, tmp_path: Path, clean_environment: dict[str, str]) -> Run:
    """``run(program, NAME=value)``: the lines counted by a fresh process, and what it wrote on stderr."""
    served = tmp_path / "served.nvpimg"
    image.write(served, image.pack(boards.spec(devices=[boards.device(serial=FieldValue(status=3))], answers=ANSWERS)))
    counted = tmp_path / "counted"

    def start(program: str, **variables: str) -> tuple[list[str], str]:
        given = {**clean_environment, "PYTHONPATH": str(ROOT), "NVPARITY_IMAGE": str(served), "NVPARITY_UNANSWERED": str(counted), **variables}
        command = [sys.executable, "-c", HEAD + program, str(library_path)]
        done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return counted.read_text(encoding="ascii").splitlines() if counted.is_file() else [], done.stderr

    return start


def test_a_call_that_no_handler_or_field_stands_behind_is_counted(run: Run) -> None:
    program = f"ask('{NO_HANDLER}'); ask('{NO_HANDLER}'); ask('nvmlDeviceGetNvLinkUtilizationControl', link=1, counter=0); nvml.shutdown()"
    assert run(program) == (["1 nvmlDeviceGetNvLinkUtilizationControl", f"2 {NO_HANDLER}"], "")


def test_what_is_known_to_be_unsupported_is_data(run: Run) -> None:
    asked = "ask('nvmlDeviceGetSerial'); ask('nvmlDeviceGetNvLinkUtilizationControl', link=0, counter=0)"
    program = f"{asked}; nvml.field_values(device, [(9, 0)]); nvml.shutdown()"
    assert run(program) == ([], "")


def test_a_field_id_that_nothing_answers_is_a_call_without_data_and_one_that_does_not_exist_is_none(run: Run) -> None:
    assert run("nvml.field_values(device, [(9, 0), (9, 1), (10, 0), (5000, 0), (82, 0)])")[0] == ["2 nvmlDeviceGetFieldValues"]


def test_another_answer_than_not_supported_is_not_counted(run: Run) -> None:
    assert run(f"assert nvml.call('{NO_HANDLER}', 5).code == 2; nvml.shutdown(); assert nvml.call('{NO_HANDLER}', device).code == 1") == ([], "")


def test_the_process_end_counts_where_nobody_shut_down(run: Run) -> None:
    assert run(f"ask('{NO_HANDLER}')")[0] == [f"1 {NO_HANDLER}"]


def test_an_inner_shutdown_writes_nothing_and_each_last_one_what_came_since(run: Run) -> None:
    program = f"ask('{NO_HANDLER}'); nvml.init(); nvml.shutdown(); assert not os.path.exists(os.environ['NVPARITY_UNANSWERED'])\n"
    again = f"nvml.shutdown(); nvml.init(); device = nvml.device(0); ask('{NO_HANDLER}'); ask('{NO_HANDLER}'); nvml.shutdown()"
    assert run(program + again)[0] == [f"1 {NO_HANDLER}", f"2 {NO_HANDLER}"]


def test_a_child_of_fork_counts_its_own_calls_alone(run: Run) -> None:
    program = f"ask('{NO_HANDLER}')\nif os.fork() == 0:\n    ask('{NO_HANDLER}'); nvml.shutdown(); os._exit(0)\nos.wait(); nvml.shutdown()"
    assert run(program)[0] == [f"1 {NO_HANDLER}"] * 2


def test_a_relative_name_is_one_of_the_folder_at_init(run: Run, tmp_path: Path) -> None:
    run(f"os.mkdir('inner'); os.chdir('inner'); ask('{NO_HANDLER}')", NVPARITY_UNANSWERED="relative")
    assert (tmp_path / "relative").read_text(encoding="ascii") == f"1 {NO_HANDLER}\n"


def test_a_file_that_cannot_be_written_costs_one_line(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "no such folder/file", "."):
        counted, said = run(f"ask('{NO_HANDLER}'); nvml.shutdown()", NVPARITY_UNANSWERED=str(tmp_path / name))
        assert (counted, said.count("\n")) == ([], 1)
        assert "cannot be written" in said


def test_without_the_variable_nothing_is_counted(run: Run) -> None:
    assert run(f"ask('{NO_HANDLER}'); nvml.shutdown()", NVPARITY_UNANSWERED="") == ([], "")


@pytest.mark.spec("A12")
@pytest.mark.parametrize(("strict", "status"), [("1", -6), ("", 0)])
def test_a_strict_process_ends_at_the_first_call_that_nothing_known_answers(
    library_path: Path, tmp_path: Path, clean_environment: dict[str, str], strict: str, status: int
) -> None:
    served = tmp_path / "served.nvpimg"
    image.write(served, image.pack(boards.spec(devices=[boards.device(serial=FieldValue(status=3))], answers=ANSWERS)))
    program = f"ask('nvmlDeviceGetSerial'); nvml.field_values(device, [(10, 0)]); print('so far', flush=True); ask('{NO_HANDLER}')"
    given = clean_environment | {"PYTHONPATH": str(ROOT), "NVPARITY_IMAGE": str(served), "MOCK_NVML_STRICT": strict}
    done = subprocess.run([sys.executable, "-c", HEAD + program, str(library_path)], env=given, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (status, "so far\n")
    assert (f"nvparity: {NO_HANDLER}: nothing of this image or library answers it" in done.stderr) == bool(strict)
