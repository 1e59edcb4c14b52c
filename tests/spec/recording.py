"""The pytest plugin behind the mark ``spec``: refuses marks that name no row, and keeps what became of each marked test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.spec import ledger, results

NAME = "spec"


def rows(item: pytest.Item) -> list[str]:
    """The rows an item is marked with, each once."""
    return list(dict.fromkeys(str(row) for mark in item.iter_markers(NAME) for row in mark.args))


class Recorder:
    """Outcomes of marked tests, merged into the results of the tree when the run ends."""

    def __init__(self, listing: str | None = None) -> None:
        self.listing = listing
        self.outcomes: dict[str, str] = {}
        self.tree = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Check every mark of the run; write the marked items down where ``--spec-list`` asks for it."""
        found = {}
        for item in items:
            if marked := rows(item):
                try:
                    ledger.load().check(marked, item.nodeid)
                except ledger.LedgerError as error:
                    raise pytest.UsageError(str(error)) from None
                item.user_properties.append((NAME, marked))
                found[item.nodeid] = marked
        if self.listing:
            Path(self.listing).write_text(json.dumps(found), encoding="utf-8")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The worst of a test's phases is what became of it."""
        if not any(name == NAME for name, _ in report.user_properties):
            return
        self.tree = self.tree or results.fingerprint()  # what is tested, not what it was changed to meanwhile
        if report.outcome == "skipped":
            reason = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else "expected to fail"
            self.outcomes[report.nodeid] = f"skipped: {reason}"
        elif report.outcome == "failed":
            self.outcomes[report.nodeid] = "failed"
        elif report.when == "call":
            self.outcomes[report.nodeid] = "passed"

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Keep the outcomes; a worker of several has none to keep."""
        if self.outcomes and not hasattr(session.config, "workerinput"):
            results.merge(self.tree, self.outcomes)
