"""``python asker.py LIBRARY``: ask a library the whole list of getters twice, in a process of its own so that it can run under a sanitizer's runtime.

Prints how many answers there were; ends with status 1 where the two recordings differ.
"""

from __future__ import annotations

import sys

from mocklib import asking, binding


def main(path: str) -> int:
    """Ask twice and compare."""
    nvml = binding.open_library(path)
    if code := nvml.init():
        print(f"nvmlInit_v2 answers {code}")
        return 1
    first, second = asking.ask(nvml), asking.ask(nvml)
    nvml.shutdown()
    print(f"{len(first)} answers")
    return 0 if list(first.items()) == list(second.items()) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
