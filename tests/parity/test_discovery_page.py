"""docs/discovery.md shows what the commands print, and what each file of the public captures yields."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.discovery import doctor, gathering, texts
from harness.words.errors import InputError
from tests.parity import discovery_page
from tests.parity.mutations_board import ROOT

AGAIN = "write it again: python -m tests.parity.discovery_page"


def test_the_examples_are_what_the_commands_print(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    shown = discovery_page.examples(discovery_page.PAGE.read_text("utf-8"))
    assert len(shown) > 6
    assert {command: one for command, (one, made) in shown.items() if one != made} == {}, AGAIN


@pytest.mark.spec("DF1", "DF2", "DF4")
def test_the_table_has_what_each_file_yields(raw_captures: Path) -> None:
    """Every list and table of instances, and the report of a card in MIG mode, is read without an error of ours."""
    found = discovery_page.FILES.search(discovery_page.PAGE.read_text("utf-8"))
    assert found is not None
    assert found[0] == discovery_page.table(raw_captures), AGAIN
    lists = [path for path in discovery_page.files(raw_captures) if path.parent.name == "L"]
    assert len(lists) == 54
    assert all(texts.discover(gathering.of_files([path])).gpus for path in lists)


def test_every_report_of_the_captures_is_discovered_and_examined(raw_captures: Path) -> None:
    reports = sorted((raw_captures / "qx").iterdir())
    for path in reports:
        try:
            given = gathering.of_files([path])
        except InputError as error:
            assert "capture again" in str(error) or "none of" in str(error)  # noqa: PT017 - a file that is torn says so itself
            continue
        for compatible in (False, True):
            assert texts.discover(given, compatible=compatible).gpus, path.name
            doctor.examine(given, compatible=compatible)
    assert len(reports) == 42
