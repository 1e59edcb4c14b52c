"""A client in a process of its own: ``python -m tests.contract.asked LIBRARY`` answers ``[function, GPU or null, arguments]`` with code and out.

It initialises and asks for its handles once, before the first line; bytes come as numbers.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from mocklib import binding


def plain(value: Any) -> Any:
    """What JSON takes of a value."""
    return list(value) if isinstance(value, bytes) else value


def main(arguments: list[str]) -> int:
    """Answer until standard input ends."""
    nvml = binding.open_library(arguments[0])
    print(nvml.init(), flush=True)
    handles = [nvml.device(gpu) for gpu in range(nvml.count())]
    for line in sys.stdin:
        function, gpu, given = json.loads(line)
        answer = nvml.call(function, None if gpu is None else handles[gpu], given)
        print(json.dumps([answer.code, {name: plain(value) for name, value in answer.out.items()}]), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
