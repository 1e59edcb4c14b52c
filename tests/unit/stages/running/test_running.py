"""``run`` is transparent: environment in, exit status and signals through."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from harness.stages.running import Ending, end_as, environment_for, run_command
from harness.words.errors import MissingError, UsageError

HERE = {"PATH": os.environ["PATH"]}

OUTER = textwrap.dedent(
    """
    import os, sys
    from harness.stages.running import end_as, run_command
    print("ready", flush=True)
    sys.exit(end_as(run_command(sys.argv[1:], dict(os.environ))))
    """
)


def outer(repository: Path, *command: str) -> subprocess.Popen[str]:
    """A process that runs ``command`` through run_command and ends as it did."""
    environment = {**os.environ, "PYTHONPATH": str(repository)}
    return subprocess.Popen([sys.executable, "-c", OUTER, *command], stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def library(folder: Path) -> Path:
    """A file called as programs load it."""
    folder.mkdir(exist_ok=True)
    (folder / "libnvidia-ml.so.1").touch()
    return folder / "libnvidia-ml.so.1"


@pytest.mark.parametrize("status", [0, 1, 4, 42, 255])
def test_exit_status_passes_through(status: int) -> None:
    assert run_command(["sh", "-c", f"exit {status}"], HERE) == Ending(status)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGINT])
def test_death_by_signal_is_told_apart_from_an_exit_status(number: signal.Signals) -> None:
    assert run_command(["sh", "-c", f"kill -{int(number)} $$"], HERE) == Ending(0, number)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT, signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_ends_the_command_ends_the_caller(repository: Path, number: signal.Signals) -> None:
    with outer(repository, "sh", "-c", f"kill -{int(number)} $$") as process:
        assert process.wait(timeout=30) == -number


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGINT])
def test_a_signal_sent_by_a_process_reaches_the_command_once(repository: Path, number: signal.Signals) -> None:
    count = f"n=0; trap 'n=$((n+1))' {number.name[3:]}; echo armed; for i in 1 2 3 4 5 6 7 8; do sleep 0.05; done; echo $n; exit 7"
    with outer(repository, "sh", "-c", count) as process:
        assert [line(process), line(process)] == ["ready", "armed"]
        time.sleep(0.05)
        process.send_signal(number)
        assert line(process) == "1"
        assert process.wait(timeout=30) == 7


def test_a_command_that_is_not_there_is_named() -> None:
    with pytest.raises(MissingError, match="no-such-command-here: no such command"):
        run_command(["no-such-command-here"], HERE)


def test_a_command_that_may_not_run_is_named(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("not a program")
    plain.chmod(0o644)
    with pytest.raises(MissingError, match="plain: Permission denied"):
        run_command([str(plain)], HERE)


def test_the_signal_mask_of_the_command_is_the_callers() -> None:
    script = "import signal, sys; sys.exit(len(signal.pthread_sigmask(signal.SIG_BLOCK, ())))"
    assert run_command([sys.executable, "-c", script], HERE) == Ending(0)


def test_the_callers_signals_are_as_before() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ()), signal.getsignal(signal.SIGCHLD)
    run_command(["true"], HERE)
    assert (signal.pthread_sigmask(signal.SIG_BLOCK, ()), signal.getsignal(signal.SIGCHLD)) == before


def test_a_status_below_signals_is_returned_as_it_is() -> None:
    assert end_as(Ending(137)) == 137


def test_the_library_comes_first_and_the_callers_own_folders_stay(tmp_path: Path) -> None:
    made = environment_for(library(tmp_path / "lib"), tmp_path / "i", tmp_path / "s", {"LD_LIBRARY_PATH": "/a::/b:", "HOME": "/h"})
    assert made == {
        "LD_LIBRARY_PATH": f"{tmp_path}/lib:/a:/b",
        "HOME": "/h",
        "NVPARITY_IMAGE": f"{tmp_path}/i",
        "MOCK_NVML_STATE": f"{tmp_path}/s",
    }


def test_no_empty_folder_is_put_on_the_library_path(tmp_path: Path) -> None:
    made = environment_for(library(tmp_path), tmp_path / "i", tmp_path / "s", {})
    assert made["LD_LIBRARY_PATH"] == str(tmp_path)


def test_a_library_that_no_program_would_find_is_refused(tmp_path: Path) -> None:
    """BL-063: with the name missing from the folder, a client loads the real library of the machine, or none."""
    with pytest.raises(MissingError, match=r"no libnvidia-ml\.so\.1 in it"):
        environment_for(tmp_path / "mine.so", tmp_path / "i", tmp_path / "s", {})


def test_a_command_without_a_name_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="empty"):
        run_command([""], HERE)
