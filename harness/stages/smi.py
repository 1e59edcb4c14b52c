"""Run a real nvidia-smi, on a library or as the node has it: the one module that starts it.

The binary looks for ``libnvidia-ml.so.1`` along LD_LIBRARY_PATH (measured: every branch from 340 to 555 does), so the library's folder is all it
is told.  It gets an environment made here, never the caller's, so that the same profile gives the same bytes anywhere.  A node's own binary is told
beside it where the caller's loader looks, and what our library reads where that stands in for the node's.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from harness.stages.bounds import bound, watched
from harness.words.errors import GateError, InputError, MissingError

LIBRARY_NAME = "libnvidia-ml.so.1"
OUTPUT_LIMIT = 64 << 20
NODE_LIMIT_S = 300.0
"""Eight GPUs whose driver is loaded anew for each command take more than a minute."""
ENDING_S = 10.0
"""How long a process that was killed is waited for."""
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C", "LC_ALL": "C", "TZ": "UTC", "HOME": "/nonexistent"}


@dataclass(frozen=True)
class SmiRun:
    """What one run gave: ``status`` is the exit status, or minus the number of the signal that ended it; the streams are raw bytes."""

    status: int
    stdout: bytes
    stderr: bytes


def find_binaries(folder: Path) -> dict[int, Path]:
    """The binaries of ``folder`` by branch: {470: folder/470/nvidia-smi, ...}, oldest first.

    Raises MissingError when there is none; the folder is what ``NVPARITY_SMI`` names.
    """
    found = {int(path.parent.name): path for path in folder.glob("*/nvidia-smi") if path.parent.name.isdecimal()}
    if not found:
        raise MissingError(f"{folder}: no <branch>/nvidia-smi in it; nox -s smi fetches the binaries into build/smi")
    return dict(sorted(found.items()))


def binary_for(branch: int, binaries: Mapping[int, Path]) -> tuple[int, Path]:
    """The binary for a driver of ``branch``: that branch's own, else the newest older one, else the oldest; with the branch it is of."""
    older = [number for number in binaries if number <= branch]
    chosen = max(older) if older else min(binaries)
    return chosen, binaries[chosen]


def run_smi(
    binary: Path,
    arguments: Sequence[str],
    *,
    library: Path,
    variables: Mapping[str, str],
    perturb: int | None = None,
    limit_s: float = 60.0,
) -> SmiRun:
    """Run ``binary arguments`` on ``library`` (a file named libnvidia-ml.so.1) and return what it gave, whatever its exit status.

    ``variables`` are what the library reads: NVPARITY_IMAGE, MOCK_NVML_STATE, MOCK_NVML_CONFIG.  ``perturb`` (1 to 255) sets
    MALLOC_PERTURB_: glibc fills what is allocated and freed with it, so bytes the library left unwritten show as a difference between two
    runs.  Each output stream is cut off at 64 MiB (SIGXFSZ: some branches print a list for ever when a library never ends it).

    Raises MissingError when the binary cannot be started, GateError when it does not end within ``limit_s`` seconds.
    """
    environment = {**_ENVIRONMENT, "LD_LIBRARY_PATH": _folder(library), **variables}
    if perturb is not None:
        environment["MALLOC_PERTURB_"] = str(perturb)
    return _run(binary, arguments, environment, limit_s, " (nox -s smi fetches binaries that can)")


def node_smi(named: Path | None, variables: Mapping[str, str]) -> Path:
    """The node's own nvidia-smi: ``named``, else the first on PATH in ``variables``, the caller's; MissingError where there is none."""
    found = shutil.which("nvidia-smi" if named is None else str(named.absolute()), path=variables.get("PATH", "/usr/bin:/bin"))
    if found is None and named is not None:
        raise MissingError(f"{named}: no program; name the node's nvidia-smi")
    if found is None:
        raise MissingError("no nvidia-smi on PATH: is this a node with a driver? (--smi PATH names one elsewhere)")
    return Path(found)


def run_node(
    binary: Path, arguments: Sequence[str], *, variables: Mapping[str, str], library: Path | None = None, limit_s: float = NODE_LIMIT_S
) -> SmiRun:
    """Run a node's own nvidia-smi on the library its loader finds, or on ``library``; what it gave, whatever its exit status.

    ``variables``: the caller's environment, of which LD_LIBRARY_PATH is handed on, and what our library reads (a mock in the place of the node's).
    Raises as ``run_smi``.
    """
    handed = {name: value for name, value in variables.items() if name.startswith(("NVPARITY_", "MOCK_NVML_"))}
    folders = ([] if library is None else [_folder(library)]) + list(filter(None, [variables.get("LD_LIBRARY_PATH")]))
    environment = {**_ENVIRONMENT, **handed, **({"LD_LIBRARY_PATH": ":".join(folders)} if folders else {})}
    return _run(binary, arguments, environment, limit_s, wrapped=True)


def _folder(library: Path) -> str:
    """Where nvidia-smi is to look for ``library``; InputError for a name that it does not look for."""
    if library.name != LIBRARY_NAME:
        raise InputError(f"{library}: nvidia-smi loads a file named {LIBRARY_NAME} and no other")
    return str(library.absolute().parent)


def _run(
    binary: Path, arguments: Sequence[str], environment: Mapping[str, str], limit_s: float, hint: str = "", *, wrapped: bool = False
) -> SmiRun:
    """Run the binary with its streams in memory: bounded, read when it has ended, and never on a disk, where identifiers would stay.

    ``wrapped``: it may be a script that starts others, which are to have its bounds from the first and to end with it.
    """
    with _memory("stdout") as stdout, _memory("stderr") as stderr:
        try:
            process = subprocess.Popen(
                [str(binary.resolve()), *arguments], stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=environment, cwd="/",
                preexec_fn=_bounded if wrapped else None,  # noqa: PLW1509 - whoever asks a node's nvidia-smi has no threads
                process_group=0 if wrapped else None,
            )  # fmt: skip
        except OSError as error:
            raise MissingError(f"{binary}: cannot be started: {error.strerror}{hint}") from error
        try:
            if not wrapped:
                bound(process.pid, resource.RLIMIT_FSIZE, OUTPUT_LIMIT)
                bound(process.pid, resource.RLIMIT_CORE, 0)
            status = process.wait(watched(process.pid, limit_s))
        except BaseException as error:
            _end(process, group=wrapped)
            if isinstance(error, subprocess.TimeoutExpired):
                raise GateError(f"{binary} {' '.join(arguments)}: still running after {limit_s:g} s, ended") from None
            raise
        stdout.seek(0)
        stderr.seek(0)
        return SmiRun(status, stdout.read(OUTPUT_LIMIT), stderr.read(OUTPUT_LIMIT))


def _bounded() -> None:
    """What a process that is about to become the binary may write."""
    bound(os.getpid(), resource.RLIMIT_FSIZE, OUTPUT_LIMIT)
    bound(os.getpid(), resource.RLIMIT_CORE, 0)


def _end(process: subprocess.Popen[bytes], *, group: bool) -> None:
    """End ``process``, with all that it started where it leads a ``group``.

    One that the kernel does not let go (a driver that hangs) is left behind after a while.
    """
    if group:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    try:
        process.wait(watched(process.pid, ENDING_S))
    except subprocess.TimeoutExpired:
        process.returncode = -signal.SIGKILL  # as far as we are concerned: no warning that nobody waits for it


def _memory(name: str) -> BinaryIO:
    """A file that no folder holds and no disk."""
    return os.fdopen(os.memfd_create(f"nvparity-{name}"), "w+b")
