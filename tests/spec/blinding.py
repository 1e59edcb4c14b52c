"""Blind by the ledger (``--spec-blind``): each function in turn answers NOT_SUPPORTED, and a test marked with one of its rows must be red.

The images that tests pack in this process get a gate for the function; tests run one after the other until one is red.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from _pytest.runner import runtestprotocol

from mocklib import fields, packing
from tests.spec import ledger
from tests.spec.recording import rows

NOT_SUPPORTED = 3
TABLE = Path(__file__).with_name("functions.yaml")
QUICK = TABLE.parent
"""Tests that stay in this process: they are tried first."""
BEFORE_AN_IMAGE = frozenset(("nvmlInitWithFlags",))
"""Functions that answer before an image is there: no gate of one silences them."""


@functools.cache
def functions() -> Mapping[str, list[str]]:
    """Function -> its rows; LedgerError where it names none."""
    found: dict[str, list[str]] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    for function, listed in found.items():
        for row in listed:
            if row not in ledger.load().rows:
                raise ledger.LedgerError(f"{TABLE.name}: {function}: the ledger has no row {row}")
    return found


@functools.cache
def answering() -> frozenset[str]:
    """The functions that answer something: the others are silent as they are, which is what their rows say."""
    found: set[str] = set()
    for path in sorted((fields.TABLES / "functions").glob("*.yaml")):
        found |= fields.load_yaml(path).keys()
    return frozenset(found)


@contextmanager
def silent(function: str) -> Iterator[None]:
    """Every image that is packed meanwhile has the function answer NOT_SUPPORTED."""
    made = packing.gates
    packing.gates = lambda gates: made({**gates, function: NOT_SUPPORTED})  # type: ignore[assignment] # put back below
    try:
        yield
    finally:
        packing.gates = made


class _UpToTheSession:
    """What pytest takes for the next test: all fixtures but those of the session end before it."""

    def __init__(self, session: pytest.Session) -> None:
        self.session = session

    def listchain(self) -> list[Any]:
        return [self.session]


class Blinder:
    """The run of ``--spec-blind``, in place of pytest's own loop over the tests."""

    def __init__(self) -> None:
        self.unseen: dict[str, list[str]] = {}
        self.unmarked: list[str] = []
        self.seen: dict[str, str] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Blind each function that has marked tests."""
        if session.testsfailed:
            raise session.Interrupted("errors during collection")
        by_row: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in session.items:
            for row in rows(item):
                by_row[row].append(item)
        last: pytest.Item | None = None
        for function, listed in functions().items():
            items = sorted(dict.fromkeys(item for row in listed for item in by_row[row]), key=lambda item: QUICK not in item.path.parents)
            if function in BEFORE_AN_IMAGE or function not in answering() or not items:
                self.unmarked.append(function)
                continue
            with silent(function):
                red = next((item for item in items if self.red(session, last := item)), None)
            if red is None:
                self.unseen[function] = [item.nodeid for item in items]
            else:
                self.seen[function] = red.nodeid
        if last is not None:
            session._setupstate.teardown_exact(None)
        session.testsfailed = len(self.unseen)
        return True

    @staticmethod
    def red(session: pytest.Session, item: pytest.Item) -> bool:
        """Whether a test fails now."""
        following: Any = _UpToTheSession(session)
        return any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """What went unseen, and how many were seen."""
        for function, tests in self.unseen.items():
            terminalreporter.line(f"{function} does not answer, and no test of its rows is red: {', '.join(tests[:4])}")
        seen, unseen, unmarked = len(self.seen), len(self.unseen), len(self.unmarked)
        terminalreporter.line(f"{seen} functions blinded and seen, {unseen} unseen, {unmarked} without a marked test here")
