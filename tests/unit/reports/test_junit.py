"""The JUnit XML of a check, read back."""

from __future__ import annotations

import pytest
from junitparser import JUnitXml

from harness.reports import junit
from harness.stages.compare import Case, Counts, Finding
from harness.stages.compare.rules import Rule
from harness.stages.compare.ruling import Use

GONE = Finding("GPU-1", "gpu[0]/fan_speed", "missing", "3 %", None)


def case(name: str, view: str = "q-x", kind: str = "own", findings: tuple[Finding, ...] = (), drift: tuple[str, ...] = ()) -> Case:
    return Case(name, kind, "builtin", "470.74", "470.74", 1, Counts(), Counts(), "equal", list(findings), list(drift), view=view)


def read(*arguments) -> dict[str, dict[str, str]]:
    """Suite -> testcase -> passed, skipped, or the failure's text."""
    document = JUnitXml.fromstring(junit.check(*arguments))
    assert sum(suite.tests for suite in document) == document.tests
    return {suite.name: {test.name: "passed" if not test.result else test.result[0].text or "skipped" for test in suite} for suite in document}


def test_a_capture_of_both_views_is_one_suite_with_a_testcase_each():
    assert read([case("a"), case("a", "L"), case("b")]) == {
        "a": {"view q-x": "passed", "view L": "passed", "files": "passed"},
        "b": {"view q-x": "passed", "files": "passed"},
        "workspace": {"files": "passed"},
    }


def test_findings_and_drift_are_failures_with_their_lines():
    found = read([case("a", findings=(GONE, GONE), drift=("a: one", "a: two"))], ["golden/x.yaml: no capture of that id"])
    line = "missing gpu[0]/fan_speed: expected '3 %', got nothing"
    assert found["a"] == {"view q-x": f"{line}\n{line}", "files": "a: one\na: two"}
    assert found["workspace"] == {"files": "golden/x.yaml: no capture of that id"}


def test_an_edited_capture_is_skipped():
    document = JUnitXml.fromstring(junit.check([case("a", kind="edited")]))
    assert (document.skipped, document.failures) == (1, 0)


def test_a_rule_without_work_is_a_failure():
    rules = [Rule("gpu/a", "volatile", "x", place="r:3"), Rule("gpu/b", "volatile", "x", place="r:6")]
    found = read([], [], [Use(rules[0], 1, None), Use(rules[1], 0, "covers no difference")])
    assert found["workspace"]["rule volatile gpu/a"] == "passed"
    assert found["workspace"]["rule volatile gpu/b"] == "r:6: volatile gpu/b covers no difference"


@pytest.mark.parametrize("odd", ["\x00", "\x1b[31m", "\ufffe", "]]>", "<&\"'", "\ud800", "é\U0001f600"])
def test_any_text_makes_sound_xml(odd: str):
    assert read([case("a", drift=(f"a: {odd}",))])["a"]["files"].startswith("a: ")
