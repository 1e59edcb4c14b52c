"""``python -m tests.bench [--gate] [--cases] [--profile ID] [--peer LIBRARY] [--json FILE]``: measure NVPARITY_LIBRARY, or the built library.

Writes build/bench/bench.json (or FILE), prints a table and one summary line.  Exit status: 0 all figures within limits.yaml, 1 some above, 3 no such
profile or peer, 4 the machine lacks something (with --gate: valgrind, too, without which the instructions are not counted).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness.words.errors import InputError, NvparityError
from tests.bench import limits as committed
from tests.bench import machine, measure, result
from tests.bench import peer as peers
from tests.bench.cases import Case

EXIT_FAILED, EXIT_ENVIRONMENT = 1, 4


def arguments(words: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure the library's calls against the committed limits.")
    parser.add_argument("--gate", action="store_true", help="end with status 4 where valgrind is missing and no instructions can be counted")
    parser.add_argument("--cases", action="store_true", help="print a line for each case instead of one for each class")
    parser.add_argument("--profile", default=measure.PROFILE, metavar="ID", help="the profile that is served (default %(default)s)")
    parser.add_argument("--json", type=Path, default=measure.ROOT / "build" / "bench" / "bench.json", metavar="FILE", help="where the JSON goes")
    parser.add_argument("--peer", type=Path, metavar="LIBRARY", help="another libnvidia-ml.so.1, called by the same loop, its figures beside ours")
    parser.add_argument("--peer-env", action="append", default=[], metavar="NAME=VALUE", help="a variable for the peer alone; may be repeated")
    return parser.parse_args(words)


def beside(asked: argparse.Namespace, served: measure.Served, cases: Sequence[Case]) -> peers.Peer | None:
    """The peer that was asked for, measured.  Raises InputError for one that is not there."""
    if asked.peer is None:
        return None
    if not asked.peer.is_file():
        raise InputError(f"--peer {asked.peer}: no such file; name a libnvidia-ml.so.1")
    try:
        variables = peers.variables_of(asked.peer_env)
    except ValueError as error:
        raise InputError(str(error)) from None
    return peers.measure(served.loop, asked.peer.resolve(), variables, cases)


def write(path: Path, document: object) -> None:
    """The JSON document, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    fresh.replace(path)


def main(words: Sequence[str]) -> int:
    """Measure, write, print; the exit status."""
    asked = arguments(words)
    if asked.gate and machine.valgrind() is None:
        sys.stderr.write("bench: the gate counts instructions with callgrind, and valgrind is not installed: apt-get install valgrind\n")
        return EXIT_ENVIRONMENT
    limits = committed.load()
    library = Path(os.environ.get("NVPARITY_LIBRARY") or measure.ROOT / "build" / "lib" / "release" / "libnvidia-ml.so.1").resolve()
    if not library.is_file():
        sys.stderr.write(f"bench: {library} is not there: build it with nox -s bench, or name one in NVPARITY_LIBRARY\n")
        return EXIT_ENVIRONMENT
    with tempfile.TemporaryDirectory(prefix="nvparity-bench-") as folder:
        try:
            served = measure.serve(asked.profile, library, Path(folder).resolve())
            cases = measure.cases()
            peer = beside(asked, served, cases)
        except NvparityError as error:
            sys.stderr.write(f"bench: {error}\n")
            return error.exit_status
        measured = measure.measure(served, asked.profile, limits, cases)
    document = result.document(measured, limits)
    if peer is not None:
        document["peer"] = peers.document(peer, measured.cases)
    write(asked.json, document)
    failed = document["misses"]
    sys.stdout.write("\n".join(result.table(measured, limits, every_case=asked.cases)) + "\n")
    if peer is not None:
        sys.stdout.write("\n".join(peers.table(peer, measured.cases)) + "\n")
    sys.stdout.write(result.summary(measured, limits) + "\n")
    return EXIT_FAILED if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
