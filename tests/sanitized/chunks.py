"""The suite in chunks of a few files, each a pytest of its own, and the account of those that ran."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.faults.runner import count
from tests.sanitized import found
from tests.sanitized.runtime import World

ROOT = Path(__file__).resolve().parents[2]
FILES = 4
"""Files of a chunk: what has to be run again after a failure stays small."""
LEFT_OUT = ("bench", "faults", "blind", "sanitize", "recorder")
"""Marks that are not run: they measure, build libraries of their own from other trees or with other compilers, or bring a runtime themselves."""
VARIABLE = "NVPARITY_SANITIZED"
"""The flavour of the library under test, told to tests/conftest.py."""


@dataclass
class Chunk:
    """What came of some files of tests on one library: outcomes by name, processes that opened it, reports, other faults."""

    files: list[str]
    library: str
    outcomes: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    processes: int = 0
    others: int = 0
    reports: dict[str, str] = field(default_factory=dict)
    plain: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    status: int = 0

    @property
    def clean(self) -> bool:
        """Whether its tests passed, no process made a report, and none had our library without the runtime."""
        return self.status in {0, 5} and not self.reports and not self.plain  # 5: pytest selected none of its tests

    def line(self) -> str:
        """One line of what came of it."""
        told = ", ".join(f"{number} {name}" for name, number in sorted(self.outcomes.items())) or "no tests"
        return f"{'clean ' if self.clean else 'FAULTY'}  {told}; {self.processes} processes; {self.seconds:.0f} s  {' '.join(self.files)}"


def divided(paths: Sequence[str], done: Collection[str] = ()) -> list[list[str]]:
    """The files of tests in ``paths`` (folders or files, from the root on) without those ``done``, a few at a time, none of two folders."""
    named = [ROOT / path for path in paths]
    chosen = dict.fromkeys(file for path in named for file in ([path] if path.is_file() else sorted(path.rglob("test_*.py"))))
    folders: dict[Path, list[str]] = {}
    for path in chosen:
        file = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
        if file not in done:
            folders.setdefault(path.parent, []).append(file)
    return [files[at : at + FILES] for files in folders.values() for at in range(0, len(files), FILES)]


def digest(library: Path) -> str:
    """What tells one built library from another."""
    return hashlib.sha256(library.read_bytes()).hexdigest()[:16]


def run(world: World, library: Path, files: list[str], words: Sequence[str] = ()) -> Chunk:
    """Run ``files`` in ``world`` on ``library``; pytest's own output and reports go to ``world.home``/out."""
    world.make()
    begin = time.monotonic()
    name = files[0].replace("/", "_").removesuffix(".py")
    out, junit = world.home / "out" / f"{name}.txt", world.home / "junit.xml"
    out.parent.mkdir(exist_ok=True)
    junit.unlink(missing_ok=True)
    report = [f"--junitxml={junit}", "-o", "junit_family=xunit1"]  # the family that holds what tests record
    options = ["-q", "-p", "no:cacheprovider", "--tb=short", *report, "-m", f"not ({' or '.join(LEFT_OUT)})"]
    sanitizer = world.sanitizer
    ours = {"NVPARITY_LIBRARY": str(library), VARIABLE: sanitizer.flavour, "PYTHONMALLOC": sanitizer.allocator, "PYTHONPATH": str(ROOT)}
    with out.open("wb") as stream:
        command = world.command([sys.executable, "-m", "pytest", *options, *words, *files])
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, **ours}, stdout=stream, stderr=subprocess.STDOUT, check=False)
    loads = found.loads(world.loaded.read_text("utf-8", "replace").splitlines(), world.sanitizer.runtime)
    told = junit.read_bytes() if junit.is_file() else b""
    if any(world.log.iterdir()):
        shutil.copytree(world.log, out.with_suffix(".reports"), dirs_exist_ok=True)
    return Chunk(
        files, digest(library), dict(count(told)), _reasons(told), loads.sanitized, loads.others, found.reports(world.log), loads.plain,
        time.monotonic() - begin, done.returncode,
    )  # fmt: skip


def _reasons(junit: bytes) -> dict[str, int]:
    """Why tests were skipped, and how many."""
    if not junit:
        return {}
    return dict(Counter(skip.get("message", "") for skip in ET.fromstring(junit).iter("skipped")))


def kept(path: Path) -> list[Chunk]:
    """The chunks of the account ``path``; none where there is none."""
    return [Chunk(**item) for item in json.loads(path.read_text("utf-8"))] if path.is_file() else []


def keep(path: Path, chunk: Chunk) -> None:
    """Put ``chunk`` into the account in the place of earlier runs of any of its files."""
    rest = [other for other in kept(path) if not set(other.files) & set(chunk.files)]
    path.write_text(json.dumps([asdict(item) for item in [*rest, chunk]], indent=1), "utf-8")
