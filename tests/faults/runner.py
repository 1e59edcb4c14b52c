"""Apply faults to copies of the tree and see whether their tests go red."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.faults.fault import Fault

TEST_LIMIT_S = 300


@dataclass(frozen=True)
class Verdict:
    """What came of one fault: killed, survived, broken (it proves nothing as it is; ``why`` says why) or skipped."""

    fault: Fault
    outcome: str
    why: str
    seconds: float


def copy_tree(root: Path, target: Path) -> None:
    """Copy what git tracks or would track, as it stands in the working tree."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True, capture_output=True, text=True
    )
    for name in filter(None, listing.stdout.split("\0")):
        source = root / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)


def copy_generated(root: Path, target: Path) -> None:
    """Copy the modules made from the vendor's header, so that a test on the shared library finds them; a fault before may have changed the copy's."""
    made = root / "build" / "gen"
    if made.is_dir():
        shutil.copytree(made, target / "build" / "gen", dirs_exist_ok=True)


def run_tests(tree: Path, tests: Iterable[str], library: Path | None) -> Counter[str]:
    """Outcomes of ``tests`` in ``tree``, counted: passed, failed, error, skipped; nothing at all where pytest itself could not run them."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "NVPARITY_LIBRARY", "PYTEST_ADDOPTS"}}
    environment |= {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    if library is not None:
        environment["NVPARITY_LIBRARY"] = str(library)
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report.name}", *tests]
        try:
            done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, check=False, timeout=TEST_LIMIT_S)
        except subprocess.TimeoutExpired:
            return Counter(failed=1)  # a fault that makes its test hang is seen, too
        if done.returncode < 0:
            return Counter(failed=1)  # and so is one that crashes it
        content = Path(report.name).read_bytes()
    return count(content)


def count(junit: bytes) -> Counter[str]:
    """Outcomes in a JUnit report of pytest."""
    outcomes: Counter[str] = Counter()
    if not junit:
        return outcomes
    names = {"failure": "failed", "error": "error", "skipped": "skipped"}
    for case in ET.fromstring(junit).iter("testcase"):
        found = [names[child.tag] for child in case if child.tag in names]
        outcomes[found[0] if found else "passed"] += 1
    return outcomes


def apply(patch: Path, tree: Path, *, reverse: bool = False) -> str:
    """Apply a patch in ``tree``; the empty text, or why it does not apply."""
    command = ["git", "apply", "--whitespace=nowarn", *(["-R"] if reverse else []), str(patch.resolve())]
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)}  # a checkout around the copy is none of the patch's business
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False, env=environment)
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def try_fault(fault: Fault, tree: Path, library: Path | None) -> Verdict:
    """Whether every test of ``fault`` goes red on a tree with its patch; ``tree`` is as before afterwards."""
    start = time.monotonic()
    outcome, why = "killed", ""
    sound = run_tests(tree, fault.tests, library)
    if not sound["passed"] or set(sound) - {"passed"}:
        outcome, why = "broken", f"its tests are not green on the sound tree: {dict(sound) or 'pytest could not run them'}"
    elif refusal := apply(fault.path, tree):
        outcome, why = "broken", f"the patch does not apply: {refusal}"
    else:
        for test in fault.tests:
            seen = run_tests(tree, [test], None if fault.needs_build else library)
            if seen["error"] or not seen:
                outcome, why = "broken", f"{test} did not run on the faulty tree (collection, fixture or build fails)"
            elif not seen["failed"]:
                outcome, why = "survived", f"{test} stays green"
        apply(fault.path, tree, reverse=True)
    return Verdict(fault, outcome, why, time.monotonic() - start)


def missing_needs(fault: Fault) -> list[str]:
    """What the fault needs and the environment does not name."""
    variables = {"captures": "NVPARITY_CAPTURES", "smi": "NVPARITY_SMI"}
    return [variables.get(need, need) for need in fault.needs if not os.environ.get(variables.get(need, ""))]
