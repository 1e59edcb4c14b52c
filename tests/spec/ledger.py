"""The rows of the ledger: their ids, and which are different, outside or waiting, each with its reason (``ledger.yaml``)."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

TABLE = Path(__file__).with_name("ledger.yaml")
REMARKS = ("on_branch_libraries", "waiting_parts", "evidence_parts")
"""Lists of rows that are passed, but for what the reason says."""
LISTS = ("different", "waiting", "outside", *REMARKS)


class LedgerError(Exception):
    """A mark or a list that names a row it must not name; the message says which and what to do."""


@dataclass(frozen=True)
class Ledger:
    """Row id -> reason for the rows that are no plain rows; ``rows`` has all ids in the ledger's order, each with its section's title.

    ``waiting`` rows need a capability that is not there yet, ``outside`` ones speak of no NVML or of what another product does; both are uncovered
    unless a test proves them.
    """

    rows: Mapping[str, str]
    different: Mapping[str, str]
    waiting: Mapping[str, str]
    outside: Mapping[str, str]
    remarks: Mapping[str, str]

    def check(self, marked: Iterable[str], where: str) -> None:
        """Refuse a mark of ``where`` that names no row of the ledger or one that is declared different."""
        for row in marked:
            if row not in self.rows:
                near = difflib.get_close_matches(row, self.rows, n=3)
                raise LedgerError(f"{where}: the ledger has no row {row}" + (f"; near it: {', '.join(near)}" if near else ""))
            if row in self.different:
                raise LedgerError(f"{where}: row {row} is declared different in {TABLE.name}: take the mark away or the row out of that list")


def parse(document: Mapping[str, Any]) -> Ledger:
    """The ledger of a table; raises LedgerError where two lists have one row or a list names none."""
    sections = document["sections"]
    rows = {row: section["title"] for prefix, section in sections.items() for row in _rows(prefix, section)}
    lists: dict[str, dict[str, str]] = {}
    for name in LISTS:
        lists[name] = found = {}
        for entry in document[name]:
            for row in entry["rows"]:
                for one in _expand(row, sections):
                    if one not in rows or any(one in other for other in lists.values()):
                        raise LedgerError(f"{TABLE.name}: {name}: {one} is no row of the ledger, or stands in two lists")
                    found[one] = entry["reason"]
    remarks = {row: reason for name in REMARKS for row, reason in lists[name].items()}
    return Ledger(rows, lists["different"], lists["waiting"], lists["outside"], remarks)


def _expand(row: str, sections: Mapping[str, Any]) -> list[str]:
    """The rows of a whole section, or the one row."""
    return _rows(row, sections[row]) if row in sections else [row]


def _rows(prefix: str, section: Mapping[str, Any]) -> list[str]:
    """The ids of a section; ``digits``: how many its numbers have at least, where it is not two."""
    return [f"{prefix}{number:0{section.get('digits', 2)}d}" for number in range(1, section["rows"] + 1)]


@functools.cache
def load() -> Ledger:
    """The ledger of the tree."""
    return parse(yaml.safe_load(TABLE.read_text(encoding="utf-8")))
