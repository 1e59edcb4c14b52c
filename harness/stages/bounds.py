"""What a program that we start may use at most, and for how long it is waited for."""

from __future__ import annotations

import contextlib
import os
import resource
import select


def bound(pid: int, kind: int, most: int) -> None:
    """Let the process ``pid`` have at most ``most`` of ``kind`` (resource.RLIMIT_FSIZE in bytes, ...); a lower limit of the caller's own stays.

    One that has ended already needs no bound.
    """
    with contextlib.suppress(ProcessLookupError):
        limits = [limit for limit in resource.prlimit(pid, kind) if limit != resource.RLIM_INFINITY]
        lowest = min([most, *limits])
        resource.prlimit(pid, kind, (lowest, lowest))


def watched(pid: int, seconds: float) -> float:
    """Wait until the child ``pid`` has ended, for ``seconds`` at most; how long it is still to be waited for.

    That is 0, or all of it where the kernel does not say when a process ends (Popen's own wait with a limit looks 20 times a second).
    """
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):  # a kernel or a C library before it
        return seconds
    try:
        ready = select.poll()
        ready.register(descriptor, select.POLLIN)
        ready.poll(seconds * 1000)
    finally:
        os.close(descriptor)
    return 0.0
