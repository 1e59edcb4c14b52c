"""``nvparity export``: where the document goes, what is told, what is refused; and that docs/interchange.md shows what it prints."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from harness.cli import guard
from harness.stores.workspace import Workspace
from harness.text import dcgm_keys
from mocklib import getters

pytestmark = pytest.mark.usefixtures("served_library")
ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "interchange.md").read_text("utf-8")
FORMAT = ("--format", "dcgm-injection")


def export(*arguments: str) -> int:
    return guard.run(["export", *arguments, "--root", str(ROOT)])


def test_the_document_goes_to_standard_output_and_what_it_lacks_to_standard_error(capsys: pytest.CaptureFixture[str]):
    assert export("t4", *FORMAT) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Global:\n  DeviceOrder: [")
    for shown in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL):
        assert shown in out
    (shown,) = re.findall(r"```text\n(nvparity: [0-9]+ answers written.*)\n", PAGE)
    assert err.splitlines()[0] == shown


def test_the_page_shows_what_an_import_of_an_export_prints(space: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    target = tmp_path / "answers.yaml"
    assert export("t4", *FORMAT, "-o", str(target)) == 0
    capsys.readouterr()
    assert guard.run(["import", str(target), "--no-ci", "--root", str(space.root)]) == 0  # nvparity import answers.yaml
    (shown,) = re.findall(r"```text\n(t4-x1.*?)```", PAGE, re.DOTALL)
    assert capsys.readouterr().out == shown


def test_the_file_is_the_same_twice_and_has_what_standard_output_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    target = tmp_path / "folder" / "t4.yaml"
    assert export("t4", *FORMAT, "-o", str(target)) == 0  # nvparity export t4 --format dcgm-injection -o t4.yaml
    assert capsys.readouterr().out == ""
    first = target.read_text("utf-8")
    assert export("t4", *FORMAT, "-o", str(target)) == 0
    capsys.readouterr()
    assert export("t4", *FORMAT) == 0
    assert capsys.readouterr().out == first == target.read_text("utf-8")


def test_a_format_that_is_not_known_is_refused_with_the_nearest(capsys: pytest.CaptureFixture[str]):
    assert export("t4", "--format", "dcgm-injektion") == 2
    assert "no format 'dcgm-injektion' (did you mean 'dcgm-injection'?)" in capsys.readouterr().err


def test_a_board_whose_gpus_have_no_name_in_the_format_is_refused_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert export("geforce-gtx-1070-x2_384.66", *FORMAT, "-o", str(tmp_path / "out.yaml")) == 3
    assert "geforce-gtx-1070-x2_384.66: GPU 2 has no UUID" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_page_counts_the_functions_as_they_are():
    out = dcgm_keys.left_out()
    asked = getters.asked_functions()
    dropping = [name for name in asked if name not in out and dcgm_keys.dropped(name)]
    said = f"Of the {len(asked)} functions that nvparity asks, the document can say {len(asked) - len(out)}"
    assert said in PAGE
    assert f"The other {len(out)}, each with its reason" in " ".join(PAGE.split())
    assert len(dropping) == 3
    rows = re.findall(r"^\| ([0-9]+) \| (.*) \|$", PAGE, re.MULTILINE)
    assert {why: int(count) for count, why in rows} == Counter(out.values())
