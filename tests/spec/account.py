"""The account of the ledger: which rows passed, which are different, which are uncovered, and why."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.spec.ledger import Ledger

BARE = "no test is marked with it"
"""Why a row is uncovered that is in no list."""


@dataclass(frozen=True)
class Account:
    """Row ids in the ledger's order; ``reasons`` has a line for each row that is not plainly passed; ``failed`` the tests that went red.

    ``waiting`` and ``outside`` are the uncovered rows that the ledger lists so; an uncovered row of neither has a test that did not pass, or none.
    """

    passed: Sequence[str]
    different: Sequence[str]
    uncovered: Sequence[str]
    waiting: Sequence[str]
    outside: Sequence[str]
    reasons: Mapping[str, str]
    failed: Sequence[str]

    @property
    def bare(self) -> list[str]:
        """The uncovered rows that no test names and no list has a reason for."""
        return [row for row in self.uncovered if self.reasons[row] == BARE]

    def write(self, path: Path) -> None:
        """``{"passed": [], "different": [], "uncovered": []}``, ids of rows, as JSON."""
        lists = {"passed": list(self.passed), "different": list(self.different), "uncovered": list(self.uncovered)}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(lists, indent=1) + "\n", encoding="utf-8")

    def lines(self) -> list[str]:
        """The account as text: the passed rows, the others by reason, the tests that failed, and how many rows of each kind."""
        found = [f"passed     {len(self.passed):4d}  {spans(self.passed)}"]
        listed_so = {*self.waiting, *self.outside}
        left = [row for row in self.uncovered if row not in listed_so]
        kinds = (("different", self.different), ("waiting", self.waiting), ("outside", self.outside), ("uncovered", left), ("of passed", self.passed))
        for name, listed in kinds:
            by_reason: dict[str, list[str]] = defaultdict(list)
            for row in listed:
                if row in self.reasons:
                    by_reason[self.reasons[row]].append(row)
            found += [f"{name:10s} {len(group):4d}  {spans(group)}: {reason}" for reason, group in by_reason.items()]
        uncovered = f"{len(self.uncovered)} uncovered ({len(self.waiting)} waiting, {len(self.outside)} outside, {len(left)} of no list)"
        total = f"{len(self.passed)} passed, {len(self.different)} different, {uncovered} of {self.rows} rows"
        return [*found, *(f"failed: {test}" for test in self.failed), total]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.passed) + len(self.different) + len(self.uncovered)


def spans(rows: Sequence[str]) -> str:
    """Rows as text, those that follow each other as first and last: ``A01-A03 B02``."""
    groups: list[list[str]] = []
    for row in rows:
        if groups and row == _following(groups[-1][-1]):
            groups[-1].append(row)
        else:
            groups.append([row])
    return " ".join(group[0] if len(group) == 1 else f"{group[0]}-{group[-1]}" for group in groups)


def _following(row: str) -> str:
    """The id after ``row``, with as many digits: ``A02`` after ``A01``, ``DF6`` after ``DF5``."""
    section = row.rstrip("0123456789")
    number = row.removeprefix(section)
    return f"{section}{int(number) + 1:0{len(number)}d}"


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
    waiting: list[str] = []
    outside: list[str] = []
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
        if open_tests:
            reasons[row] = f"{open_tests[0][1]}: {open_tests[0][0]}"
            continue
        for listed, of_kind in ((ledger.waiting, waiting), (ledger.outside, outside)):
            if row in listed:
                of_kind.append(row)
        reasons[row] = ledger.waiting.get(row) or ledger.outside.get(row) or BARE
    failed = sorted(test for test in marked if outcomes.get(test) == "failed")
    different = [row for row in ledger.rows if row in ledger.different]
    return Account(passed, different, uncovered, waiting, outside, reasons, failed)
