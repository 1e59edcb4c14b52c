"""``python -m tests.faults [NAME...]``: every seeded fault must be seen by the test it names; a survivor fails the run."""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.faults.fault import Fault, FaultError, read_all
from tests.faults.runner import Verdict, copy_generated, copy_tree, missing_needs, try_fault

ROOT = Path(__file__).resolve().parents[2]
EXIT_FAILED, EXIT_USAGE, EXIT_NOTHING = 1, 2, 5
TOGETHER = 2
"""Faults that are tried at a time: the gate is budgeted for two cores."""


def say(line: str) -> None:
    """One line, at once: a run takes minutes."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def judge(fault: Fault, tree: Path, library: Path | None) -> Verdict:
    """The verdict on one fault; skipped where it needs what is not there and nobody requires it."""
    if missing := missing_needs(fault):
        required = set(os.environ.get("NVPARITY_REQUIRE", "").split(",")) & set(fault.needs)
        return Verdict(fault, "broken" if required else "skipped", f"{', '.join(missing)} not set", 0.0)
    copy_generated(ROOT, tree)
    return try_fault(fault, tree, library)


def tried(faults: Iterable[Fault]) -> Iterator[Verdict]:
    """The verdict on each fault, in order; TOGETHER are tried at a time, each on a copy of the tree that no other has."""
    named = os.environ.get("NVPARITY_LIBRARY")
    library = Path(named) if named else None
    with tempfile.TemporaryDirectory(prefix="nvparity-faults-") as folder, ThreadPoolExecutor(TOGETHER) as pool:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(TOGETHER):
            copy_tree(ROOT, Path(folder) / str(number))
            trees.put(Path(folder) / str(number))

        def one(fault: Fault) -> Verdict:
            tree = trees.get()
            try:
                return judge(fault, tree, library)
            finally:
                trees.put(tree)

        yield from pool.map(one, faults)


def main(names: list[str]) -> int:
    """Run the faults named, or all; 0 when each was killed."""
    try:
        faults = [fault for fault in read_all(Path(__file__).parent) if not names or fault.name in names]
    except FaultError as error:
        say(str(error))
        return EXIT_USAGE
    if unknown := set(names) - {fault.name for fault in faults}:
        say(f"no fault {', '.join(sorted(unknown))} in tests/faults")
        return EXIT_USAGE
    outcomes: Counter[str] = Counter()
    for verdict in tried(faults):
        outcomes[verdict.outcome] += 1
        say(f"{verdict.outcome:8}  {verdict.fault.name}  {verdict.seconds:.0f} s  {verdict.why or verdict.fault.what}")
    failed = outcomes["survived"] + outcomes["broken"]
    say(f"{outcomes['killed']} passed, {failed} failed" + (f", {outcomes['skipped']} skipped" if outcomes["skipped"] else ""))
    if failed:
        return EXIT_FAILED
    return 0 if outcomes["killed"] else EXIT_NOTHING


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
