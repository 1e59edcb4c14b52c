"""The figures of whole sanitized runs, as docs/proofs.md has them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.sanitized import chunks
from tests.sanitized.runtime import SANITIZERS

HOME = chunks.ROOT / "build" / "sanitized"
TOLD = {"sanitize": "addresses and undefined behaviour", "threads": "threads"}
HEAD = ["| sanitizer | files of tests | tests | processes that opened the library | reports | time |", "|---|---|---|---|---|---|"]


def row(flavour: str, ran: list[chunks.Chunk], files: int) -> str:
    """The line of one sanitizer's account; ``files`` are those there are."""
    outcomes: Counter[str] = Counter()
    for chunk in ran:
        outcomes.update(chunk.outcomes)
    tests = ", ".join(f"{number:,} {name}" for name, number in sorted(outcomes.items()))
    processes, reports = sum(chunk.processes for chunk in ran), sum(len(chunk.reports) for chunk in ran)
    done, minutes = sum(len(chunk.files) for chunk in ran), sum(chunk.seconds for chunk in ran) / 60
    return f"| {TOLD[flavour]} | {done} of {files} | {tests} | {processes:,} | {reports} | {minutes:.0f} min |"


def rows(home: Path = HOME) -> list[str]:
    """The table of the accounts in ``home``; empty where one of them is missing."""
    accounts = {flavour: chunks.kept(home / f"{flavour}.json") for flavour in SANITIZERS}
    if not all(accounts.values()):
        return []
    there = {file for files in chunks.divided(["tests"]) for file in files}
    present = {flavour: [chunk for chunk in ran if set(chunk.files) <= there] for flavour, ran in accounts.items()}
    return [*HEAD, *(row(flavour, ran, len(there)) for flavour, ran in present.items())]
