"""``python -m tests.sanitized [sanitize|threads] [--resume] [PATH...] [-k WORDS]``: the suite on the library built with sanitizers.

Both flavours one after the other where none is named.  ``--resume`` does not repeat what was clean on the same library.  The account stands in
build/sanitized/<flavour>.json, reports and pytest's output beside it.  Exit status 1 for a red test, a report of any process, or a process that
opened our library without its runtime.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from harness.stages import building
from mocklib.build import BuildError
from tests.sanitized import chunks
from tests.sanitized.runtime import SANITIZERS, World, WorldError

EXIT_FAILED, EXIT_ENVIRONMENT, EXIT_NOTHING = 1, 4, 5


def say(line: str) -> None:
    """One line, at once: a whole run takes an hour."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def whole(flavour: str, paths: list[str], words: list[str], *, resume: bool) -> list[chunks.Chunk]:
    """Run ``paths`` on the library of ``flavour``; every chunk's outcome."""
    home = chunks.ROOT / "build" / "sanitized"
    library = building.build_library(flavour, chunks.ROOT / "build" / "lib" / flavour)
    account, world = home / f"{flavour}.json", World(SANITIZERS[flavour], home / flavour)
    world.home.mkdir(parents=True, exist_ok=True)
    wanted = {file for files in chunks.divided(paths) for file in files}
    ran = [chunk for chunk in chunks.kept(account) if chunk.clean and chunk.library == chunks.digest(library)] if resume else []
    ran = [chunk for chunk in ran if set(chunk.files) <= wanted]
    for files in chunks.divided(paths, {file for chunk in ran for file in chunk.files}):
        chunk = chunks.run(world, library, files, words)
        chunks.keep(account, chunk)
        ran.append(chunk)
        say(f"{flavour}: {chunk.line()}")
        for name, told in chunk.reports.items():
            say(f"    {name}: {told}")
        for path, number in chunk.plain.items():
            say(f"    {number} times without a runtime: {path}")
    return ran


def summed(flavour: str, ran: list[chunks.Chunk]) -> None:
    """Say what all chunks come to."""
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for chunk in ran:
        outcomes.update(chunk.outcomes)
        reasons.update(chunk.skipped)
    for reason, number in reasons.most_common():
        say(f"{number:5d}  {reason}")
    told = ", ".join(f"{number} {name}" for name, number in sorted(outcomes.items())) or "no tests"
    processes, minutes = sum(chunk.processes for chunk in ran), sum(chunk.seconds for chunk in ran) / 60
    say(f"{flavour}: {told}; {processes} processes opened the library; {sum(len(chunk.reports) for chunk in ran)} reports; {minutes:.0f} min")


def main(arguments: list[str]) -> int:
    """Run what the arguments name; 0 where all of it is clean."""
    parser = argparse.ArgumentParser(prog="python -m tests.sanitized")
    parser.add_argument("--resume", action="store_true", help="do not repeat what was clean on the same library")
    parser.add_argument("-k", metavar="WORDS", help="pytest's own: tests whose name has these words")
    parser.add_argument("names", nargs="*", metavar="sanitize|threads|PATH")
    given = parser.parse_intermixed_args(arguments)
    flavours = [name for name in given.names if name in SANITIZERS] or list(SANITIZERS)
    paths = [name for name in given.names if name not in SANITIZERS] or ["tests"]
    if missing := [path for path in paths if not (chunks.ROOT / path).exists()]:
        parser.error(f"no tests at {', '.join(missing)}")
    everything = []
    try:
        for flavour in flavours:
            ran = whole(flavour, paths, ["-k", given.k] if given.k else [], resume=given.resume)
            summed(flavour, ran)
            everything += ran
    except (WorldError, BuildError) as error:
        say(str(error))
        return EXIT_ENVIRONMENT
    if not all(chunk.clean for chunk in everything):
        return EXIT_FAILED
    return 0 if any(chunk.outcomes for chunk in everything) else EXIT_NOTHING


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
