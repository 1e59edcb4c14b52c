"""``python -m tests.smi.asked LIBRARY``: ask a library the whole list of getters, in a process of its own; the answers as text."""

from __future__ import annotations

import sys

from harness.text import answers
from mocklib import asking, binding

if __name__ == "__main__":
    nvml = binding.open_library(sys.argv[1])
    sys.stderr.write(f"{nvml.init()}\n")
    sys.stdout.write(answers.dump(asking.ask(nvml)))
