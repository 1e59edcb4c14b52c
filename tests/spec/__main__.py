"""``python -m tests.spec [pytest options]``: the account of the ledger, in build/spec.json and printed; runs what no run on this tree has passed.

The sessions tests, smi, hostile, clients and blind leave what became of the tests marked ``spec`` in build/spec-results.json.  Here all marked
tests are collected, those without a pass on the present content of the tree are run, and the rows are added up.  Exit status 1 where a marked
test failed or a row is neither marked nor listed, that of pytest where a mark names no row.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.spec import account, ledger, results

ACCOUNT = results.ROOT / "build" / "spec.json"


def pytest(*arguments: str, quiet: bool = False) -> int:
    """One run of pytest in the tree; its exit status."""
    out = subprocess.PIPE if quiet else None
    done = subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=results.ROOT, check=False, stdout=out, stderr=out, text=True)
    if quiet and done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n", file=sys.stderr)
    return done.returncode


def main(options: list[str]) -> int:
    """Collect, run the rest, add up; the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        listing, rest = Path(folder) / "marked.json", Path(folder) / "rest"
        if status := pytest("--collect-only", "-q", "-m", "spec", f"--spec-list={listing}", "tests", quiet=True):
            return status
        marked = json.loads(listing.read_text(encoding="utf-8"))
        tree = results.fingerprint()
        before = results.read(tree)
        left = [test for test in marked if before.get(test) != "passed"]
        print(f"{len(marked)} tests are marked, {len(marked) - len(left)} of them passed on this tree; {len(left)} are run now", flush=True)
        if left:
            rest.write_text("\n".join(left), encoding="utf-8")
            pytest("-q", "-n", "2", "--dist", "worksteal", *options, f"@{rest}")
    found = account.account(ledger.load(), marked, results.read(tree))
    found.write(ACCOUNT)
    print(*found.lines(), sep="\n")
    return 1 if found.failed or found.bare else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
