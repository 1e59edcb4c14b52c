"""Run a command on the mock: ``nvparity run PROFILE -- COMMAND...``.

The command gets the mock library first on its LD_LIBRARY_PATH, the profile's image and a state of its own; everything else (streams, folder,
environment, terminal) is the caller's.  Its exit status is ours, and a signal that ends it ends us.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.stages.smi import LIBRARY_NAME
from harness.words.errors import MissingError, UsageError

FORWARDED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True)
class Ending:
    """How a command ended: by its exit ``status`` (0 to 255), or by ``signal`` (its number) when that is not 0."""

    status: int
    signal: int = 0


def environment_for(library: Path, image: Path, state: Path, inherited: Mapping[str, str], unanswered: Path | None = None) -> dict[str, str]:
    """``inherited`` with the mock in it: LD_LIBRARY_PATH (the library's folder first), NVPARITY_IMAGE, MOCK_NVML_STATE.

    ``unanswered`` is the file in which the library counts calls that nothing known answers (NVPARITY_UNANSWERED); without one it counts none.
    An empty part of LD_LIBRARY_PATH means the current folder to the loader; none is made here.  Raises MissingError where that folder has no
    libnvidia-ml.so.1: the command would find another one, or none.
    """
    folder = library.resolve().parent
    if not (folder / LIBRARY_NAME).is_file():
        raise MissingError(f"{folder}: no {LIBRARY_NAME} in it, the name that programs load; have NVPARITY_LIBRARY name a file called so")
    folders = [str(folder), *filter(None, inherited.get("LD_LIBRARY_PATH", "").split(":"))]
    mock = {"LD_LIBRARY_PATH": ":".join(folders), "NVPARITY_IMAGE": str(image.resolve()), "MOCK_NVML_STATE": str(state.resolve())}
    if unanswered is not None:
        mock["NVPARITY_UNANSWERED"] = str(unanswered.resolve())
    return {**inherited, **mock}


def run_command(command: Sequence[str], environment: Mapping[str, str]) -> Ending:
    """Start ``command`` with ``environment``, hand it the signals sent to us, wait for its end.

    Signals that a process sends us are passed on.  What the terminal sends (Ctrl-C and its kin) reaches the command by itself, being of our
    process group; it is not sent twice, and we wait for what the command makes of it.  To be called from the main thread.

    Raises MissingError when the command cannot be started, UsageError when it has no name.
    """
    if not command[0]:
        raise UsageError("the command's name is empty")
    watched = {*FORWARDED, signal.SIGCHLD}
    # An inherited SIG_IGN for SIGCHLD would have the kernel drop the child's status; SIG_DFL still queues the blocked signal.
    old_handler = signal.signal(signal.SIGCHLD, _wake)
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        pid = _start(command, environment, old_mask)
        return _wait(pid, watched)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL if old_handler is None else old_handler)


def end_as(ending: Ending) -> int:
    """The status to exit with; for a command that a signal ended, the same signal ends this process.

    128 + the signal's number is returned where the signal does not end us (it is blocked or ignored by whoever started us).
    """
    if not ending.signal:
        return ending.status
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the command has left its core file, if any: ours would replace it
    if ending.signal not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(ending.signal, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {ending.signal})
    os.kill(os.getpid(), ending.signal)
    return 128 + ending.signal


def _wake(_number: int, _frame: object) -> None:
    """Receives nothing: SIGCHLD stays blocked and is taken by sigwaitinfo; a handler keeps it from being discarded."""


def _start(command: Sequence[str], environment: Mapping[str, str], mask: set[signal.Signals | int]) -> int:
    """The pid of the started command; it gets the caller's signal mask and the default action of what Python ignores."""
    python_ignores = [signal.SIGPIPE, signal.SIGXFSZ]
    try:
        return os.posix_spawnp(command[0], list(command), dict(environment), setsigmask=list(mask), setsigdef=python_ignores)
    except OSError as error:
        reason = "no such command" if error.errno == errno.ENOENT else os.strerror(error.errno or 0)
        raise MissingError(f"{command[0]}: {reason}") from error


def _wait(pid: int, watched: set[signal.Signals]) -> Ending:
    """Pass on signals until the command has ended."""
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return Ending(status=0, signal=-code) if code < 0 else Ending(status=code)
        received = signal.sigwaitinfo(watched)
        sent_by_process = received.si_code <= 0  # SI_USER and kin; the terminal's are SI_KERNEL, above 0 (sigaction(2))
        if received.si_signo != signal.SIGCHLD and sent_by_process:
            os.kill(pid, received.si_signo)
