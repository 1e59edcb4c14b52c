"""What a program that we start may use at most, and for how long it is waited for."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import subprocess


def bound(pid: int, kind: int, most: int) -> None:
    """Let the process ``pid`` have at most ``most`` of ``kind`` (resource.RLIMIT_FSIZE in bytes, ...); a lower limit of the caller's own stays.

    One that has ended already needs no bound.
    """
    with contextlib.suppress(ProcessLookupError):
        limits = [limit for limit in resource.prlimit(pid, kind) if limit != resource.RLIM_INFINITY]
        lowest = min([most, *limits])
        resource.prlimit(pid, kind, (lowest, lowest))


def wait(child: subprocess.Popen[bytes], seconds: float) -> int:
    """The child's status as soon as it ends (Popen's own wait with a limit looks 20 times a second); TimeoutExpired after ``seconds``."""
    try:
        descriptor = os.pidfd_open(child.pid)
    except (AttributeError, OSError):  # a kernel or a C library before it
        return child.wait(seconds)
    try:
        ready = select.poll()
        ready.register(descriptor, select.POLLIN)
        if not ready.poll(seconds * 1000):
            raise subprocess.TimeoutExpired(child.args, seconds)
    finally:
        os.close(descriptor)
    return child.wait()
