"""The last line of an import: on what grounds the mock is said to print what the node printed."""

from __future__ import annotations

from harness.reports import imported
from harness.stages.compare import Case, Counts, Finding
from harness.stages.importing.pipeline import Imported


def made(case: Case) -> Imported:
    return Imported("a", case.kind, "470.74", {}, {}, {}, {}, None, [], [case], [])


def case(counts: Counts, equal: str, findings: list[Finding] | None = None) -> Case:
    return Case("a", "own", "builtin", "470.74", "470.74", 1, counts, counts, equal, findings or [])


def test_readings_that_moved_are_told_beside_those_that_are_exact() -> None:
    said = imported.outcome(made(case(Counts(elements=5, exact=3, moved=2), "differs")))
    assert said == "parity: rendered from the mock library, readings equal, 3 elements exact, 2 moved while they were recorded"


def test_without_one_nothing_is_said_of_them() -> None:
    assert imported.outcome(made(case(Counts(elements=5, exact=5), "equal"))).endswith("bytes equal, 5 elements exact")


def test_a_finding_is_no_parity() -> None:
    found = [Finding(None, "gpu[0]/fan_speed", "contradiction", "3 %", "4 %", row="fan.speed_percent", call="nvmlDeviceGetFanSpeed = SUCCESS")]
    assert imported.outcome(made(case(Counts(elements=5, exact=5), "equal", found))) == "NO PARITY: 1 findings"
