"""A reader in a process of its own: ``python -m tests.contract.reader LIBRARY SECONDS`` reads one field again and again and prints what it saw.

Each line is a value; the last one says how long the slowest read took, in microseconds of this thread's own processor time, so that a busy machine
does not count.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from mocklib import binding


def main(arguments: list[str]) -> int:
    """Read until the file named last appears."""
    nvml = binding.open_library(arguments[0])
    assert nvml.init() == 0
    device = nvml.ffi.cast("nvmlDevice_t", nvml.device(0))
    limit = nvml.ffi.new("unsigned int *")
    function = nvml.library.nvmlDeviceGetEnforcedPowerLimit
    end, seen, slowest = Path(arguments[1]), set(), 0
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    ended = False
    while not ended:  # one more round after the end: what was set last must be seen
        ended = end.exists()
        for _ in range(2000):
            start = time.thread_time_ns()
            code = function(device, limit)
            slowest = max(slowest, time.thread_time_ns() - start)
            seen.add((code, int(limit[0])))
    for code, value in sorted(seen):
        sys.stdout.write(f"{code} {value}\n")
    sys.stdout.write(f"slowest {slowest // 1000}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
