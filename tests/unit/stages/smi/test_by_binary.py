"""``check --renderer smi`` by a stand-in that prints what it is told: what is set aside, what is a finding, and what is not compared."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli import guard
from harness.stages.compare import drift
from harness.stores import captures

ROOT = Path(__file__).resolve().parents[4]
T4, LIST = "t4-x1_595.91.07", "t4-x1_nodrv"
NOW = "Mon Nov 30 20:05:17 2026"
CAPTURED = "Fri Aug 21 09:23:10 2026"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of a query and a list, without rules."""
    made = tmp_path_factory.mktemp("workspace")
    for name in (T4, LIST):
        shutil.copytree(ROOT / "captures" / name, made / "captures" / name)
        for folder in ("profiles", "golden", "golden/baselines"):
            (made / folder).mkdir(exist_ok=True)
            if (ROOT / folder / f"{name}.yaml").is_file():
                shutil.copy2(ROOT / folder / f"{name}.yaml", made / folder)
    return made


@pytest.fixture
def check(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, dict[str, Any], str]]:
    """Status, JSON and text of a check by a stand-in of ``version`` that prints ``edit(the T4's query)`` and ends as ``ending`` says.

    That the files follow each other is another check's matter.
    """
    monkeypatch.setattr(drift, "of_capture", lambda *_: [])

    def run(version: str, edit: Callable[[str], str], ending: str = "exit 0", *names: str) -> tuple[int, dict[str, Any], str]:
        text = captures.load(root / "captures", T4).texts["q-x"].to_bytes().decode()
        (tmp_path / "out.xml").write_text(edit(text))
        program = tmp_path / "nvidia-smi"
        help_of = f"NVIDIA System Management Interface -- v{version}"
        program.write_text(f'#!/bin/sh\nif [ "$1" = -h ]; then echo "{help_of}"; exit 0; fi\ncat {tmp_path / "out.xml"}\n{ending}\n')
        program.chmod(0o755)
        status = guard.run(["check", *names, "--root", str(root), "--renderer", "smi", "--smi", str(program), "--json", "-"])
        said = capsys.readouterr()
        return status, json.loads(said.out) if said.out else {}, said.err

    return run


def clock(text: str) -> str:
    return text.replace(CAPTURED, NOW)


def test_the_hosts_clock_is_set_aside_and_all_else_is_the_capture_by_hash(check):
    status, document, said = check("595.91.07", clock)
    case, other = document["cases"]
    assert (status, case["findings"], case["bytes"], case["aside"], case["exact"]) == (0, [], "equal", 1, 308)
    assert case["printed"] == {"nvidia_smi": "595.91.07", "retargeted_from": "595.91.07", "lacking": [], "status": 0, "stderr": ""}
    assert other["skipped"] == "its driver is not told"
    assert (document["totals"]["captures"], document["totals"]["parity"], document["totals"]["skipped"]) == (1, 1, 1)
    assert "not compared: 1 captures, its driver is not told" in said
    assert said.endswith("binary rules used: 0\nparity: 1 of 1 captures, 309 elements, 0 findings, 1 without a binary: not compared\n")


@pytest.mark.parametrize("time", ["never", "Mon Nov 31 20:05:17 2026", ""])
def test_a_time_that_is_none_is_a_finding(check, time: str):
    status, document, _ = check("595.91.07", lambda text: text.replace(CAPTURED, time))
    assert (status, [finding["path"] for finding in document["cases"][0]["findings"]]) == (1, ["timestamp"])


def test_a_value_that_differs_is_a_finding(check):
    status, document, _ = check("595.91.07", lambda text: clock(text).replace("<gpu_temp>33 C", "<gpu_temp>34 C"))
    (found,) = document["cases"][0]["findings"]
    assert (status, found["path"], found["expected"], found["actual"]) == (1, "gpu[0]/temperature/gpu_temp", "33 C", "34 C")


def test_another_release_of_the_branch_names_itself_and_the_report_says_so(check):
    status, document, said = check("595.58.03", lambda text: clock(text).replace("595.91.07</driver", "595.58.03</driver"))
    case = document["cases"][0]
    assert (status, case["findings"], case["bytes"], case["aside"]) == (0, [], "equal", 2)
    assert (case["printed"]["nvidia_smi"], case["printed"]["retargeted_from"]) == ("595.58.03", "595.91.07")
    assert "595.91.07 as 595.58.03" in said


def test_a_release_that_names_another_one_is_a_finding(check):
    status, document, _ = check("595.58.03", lambda text: clock(text).replace("595.91.07</driver", "595.58.04</driver"))
    assert (status, [finding["path"] for finding in document["cases"][0]["findings"]]) == (1, ["driver_version"])


@pytest.mark.parametrize(
    ("ending", "findings"),
    [
        ("exit 6", [("exit status", "6")]),
        ("kill -SEGV $$", [("exit status", "ended by SIGSEGV")]),
        ("echo odd >&2; exit 0", [("standard error", "odd")]),
    ],
)
def test_a_run_that_comes_to_no_good_is_a_finding_though_its_text_is_the_captures(check, ending: str, findings: list[tuple[str, str]]):
    status, document, _ = check("595.91.07", clock, ending)
    assert (status, [(found["path"], found["actual"]) for found in document["cases"][0]["findings"]]) == (1, findings)


def test_a_text_that_is_none_is_a_finding(check):
    status, document, _ = check("595.91.07", lambda text: text[:2000])
    assert (status, [found["path"] for found in document["cases"][0]["findings"]]) == (1, ["text"])


def test_without_a_binary_of_its_branch_nothing_is_compared_and_that_is_no_pass(check, capsys):
    status, document, said = check("470.82.01", clock)
    assert (status, document) == (5, {})
    assert "no binary of its branch (595.91.07: 1)" in said


RULE = """format: 1
rules:
  - {kind: binary, versions: ["595.91.07", "595.58.03"], path: gpu/temperature/gpu_temp, prints: %s, reason: so}
"""


@pytest.mark.parametrize(
    ("claim", "new", "status"),
    [("never", "", 0), ("never", "\t\t\t<gpu_temp>34 C</gpu_temp>\n", 1), ("always", "\t\t\t<gpu_temp>34 C</gpu_temp>\n", 1)],
)
def test_a_rule_of_a_pair_excuses_that_an_element_is_not_there_and_no_value(check, tmp_path: Path, claim: str, new: str, status: int):
    (tmp_path / "rules.yaml").write_text(RULE % claim)
    old = "\t\t\t<gpu_temp>33 C</gpu_temp>\n"
    got, document, said = check("595.58.03", lambda text: clock(text).replace("595.91.07</driver", "595.58.03</driver").replace(old, new),
                                "exit 0", "--rules", str(tmp_path / "rules.yaml"))  # fmt: skip
    assert got == status
    assert document["totals"]["binary_rules"] == (1 if status == 0 else 0)
    assert len(document["cases"][0]["findings"]) == status
    assert f"binary rules used: {1 - status}" in said
    assert bool(document["rules"][0]["problem"]) == bool(status)


def test_what_is_served_as_another_driver_is_never_in_the_gate(root: Path, capsys: pytest.CaptureFixture[str]):
    for renderer in ("builtin", "smi"):
        assert guard.run(["check", T4, "--root", str(root), "--driver", "550", "--renderer", renderer]) == 2
        assert "has no original" in capsys.readouterr().err
