"""A check as JUnit XML, for CI that shows test results: a suite a capture, a testcase a view, a baseline and its files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from harness.reports import table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from junitparser import TestCase, TestSuite

    from harness.stages.compare import Case
    from harness.stages.compare.ruling import Use

WORKSPACE = "workspace"
"""The suite of what belongs to no capture: other files, and rules."""
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check(cases: Iterable[Case], drift: Iterable[str] = (), uses: Iterable[Use] = ()) -> bytes:
    """The document of a check: findings and drift as failures with their lines, an edited capture as skipped.

    No time and no host name is in it: the same check gives the same bytes.
    """
    from junitparser import JUnitXml

    by_capture: dict[str, list[Case]] = {}
    for case in cases:
        by_capture.setdefault(case.id, []).append(case)
    document = JUnitXml("nvparity check")
    for name, views in by_capture.items():
        document.add_testsuite(_capture(name, views))
    document.add_testsuite(_workspace(list(drift), list(uses)))
    document.update_statistics()
    made: bytes = document.tostring()
    return made.strip() + b"\n" if made.startswith(b"<?xml") else b'<?xml version="1.0" encoding="UTF-8"?>\n' + made.strip() + b"\n"


def _capture(name: str, views: list[Case]) -> TestSuite:
    suite = _suite(name)
    for case in views:
        suite.add_property("driver", case.driver)
        suite.add_property("layout", case.layout)
        suite.add_property("kind", case.kind)
        lines = [table.line_of(finding) for finding in case.findings]
        made = _testcase(f"view {case.view}", name, f"{len(lines)} findings", lines)
        if not case.compared:
            from junitparser import Skipped

            made.result = [Skipped(f"{case.skipped}: not compared" if case.skipped else "edited: kept, not compared")]
        if case.printed is not None:
            suite.add_property("nvidia-smi", case.printed.version)
            suite.add_property("re-targeted", f"from {case.printed.origin} to {case.printed.version}")
        suite.add_testcase(made)
        for view, outcome in case.baselines.items():
            lines = [] if outcome == "equal" else [line for line in case.drift if "baseline" in line] or [outcome]
            suite.add_testcase(_testcase(f"baseline {view}", name, f"{len(lines)} findings", lines))
    lines = [line for case in views for line in case.drift]
    suite.add_testcase(_testcase("files", name, f"{len(lines)} drifted", lines))
    return suite


def _workspace(drift: list[str], uses: list[Use]) -> TestSuite:
    suite = _suite(WORKSPACE)
    suite.add_testcase(_testcase("files", WORKSPACE, f"{len(drift)} drifted", drift))
    for use in uses:
        suite.add_testcase(_testcase(f"rule {use.rule.kind} {use.rule.path}", WORKSPACE, "a rule", [use.line] if use.problem else []))
    return suite


def _suite(name: str) -> TestSuite:
    from junitparser import TestSuite

    return TestSuite(_plain(name))


def _testcase(name: str, suite: str, message: str, lines: list[str]) -> TestCase:
    """A testcase; with ``lines``, one that failed."""
    from junitparser import Failure, TestCase

    made = TestCase(_plain(name), classname=_plain(suite))
    if lines:
        failure = Failure(message, "finding")
        failure.text = _plain("\n".join(lines))
        made.result = [failure]
    return made


def _plain(text: str) -> str:
    """``text`` without the characters that no XML document may hold."""
    return _NOT_XML.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
