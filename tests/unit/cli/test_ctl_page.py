"""Every command of docs/ctl.md does what it says there, in its order; so do those of the README."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from harness.cli import guard
from harness.cli.ctl import TABLE

README = ("nvparity run --state node.state h100 -- python3 my_gpu_code.py", "nvparity ctl --state node.state temp 85 --gpu 0")
pytestmark = pytest.mark.usefixtures("served_library")


@pytest.fixture
def commands(repository: Path) -> list[str]:
    """Every line of every shell block of the page."""
    page = (repository / "docs" / "ctl.md").read_text("utf-8")
    return [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]


def run(line: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """One line as a shell would, but for programs that wait or are the reader's own."""
    words = shlex.split(line.replace("sleep 3600", "true").replace("python3 my_gpu_code.py", "true"))
    if words[0] == "export":
        name, _, value = words[1].partition("=")
        monkeypatch.setenv(name, value)
        return 0
    assert words[0] == "nvparity"
    return guard.run(words[1:])


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without anything, and an environment that names nothing."""
    monkeypatch.chdir(tmp_path)
    for name in ("MOCK_NVML_STATE", "MOCK_NVML_CONFIG", "MOCK_NVML_OVERRIDES", "NVPARITY_IMAGE"):
        monkeypatch.delenv(name, raising=False)


def test_the_pages_commands_do_what_it_says(commands: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert [(line, run(line, monkeypatch)) for line in commands] == [(line, 0) for line in commands]
    assert "bug" not in capfd.readouterr().err


def test_the_page_names_every_command(commands: list[str], repository: Path) -> None:
    named = {words[2] for words in map(shlex.split, commands) if words[:2] == ["nvparity", "ctl"]}
    page = (repository / "docs" / "ctl.md").read_text("utf-8")
    assert [name for name in TABLE if name not in named and f"`{name}`" not in page] == []


def test_the_readmes_commands_do(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert [run(line, monkeypatch) for line in README] == [0, 0]
    assert capfd.readouterr().out == "ok: temp applied to GPU 0\n"
