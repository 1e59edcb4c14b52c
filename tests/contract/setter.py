"""A writer in a process of its own: ``python -m tests.contract.setter LIBRARY LIMIT`` sets the power limit of device 0 and exits with the code."""

from __future__ import annotations

import sys

from mocklib import binding


def main(arguments: list[str]) -> int:
    """Set, and say the code by the exit status."""
    nvml = binding.open_library(arguments[0])
    if code := nvml.init():
        return code
    return nvml.call("nvmlDeviceSetPowerManagementLimit", nvml.device(0), {"limit": int(arguments[1])}).code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
