"""The account of the ledger: which rows passed, which are different, which are uncovered, and why."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.spec.ledger import Ledger


@dataclass(frozen=True)
class Account:
    """Row ids in the ledger's order; ``reasons`` has a line for each row that is not plainly passed; ``failed`` the tests that went red."""

    passed: Sequence[str]
    different: Sequence[str]
    uncovered: Sequence[str]
    reasons: Mapping[str, str]
    failed: Sequence[str]

    def write(self, path: Path) -> None:
        """``{"passed": [], "different": [], "uncovered": [], "reasons": {}}``, ids of rows, as JSON."""
        lists = {"passed": list(self.passed), "different": list(self.different), "uncovered": list(self.uncovered), "reasons": dict(self.reasons)}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(lists, indent=1) + "\n", encoding="utf-8")

    def lines(self) -> list[str]:
        """The account as text: the passed rows, then the others by reason."""
        found = [f"passed     {len(self.passed):4d}  {spans(self.passed)}"]
        for name, listed in (("different", self.different), ("uncovered", self.uncovered), ("of passed", self.passed)):
            by_reason: dict[str, list[str]] = defaultdict(list)
            for row in listed:
                if row in self.reasons:
                    by_reason[self.reasons[row]].append(row)
            found += [f"{name:10s} {len(group):4d}  {spans(group)}: {reason}" for reason, group in by_reason.items()]
        return [*found, *(f"failed: {test}" for test in self.failed)]


def spans(rows: Sequence[str]) -> str:
    """Rows as text, those that follow each other as first and last: ``A01-A03 B02``."""
    groups: list[list[str]] = []
    for row in rows:
        if groups and row == f"{groups[-1][-1][:-2]}{int(groups[-1][-1][-2:]) + 1:02d}":
            groups[-1].append(row)
        else:
            groups.append([row])
    return " ".join(group[0] if len(group) == 1 else f"{group[0]}-{group[-1]}" for group in groups)


def account(ledger: Ledger, marked: Mapping[str, Sequence[str]], outcomes: Mapping[str, str]) -> Account:
    """A row is passed when it has a test and each of its tests passed: none failed, none was skipped, none was left out.

    Args:
        ledger: the rows.
        marked: node id of a test -> the rows it is marked with.
        outcomes: node id -> ``passed``, ``failed`` or ``skipped: reason``, as ``results`` keeps them.
    """
    tests: dict[str, list[str]] = defaultdict(list)
    for test, rows in marked.items():
        for row in rows:
            tests[row].append(test)
    passed, uncovered, reasons = [], [], {**ledger.different}
    for row in ledger.rows:
        if row in ledger.different:
            continue
        open_tests = [(test, outcomes.get(test, "not run")) for test in tests[row] if outcomes.get(test) != "passed"]
        if tests[row] and not open_tests:
            passed.append(row)
            if row in ledger.remarks:
                reasons[row] = ledger.remarks[row]
            continue
        uncovered.append(row)
        reasons[row] = f"{open_tests[0][1]}: {open_tests[0][0]}" if open_tests else ledger.uncovered.get(row, "no test is marked with it")
    failed = sorted(test for test in marked if outcomes.get(test) == "failed")
    return Account(passed, [row for row in ledger.rows if row in ledger.different], uncovered, reasons, failed)
