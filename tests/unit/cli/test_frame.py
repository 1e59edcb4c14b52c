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
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(commands.cli, "make_context", fail)
    assert guard.run([]) == status
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_bug_is_one_line_that_says_where_the_trace_is(monkeypatch, capsys, tmp_path):
    def fail(*_, **__):
        raise ZeroDivisionError("of all\nthings")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(commands.cli, "make_context", fail)
    assert guard.run([]) == 70
    (line,) = capsys.readouterr().err.splitlines()
    trace = Path(line.rsplit(" ", 1)[1])
    assert "ZeroDivisionError" in line
    assert "Traceback" in trace.read_text()


ROOT = Path(__file__).parents[3]


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """``line`` in bash, with ``$N`` for the command."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "N": f"{sys.executable} -m harness.cli"}
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True, env=environment, cwd=ROOT)


@pytest.mark.parametrize("command", ["--help", "list", "show t4"])
def test_a_reader_that_left_is_status_130_and_no_message(command):
    done = shell(f"(sleep 0.3; $N {command}) | true; echo ${{PIPESTATUS[0]}}")
    assert (done.stdout, done.stderr) == ("130\n", "")


@pytest.mark.parametrize(("command", "status"), [("list", 0), ("show t4", 0), ("--help", 0), ("chek", 2), ("show nope", 3)])
def test_streams_that_the_caller_closed_change_no_status(command, status):
    done = shell(f"exec 9>&1; $N {command} >&- 2>&- <&-; echo $? >&9")
    assert (done.stdout, done.stderr) == (f"{status}\n", "")


def test_output_without_room_is_status_4_and_one_line():
    done = shell("$N list >/dev/full; echo $?")
    assert (done.stdout, done.stderr) == ("4\n", "nvparity: output: No space left on device\n")


@pytest.mark.parametrize("option", [["list", "--json", ""], ["list", "--root", ""], ["compile", "t4", "-o", ""], ["render", "t4", "--trace", ""]])
def test_an_empty_name_is_a_usage_error(option, capsys):
    assert guard.run(option) == 2
    assert "an empty name" in capsys.readouterr().err


def test_json_into_a_folder_is_refused_and_into_no_plain_file_is_written_in_place(tmp_path, capsys):
    pipe = tmp_path / "link"
    pipe.symlink_to(os.devnull)
    assert guard.run(["list", "--root", str(ROOT), "--json", str(pipe)]) == 0
    assert pipe.is_symlink()
    assert Path(os.devnull).is_char_device()
    assert guard.run(["list", "--root", str(ROOT), "--json", str(tmp_path)]) == 3
    assert "is a folder" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [pipe]


def test_an_image_replaces_plain_files_alone(tmp_path, capsys):
    target = tmp_path / "link"
    target.symlink_to(os.devnull)
    assert guard.run(["compile", "t4", "--root", str(ROOT), "-o", str(target)]) == 3
    assert "is no plain file" in capsys.readouterr().err
    assert target.is_symlink()


def test_names_that_are_not_utf_8_are_said_byte_for_byte(tmp_path):
    name = os.fsencode(tmp_path / "list") + b"\xff.txt"
    Path(os.fsdecode(name)).write_text("GPU 0: Tesla T4 (UUID: GPU-00000001-0000-0000-0000-000000000001)\n")
    done = subprocess.run([sys.executable, "-m", "harness.cli", "roundtrip", name], capture_output=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"exact " + name + b": own, 0 of 1 lines kept verbatim\n", b"")
