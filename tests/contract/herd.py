"""Many readers and writers of one state, by ``herd.c``: ``python -m tests.contract.herd LIBRARY [storm|pair|kill] [options]`` runs the long ones.

    storm   64 threads in each of 8 processes for 300 seconds      --threads --processes --seconds
    pair    one writer, one reader of 1,000,000 values             --reads
    kill    10,000 writers, each killed at a random instant        --kills

Prints what was seen, one line a process; ends with status 1 where a reading was wrong, a writer hung, or memory, mappings or descriptors grew.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from mocklib import build, image
from mocklib.image import FieldValue, ImageSpec
from tests.contract import boards

ENDS = ("power.min_limit_mw", "power.max_limit_mw")
SETTER = [{"set": name, "argument": 0} for name in ENDS]
GROWTH_KIB = 8192
"""What a process's memory may grow by while threads come and go: stacks and arenas of the allocator, not the library's."""
Seen = dict[str, int]


def spec() -> ImageSpec:
    """One board, whose setter sets both ends of its constraints."""
    return boards.spec(devices=[boards.device() | dict.fromkeys(ENDS, FieldValue(0))], programs={"power_limit": SETTER})


def program(folder: Path) -> Path:
    """The compiled herd.c."""
    made = folder / "herd"
    source = Path(__file__).with_suffix(".c")
    build.find_compiler().run("-std=c11", "-D_GNU_SOURCE", "-O1", "-w", "-pthread", str(source), "-o", str(made), "-ldl")
    return made


class Herd:
    """The program in a folder of its own, with the image and the state it uses."""

    def __init__(self, folder: Path, library: Path, environment: dict[str, str]) -> None:
        self.folder, self.library = folder, library
        self.command = str(program(folder))
        image.write(folder / "herd.nvpimg", image.pack(spec()))
        self.state = folder / "herd.state"
        self.environment = environment | {"NVPARITY_IMAGE": str(folder / "herd.nvpimg"), "MOCK_NVML_STATE": str(self.state)}

    def start(self, mode: str, *words: object) -> subprocess.Popen[str]:
        """Start the program in a mode."""
        command = [self.command, mode, str(self.library), *map(str, words)]
        return subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ended(self, started: subprocess.Popen[str]) -> Seen:
        """What it printed; RuntimeError with its errors where it saw something wrong or said anything."""
        out, said = started.communicate()
        if started.returncode or said:
            raise RuntimeError(f"status {started.returncode}: {out}{said}")
        words = out.split()
        return {name: int(value) for name, value in zip(words[::2], words[1::2], strict=True)}

    def storm(self, processes: int, threads: int, *, seconds: int = 0, rounds: int = 0) -> list[Seen]:
        """Threads of several processes that init, read, set and shut down."""
        started = [self.start("storm", threads, seconds, rounds, number + 1) for number in range(processes)]
        return [self.ended(process) for process in started]

    def pair(self, reads: int) -> tuple[Seen, Seen]:
        """A writer and a reader: what each saw."""
        end = self.folder / "end"
        end.unlink(missing_ok=True)
        writer, reader = self.start("write", end), self.start("read", reads)
        read = self.ended(reader)
        end.touch()
        return self.ended(writer), read

    def kill(self, kills: int, seed: int = 1) -> Seen:
        """Writers killed one after the other."""
        return self.ended(self.start("kill", kills, seed))


def grown(seen: Seen) -> list[str]:
    """What a storm's process has more of at its end than early in it."""
    over = {"memory": seen["memory_end_kib"] - seen["memory_kib"] > GROWTH_KIB, "files": seen["files_end"] > seen["files"]}
    return [name for name, more in over.items() if more]


def main(arguments: list[str]) -> int:
    """Run one of the long ones."""
    parser = argparse.ArgumentParser(prog="python -m tests.contract.herd", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("library", type=Path)
    parser.add_argument("mode", choices=("storm", "pair", "kill"))
    for name, usual in (("threads", 64), ("processes", 8), ("seconds", 300), ("reads", 1_000_000), ("kills", 10_000), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        herd = Herd(Path(folder), given.library.resolve(), dict(os.environ))
        if given.mode == "storm":
            seen = herd.storm(given.processes, given.threads, seconds=given.seconds)
        else:
            seen = list(herd.pair(given.reads)) if given.mode == "pair" else [herd.kill(given.kills, given.seed)]
    for each in seen:
        sys.stdout.write(" ".join(f"{name} {value}" for name, value in each.items()) + "\n")
    return int(given.mode == "storm" and any(grown(each) for each in seen))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
