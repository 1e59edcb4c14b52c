"""The account of the ledger: when a row is passed, what a mark may not name, and what is kept of a run."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mocklib import fields, packing
from tests.spec import account, blinding, ledger, recording, results

SMALL = ledger.parse({
    "sections": {"A": {"rows": 4, "title": "first"}, "P": {"rows": 2, "title": "second"}, "Y": {"rows": 1, "title": "third"}},
    "different": [{"rows": ["A03"], "reason": "at once"}],
    "waiting": [{"rows": ["P"], "reason": "waits"}],
    "outside": [{"rows": ["Y01"], "reason": "no NVML"}],
    "on_branch_libraries": [{"rows": ["A01"], "reason": "missing there"}],
    "waiting_parts": [],
    "evidence_parts": [],
})


def test_a_row_is_passed_when_each_of_its_tests_passed():
    found = account.account(SMALL, {"x": ["A01", "A02"], "y": ["A02"]}, {"x": "passed", "y": "passed"})
    assert (found.passed, found.different, found.uncovered) == (["A01", "A02"], ["A03"], ["A04", "P01", "P02", "Y01"])
    assert (found.waiting, found.outside, found.bare) == (["P01", "P02"], ["Y01"], ["A04"])
    given = {"A01": "missing there", "A03": "at once", "P01": "waits", "P02": "waits", "Y01": "no NVML"}
    assert found.reasons == {**given, "A04": "no test is marked with it"}


@pytest.mark.parametrize(("outcome", "why"), [("failed", "failed: y"), ("skipped: no binary", "skipped: no binary: y"), (None, "not run: y")])
def test_a_row_of_which_one_test_did_not_pass_is_uncovered(outcome: str | None, why: str):
    found = account.account(SMALL, {"x": ["A02"], "y": ["A02"]}, {"x": "passed"} | ({"y": outcome} if outcome else {}))
    assert "A02" in found.uncovered
    assert found.reasons["A02"] == why
    assert found.failed == (["y"] if outcome == "failed" else [])


def test_a_waiting_row_that_a_test_proves_is_passed():
    assert account.account(SMALL, {"x": ["P02"]}, {"x": "passed"}).passed == ["P02"]


@pytest.mark.parametrize(("row", "message"), [("A05", "no row A05; near it: A0"), ("A03", "declared different"), ("a01", "no row a01")])
def test_a_mark_of_an_unknown_or_a_different_row_is_refused(row: str, message: str):
    with pytest.raises(ledger.LedgerError, match=message):
        SMALL.check([row], "tests/x.py::test_y")


def test_the_ledger_has_every_row_of_its_first_two_parts_once():
    found = ledger.load()
    assert len(found.rows) == 610
    assert {"A08", "Y05", "Y06", "Y07", "Z23", "J11", "U05", "V07", "R21", "R22", "O13", "S14", "E08", "U18"} == set(found.different)
    assert found.different.keys() | found.waiting.keys() | found.outside.keys() | found.remarks.keys() <= found.rows.keys()


def test_a_row_in_two_lists_is_refused():
    twice: dict[str, Any] = {"sections": {"A": {"rows": 1, "title": ""}}, "on_branch_libraries": [], "waiting_parts": [], "evidence_parts": []}
    twice |= {"different": [{"rows": ["A01"], "reason": ""}], "waiting": [{"rows": ["A"], "reason": ""}], "outside": []}
    with pytest.raises(ledger.LedgerError, match="A01 is no row of the ledger, or stands in two lists"):
        ledger.parse(twice)


def test_the_account_is_written_as_three_lists_of_ids_and_nothing_else(tmp_path: Path):
    account.account(SMALL, {"x": ["A02"]}, {"x": "passed"}).write(tmp_path / "build" / "spec.json")
    written = json.loads((tmp_path / "build" / "spec.json").read_text(encoding="utf-8"))
    assert written == {"passed": ["A02"], "different": ["A03"], "uncovered": ["A01", "A04", "P01", "P02", "Y01"]}


def test_the_account_is_printed_by_reason_with_the_failed_tests_and_a_total():
    found = account.account(SMALL, {"x": ["A01"], "y": ["A02"]}, {"x": "passed", "y": "failed"})
    assert found.lines() == [
        "passed        1  A01",
        "different     1  A03: at once",
        "waiting       2  P01-P02: waits",
        "outside       1  Y01: no NVML",
        "uncovered     1  A02: failed: y",
        "uncovered     1  A04: no test is marked with it",
        "of passed     1  A01: missing there",
        "failed: y",
        "1 passed, 1 different, 5 uncovered (2 waiting, 1 outside, 2 of no list) of 7 rows",
    ]


def test_rows_that_follow_each_other_are_printed_as_first_and_last():
    assert account.spans(["A01", "A02", "A03", "A05", "B06", "DM09", "DM10"]) == "A01-A03 A05 B06 DM09-DM10"
    assert account.spans(["DM99", "DF1", "DF2", "DF4", "DF9", "DF10"]) == "DM99 DF1-DF2 DF4 DF9-DF10"


def test_every_row_of_the_ledger_is_printed():
    found = account.account(ledger.load(), {}, {})
    assert f"of {len(ledger.load().rows)} rows" in found.lines()[-1]


def test_outcomes_of_several_runs_on_one_tree_are_kept_and_those_of_another_dropped(tmp_path: Path):
    file = tmp_path / "results.json"
    results.merge("one", {"x": "failed", "y": "passed"}, file)
    results.merge("one", {"x": "passed"}, file)
    assert results.read("one", file) == {"x": "passed", "y": "passed"}
    assert results.read("two", file) == {}
    results.merge("two", {"z": "passed"}, file)
    assert results.read("two", file) == {"z": "passed"}


def test_a_changed_file_is_another_tree_and_what_python_leaves_is_not(tmp_path: Path):
    (tmp_path / "tests" / "__pycache__").mkdir(parents=True)
    (tmp_path / "tests" / "a.py").write_text("1")
    for name in results.INPUTS:
        if "." in name:
            (tmp_path / name).touch()
    before = results.fingerprint(tmp_path)
    (tmp_path / "tests" / "__pycache__" / "a.pyc").write_text("2")
    assert results.fingerprint(tmp_path) == before
    (tmp_path / "tests" / "a.py").write_text("2")
    assert results.fingerprint(tmp_path) != before


def report(when: str, outcome: str, *, marked: bool = True, why: Any = None) -> Any:
    return SimpleNamespace(nodeid="x", when=when, outcome=outcome, longrepr=why, user_properties=[("spec", ["A01"])] if marked else [])


@pytest.mark.parametrize(("phases", "outcome"), [
    ([report("setup", "passed"), report("call", "passed"), report("teardown", "passed")], {"x": "passed"}),
    ([report("setup", "passed"), report("call", "passed"), report("teardown", "failed")], {"x": "failed"}),
    ([report("setup", "failed"), report("teardown", "passed")], {"x": "failed"}),
    ([report("setup", "skipped", why=("f", 1, "Skipped: no binary")), report("teardown", "passed")], {"x": "skipped: no binary"}),
    ([report("call", "passed", marked=False)], {}),
])  # fmt: skip
def test_the_worst_phase_of_a_marked_test_is_its_outcome(phases: list[Any], outcome: dict[str, str]):
    recorder = recording.Recorder()
    for phase in phases:
        recorder.pytest_runtest_logreport(phase)
    assert recorder.outcomes == outcome


def test_a_run_with_a_wrong_mark_ends_before_its_first_test():
    item: Any = SimpleNamespace(nodeid="tests/x.py::y", iter_markers=lambda name: [pytest.mark.spec("Q99").mark], user_properties=[])
    with pytest.raises(pytest.UsageError, match="the ledger has no row Q99"):
        recording.Recorder().pytest_collection_modifyitems([item])


def test_a_function_of_the_table_is_one_of_nvml_and_is_silent_while_it_is_blinded():
    assert set(blinding.functions()) <= set(fields.since())
    before = packing.gates({})
    with blinding.silent("nvmlDeviceGetName"):
        assert packing.gates({}) == packing.gates({"nvmlDeviceGetName": 3}) != before
    assert packing.gates({}) == before
