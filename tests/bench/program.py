"""The loop program (loop.c, empty.c): built by the project's own compiler search, run plainly for times and under callgrind for instructions."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mocklib import build
from tests.bench import callgrind
from tests.bench.cases import Case, batches

HERE = Path(__file__).resolve().parent
COUNTED_BY = "counted_calls"
EMPTY = "nvparity_empty"
COUNTED_CALLS = 200
TIMED_CALLS = 20_000
REPEATS = 15
FLAGS = ("-std=c11", "-O2", "-g1", "-Wall", "-Wextra", "-Wconversion", "-Werror")
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR")


class ProgramError(RuntimeError):
    """The loop program or callgrind failed; the message is what it said."""


@dataclass(frozen=True)
class Times:
    """One case timed: the code of its calls (nvmlReturn_t), ns of a call and of the empty call, each the least of all loops."""

    code: int
    ns: float
    empty_ns: float

    def least(self, other: Times) -> Times:
        """Both runs as one."""
        return Times(other.code, min(self.ns, other.ns), min(self.empty_ns, other.empty_ns))


@dataclass(frozen=True)
class Loop:
    """The built program and what it measures: ``library`` is the file, ``variables`` name image and state; ``silent``: it must not print."""

    program: Path
    empty: Path
    library: Path
    variables: Mapping[str, str]
    silent: bool = True

    def run(self, arguments: Sequence[str], cases: Iterable[Case] = (), before: Sequence[str] = (), without: Iterable[str] = ()) -> str:
        """What the program prints; ``before`` is put in front of its command, variables named in ``without`` are left out."""
        environment = {name: value for name, value in os.environ.items() if name in KEPT}
        environment |= {name: value for name, value in self.variables.items() if name not in set(without)}
        lines = "".join(case.line + "\n" for case in cases)
        command = [*before, str(self.program), *arguments]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False, env=environment)
        said = [line for line in done.stderr.splitlines() if not line.startswith("==")]  # but for valgrind's own lines
        if done.returncode != 0 or (said and self.silent):  # a library that has something to say may be serving something else
            ended = f"{' '.join(command[:2])}: exit status {done.returncode}"
            raise ProgramError(ended if done.returncode < 0 else (done.stderr or done.stdout).strip() or ended)
        return done.stdout

    def times(self, cases: Sequence[Case]) -> tuple[dict[str, Times], list[tuple[str, str]]]:
        """Each case timed, by its name, and the mappings of image and state (permissions, file)."""
        printed = self.run(["time", str(self.library), str(self.empty), str(TIMED_CALLS), str(REPEATS)], cases)
        found, mappings = {}, []
        for line in printed.splitlines():
            words = line.split(" ", 3)
            if words[0] == "mapping":
                mappings.append((words[1], " ".join(words[2:])))
            else:
                found[words[0]] = Times(int(words[1]), int(words[2]) / 1000, int(words[3]) / 1000)
        return found, mappings

    def instructions(self, cases: Sequence[Case], valgrind: str) -> dict[str, float]:
        """Instructions per call of each case, by its name; the empty call's under its function's name."""
        found: dict[str, float] = {}
        for batch in batches(cases):
            with tempfile.TemporaryDirectory(prefix="nvparity-bench-") as folder:
                out = Path(folder) / "callgrind.out"
                tool = [valgrind, "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}"]
                self.run(["count", str(self.library), str(self.empty), str(COUNTED_CALLS)], batch, before=tool)
                calls = callgrind.calls_from(out.read_text("utf-8"), COUNTED_BY)
            found[EMPTY] = calls[EMPTY].each
            for case in batch:
                seen = calls.get(case.function)
                if seen is None or seen.count != COUNTED_CALLS:
                    raise ProgramError(f"callgrind saw {seen} of {COUNTED_CALLS} calls of {case.function} among those of {', '.join(sorted(calls))}")
                found[case.name] = seen.each
        return found

    def starts(self, times: int, without: Iterable[str] = (), *, empty: bool = False) -> tuple[float, float]:
        """dlopen, dlsym and nvmlInit_v2, of the library or of the ``empty`` one, in ``times`` fresh processes: median and least, ms."""
        library = self.empty if empty else self.library
        taken = [int(line) / 1e6 for line in self.run(["init", str(library), str(times)], without=without).split()]
        return statistics.median(taken), min(taken)


def compiled(source: Path, out: Path, *options: str) -> Path:
    """``out``, built from one C file with the project's compiler search; BuildError where there is no compiler or it refuses."""
    out.parent.mkdir(parents=True, exist_ok=True)
    fresh = out.with_name(f"{out.name}.new.{os.getpid()}")
    compiler = build.find_compiler()
    plain = ("-mcpu=baseline",) if compiler.is_zig else ()  # zig takes the machine's own instructions, of which valgrind does not know all
    compiler.run(*FLAGS, *plain, *options, str(source), "-o", str(fresh), "-ldl")
    return fresh.replace(out)


def built(folder: Path) -> tuple[Path, Path]:
    """The loop program and the library of the empty function, in ``folder``."""
    return compiled(HERE / "loop.c", folder / "loop"), compiled(HERE / "empty.c", folder / "libnvparity-empty.so", "-shared", "-fPIC")
