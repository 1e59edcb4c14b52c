"""A node made up of a T4's capture: what it prints, what its NVML answers, and a stand-in for its nvidia-smi."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.stages import libraries
from harness.stages.answers import replaying
from harness.stages.recording.taking import Node
from harness.stages.recording.viewing import Camera
from harness.stores import captures
from harness.stores.workspace import Workspace
from mocklib.answers import Recording

ROOT = Path(__file__).resolve().parents[4]
SPACE = Workspace(ROOT)
T4 = "t4-x1_595.91.07"
FIRST = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
MOMENT = "Sat Jan 31 12:00:00 2026"

Printed = Mapping[str, tuple[int, bytes, bytes]]
"""Arguments of nvidia-smi, between blanks -> exit status, stdout, stderr; those of ``* `` for every other."""


@pytest.fixture(autouse=True)
def _served(library_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("NVPARITY_LIBRARY", str(library_path))
    libraries.universal.cache_clear()
    yield
    libraries.universal.cache_clear()


@pytest.fixture(scope="session")
def t4_answers(library_path: Path) -> Recording:
    """Every answer of the T4's mock."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NVPARITY_LIBRARY", str(library_path))
        libraries.universal.cache_clear()
        return replaying.record_mock(SPACE.profile_path(T4), SPACE)


@pytest.fixture(scope="session")
def t4_query() -> bytes:
    """What its `-q -x` prints."""
    query = captures.load(SPACE.captures, T4).query
    assert query is not None
    return query.to_bytes()


@pytest.fixture(scope="session")
def t4_list() -> bytes:
    """What its `-L` prints."""
    return b"GPU 0: Tesla T4 (UUID: GPU-00000000-0000-0000-0000-000000000000)\n"


@pytest.fixture
def printed(t4_query: bytes, t4_list: bytes) -> dict[str, tuple[int, bytes, bytes]]:
    """What the node's nvidia-smi prints, for a test to change."""
    fields = b'"timestamp"\nWhen it was asked.\n\n"uuid" or "gpu_uuid"\nIts UUID.\n'
    return {
        "-q -x": (0, t4_query, b""),
        "-L": (0, t4_list, b""),
        "-q": (0, f"Timestamp : {MOMENT}\n".encode(), b""),
        "": (0, f"{MOMENT}\n| NVIDIA-SMI 595.91.07    Driver Version: 595.91.07 |\n".encode(), b""),
        "--help-query-gpu": (0, fields, b""),
        "--help-query-compute-apps": (0, b'"pid"\nProcess.\n', b""),
        "--query-gpu=timestamp,uuid --format=csv": (0, b"timestamp, uuid\n2026/01/31 12:00:00.125, GPU-00000000-0000-0000-0000-000000000000\n", b""),
        "--query-compute-apps=pid --format=csv": (0, b"pid\n", b""),
        "nvlink -s": (0, b"", b""),
        "mig -lgip": (6, b"No MIG-supported devices found.\n", b""),
        "--version": (2, b"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n", b""),
        "*": (0, b"as it is\n", b""),
    }


@pytest.fixture
def nvidia_smi(tmp_path: Path) -> Callable[[Printed], Path]:
    """``nvidia_smi(printed)``: a program that prints that, and notes in ``calls`` beside it how it was called."""

    def make(printed: Printed) -> Path:
        folder = tmp_path / "smi"
        folder.mkdir(exist_ok=True)
        cases = []
        for number, (arguments, (status, out, err)) in enumerate(sorted(printed.items(), key=lambda entry: entry[0] == "*")):
            (folder / f"{number}.out").write_bytes(out)
            (folder / f"{number}.err").write_bytes(err)
            pattern = "*" if arguments == "*" else shlex.quote(arguments)
            here = shlex.quote(str(folder))
            cases.append(f"{pattern}) cat {here}/{number}.out; cat {here}/{number}.err >&2; exit {status};;")
        program = folder / "nvidia-smi"
        program.write_text(f'#!/bin/sh\necho "$*" >> {shlex.quote(str(folder))}/calls\ncase "$*" in\n' + "\n".join(cases) + "\nesac\n")
        program.chmod(0o755)
        return program

    return make


def ticking() -> Callable[[], datetime]:
    """A clock that moves a millisecond each time it is looked at."""
    at = [FIRST]

    def now() -> datetime:
        at[0] += timedelta(milliseconds=1)
        return at[0]

    return now


def node_of(program: Path | None, answers: Recording, ask: Callable[[], Recording] | None = None, limit_s: float = 20.0) -> Node:
    """A node with the nvidia-smi ``program`` and these ``answers``."""
    clock = ticking()
    camera = None if program is None else Camera(program, os.environ, clock, limit_s=limit_s)
    return Node(ask or (lambda: dict(answers)), camera, clock, root=False)
