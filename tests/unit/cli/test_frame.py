"""The frame of the command line: overview, exit statuses, one line for every failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from harness import __version__
from harness.cli import commands, guard
from harness.words.errors import EXIT_TABLE, GateError, InputError, MissingError, NothingError


def test_the_overview_shows_every_command_and_exit_status(capsys):
    assert guard.run(["--help"]) == 0
    shown = capsys.readouterr().out
    for name in commands.TABLE:
        assert f"  {name} " in shown
    for status, meaning in EXIT_TABLE:
        assert f"{status}  {meaning}" in shown


def test_the_version_is_that_of_the_package(capsys):
    assert guard.run(["--version"]) == 0
    assert capsys.readouterr().out == f"nvparity, version {__version__}\n"
    project = (Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8")
    assert f'\nversion = "{__version__}"\n' in project


@pytest.mark.parametrize("name", commands.TABLE)
def test_every_command_of_the_table_exists_and_explains_itself(name, capsys):
    assert guard.run([name, "--help"]) == 0
    assert f"Usage: nvparity {name}" in capsys.readouterr().out


def test_the_overview_imports_no_command():
    code = "import sys; from harness.cli.guard import run; run(['--help']); print([m for m in sys.modules if m.startswith('harness.cli.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])
    assert done.stdout.splitlines()[-1] == "['harness.cli.commands', 'harness.cli.guard']"


@pytest.mark.parametrize("arguments", [["chek"], ["check", "--rot", "x"], ["compile"], ["--bogus"], []])
def test_a_wrong_command_line_is_status_2(arguments, capsys):
    assert guard.run(arguments) == 2
    assert capsys.readouterr().err


def test_a_typo_names_the_nearest_command(capsys):
    guard.run(["chek"])
    assert "did you mean 'check'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (GateError("x"), 1),
        (InputError("x"), 3),
        (MissingError("x"), 4),
        (NothingError("x"), 5),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
        (PermissionError(13, "Permission denied", "file"), 4),
    ],
)
def test_each_error_has_its_status_and_one_line(error, status, monkeypatch, capsys):
    def fail(**_):
        raise error

    monkeypatch.setattr(commands.cli, "main", fail)
    assert guard.run([]) == status
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_bug_is_one_line_that_says_where_the_trace_is(monkeypatch, capsys, tmp_path):
    def fail(**_):
        raise ZeroDivisionError("of all\nthings")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(commands.cli, "main", fail)
    assert guard.run([]) == 70
    (line,) = capsys.readouterr().err.splitlines()
    trace = Path(line.rsplit(" ", 1)[1])
    assert "ZeroDivisionError" in line
    assert "Traceback" in trace.read_text()


def test_a_reader_that_leaves_early_is_no_bug():
    command = f"{sys.executable} -m harness.cli --help | true; echo ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, env=environment, cwd=Path(__file__).parents[3])
    assert "bug" not in done.stderr
    assert "Traceback" not in done.stderr
