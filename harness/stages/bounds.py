"""What a program that we start may use at most."""

from __future__ import annotations

import contextlib
import resource


def bound(pid: int, kind: int, most: int) -> None:
    """Let the process ``pid`` have at most ``most`` of ``kind`` (resource.RLIMIT_FSIZE in bytes, ...); a lower limit of the caller's own stays.

    One that has ended already needs no bound.
    """
    with contextlib.suppress(ProcessLookupError):
        limits = [limit for limit in resource.prlimit(pid, kind) if limit != resource.RLIM_INFINITY]
        lowest = min([most, *limits])
        resource.prlimit(pid, kind, (lowest, lowest))
