"""A child of our own that holds the library: loaded fresh, it sees one image alone, and what becomes of it cannot take the harness down.

The child is ``python -m MODULE -`` with its task as JSON on standard input; it answers into the file that the task names, which is in memory: an
answer of a real library holds identifiers, and a disk keeps what was once on it.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import harness
from harness.stages.bounds import bound, watched
from harness.text import scrub
from harness.words.errors import EXIT_ENVIRONMENT, EXIT_INPUT, EXIT_USAGE, GateError, InputError, MissingError, NvparityError, UsageError
from mocklib import state
from mocklib.spec import Clock

OPEN_FILES = Path("/proc/self/fd")
"""Where a process finds its own open files by number (proc(5))."""
LIMIT_S = 120.0
"""Seconds that a child may take without a sign of life."""
KILLED_S = 5.0
"""Seconds that a killed child is waited for: one that a driver holds in the kernel does not end."""
_TOLD = 4096
"""Bytes of standard error whose last line a message gives."""
_WRITTEN = 512 << 20
"""Bytes of the longest file that a child may write: the answers of 64 GPUs are 64 MiB, a library that floods standard error is cut off there."""


@dataclass(frozen=True)
class Errand:
    """What a child is started for.

    ``module``: run by it.  ``task``: its input, to which ``answer`` is added, the file for its result.  ``name``: of the library or image, ``doing``:
    of the work, both for messages.  ``image``: served to it, in an environment made here and with a state of its own; None leaves it the caller's
    environment.  ``watched``: ``progress`` is added to the task, too, a file whose content the child changes to say what it is at.  ``clock``: the
    time that the image is served by, where that is not its own.  ``stoppable``: Ctrl-C is told to the child alone, which answers with what it has;
    it starts with SIGINT blocked.
    """

    module: str
    task: Mapping[str, Any]
    name: str
    doing: str
    image: str | None = None
    watched: bool = False
    clock: Clock | None = None
    stoppable: bool = False


def run(errand: Errand, limit_s: float = LIMIT_S) -> dict[str, Any]:
    """The child's answer.

    Raises GateError when a signal ends the child or it takes longer than ``limit_s`` seconds without saying that it is at something else, and what
    the child itself raised otherwise (an answer with ``error`` and ``status``); the message names what the child was at.
    """
    if not OPEN_FILES.is_dir():
        raise MissingError(f"no {OPEN_FILES} here, by which a child hands over its answer: mount -t proc proc /proc")
    with tempfile.TemporaryDirectory(prefix="nvparity-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        progress = folder / "progress"
        progress.touch()
        told = {"progress": str(progress)} if errand.watched else {}
        with _memory("answer") as answer, _memory("stderr") as stderr:
            task = json.dumps({**errand.task, "answer": str(OPEN_FILES / str(answer.fileno())), **told})
            status = _status(errand, task, folder, limit_s, (answer.fileno(), stderr.fileno()))
            said = answer.read()
            last = _last(stderr)
        if status < 0:
            raise GateError(f"{errand.name}: {errand.doing} was ended by {signal.Signals(-status).name}{_at(progress)}{last}")
        if not said:
            raise RuntimeError(f"{errand.doing} left no answer (status {status}){last}")
    try:
        found: dict[str, Any] = json.loads(said)
    except ValueError:
        raise MissingError(f"{errand.name}: {errand.doing} could not write its answer whole (status {status}){last}") from None
    if "error" in found:
        kinds: dict[int, type[NvparityError]] = {EXIT_USAGE: UsageError, EXIT_INPUT: InputError, EXIT_ENVIRONMENT: MissingError}
        raise kinds.get(found["status"], GateError)(found["error"])
    return found


def _memory(name: str) -> BinaryIO:
    """A file that no folder holds and no disk."""
    return os.fdopen(os.memfd_create(f"nvparity-{name}"), "w+b")


def _status(errand: Errand, task: str, folder: Path, limit_s: float, files: tuple[int, int]) -> int:
    """The exit status of the child, or minus the number of the signal that ended it; of ``files`` it inherits the first for its answer, the second
    is its standard error.
    """
    answer, stderr = files
    if errand.image is not None and errand.clock is not None:
        state.create(folder / "state", Path(errand.image).read_bytes())
        state.set_clock(folder / "state", errand.clock)
    command = [sys.executable, "-m", errand.module, "-"]
    environment = _environment(errand.image, folder / "state")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT} if errand.stoppable else ())
    try:
        with _memory("task") as stdin:
            stdin.write(task.encode())
            stdin.seek(0)
            child = subprocess.Popen(
                command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=stderr, env=environment, cwd=folder, pass_fds=(answer,)
            )  # fmt: skip
    except BaseException:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise
    bound(child.pid, resource.RLIMIT_FSIZE, _WRITTEN)
    bound(child.pid, resource.RLIMIT_CORE, 0)
    return _waited(child, errand, folder / "progress", limit_s, before)


def _waited(child: subprocess.Popen[bytes], errand: Errand, progress: Path, limit_s: float, mask: Iterable[int]) -> int:
    """As ``_status``, of a child that was started; ``mask``: the signals that were blocked before.  It does not outlive this."""
    try:
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            return _ended(child, errand, progress, limit_s)
        except KeyboardInterrupt:
            if not errand.stoppable:
                raise
            child.send_signal(signal.SIGINT)  # the terminal's has reached it already; one more is the same to it
            return _ended(child, errand, progress, limit_s)
    except BaseException:
        child.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(KILLED_S)
        raise


def _ended(child: subprocess.Popen[bytes], errand: Errand, progress: Path, limit_s: float) -> int:
    """Wait for the child's end as long as it shows that it goes on."""
    before = None
    while True:
        try:
            return child.wait(watched(child.pid, limit_s))
        except subprocess.TimeoutExpired:
            now = progress.read_bytes()
            if now in (before, b""):
                raise GateError(f"{errand.name}: {errand.doing} did not end within {limit_s:g} s{_at(progress)}") from None
            before = now


def _environment(image: str | None, state: Path) -> dict[str, str]:
    path = [str(Path(harness.__file__).parent.parent), *filter(None, os.environ.get("PYTHONPATH", "").split(":"))]
    if image is None:
        return {**os.environ, "PYTHONPATH": ":".join(path)}
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": "/nonexistent",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": ":".join(path),
        "NVPARITY_IMAGE": image,
        "MOCK_NVML_STATE": str(state),
    }


def _at(progress: Path) -> str:
    """What the child said last that it was at."""
    said = progress.read_bytes().rstrip(b"\0").decode("utf-8", "backslashreplace")
    return f", in {said}" if said else ""


def _last(stderr: BinaryIO) -> str:
    """The last line on standard error, at most 200 characters: a library of a node may name its boards there."""
    end = stderr.seek(0, os.SEEK_END)
    stderr.seek(max(0, end - _TOLD))
    lines = scrub.scrub({"stderr": stderr.read().strip()}).files["stderr"].decode("utf-8", "backslashreplace").splitlines()
    return f": {lines[-1][:200]}" if lines else ""
