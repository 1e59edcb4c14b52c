"""The environment's variables that are ours, by name, and what is said of one that is none of them (docs/environment.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from harness.words.errors import did_you_mean

LIBRARY = (
    "MOCK_NVML_CONFIG", "MOCK_NVML_DEBUG", "MOCK_NVML_DEVICE_NODES", "MOCK_NVML_DRIVER_VERSION", "MOCK_NVML_EPOCH", "MOCK_NVML_NUM_DEVICES",
    "MOCK_NVML_OVERRIDES", "MOCK_NVML_PRIVILEGE", "MOCK_NVML_STATE", "MOCK_NVML_STRICT", "NVPARITY_COMPILER", "NVPARITY_IMAGE",
    "NVPARITY_UNANSWERED",
)  # fmt: skip
"""What the C library reads; it tells of values that it cannot use itself (src/environment.c)."""
INERT = ("MOCK_NVML_KMSG", "MOCK_NVML_OVERRIDES_TTL")
"""Variables of the reference that nothing here follows; the library says so."""
HARNESS = ("NVPARITY_CACHE", "NVPARITY_LIBRARY", "NVPARITY_NVML_HEADER", "NVPARITY_SMI")
"""What the commands and the build read."""
TESTS = (
    "NVPARITY_CAPTURES",
    "NVPARITY_CLIENTS",
    "NVPARITY_CONFIGS",
    "NVPARITY_DRAWN",
    "NVPARITY_KILL_AT",
    "NVPARITY_MUTATIONS",
    "NVPARITY_REQUIRE",
    "NVPARITY_SANITIZED",
)
"""What only tests and test builds read."""
PREFIXES = ("NVPARITY_", "MOCK_NVML_")
SHOWN = 64


def told(variables: Mapping[str, str]) -> list[str]:
    """One line for each variable whose name begins like ours and is none of ours, and for an epoch that cannot be read: both have no effect."""
    known = (*LIBRARY, *INERT, *HARNESS, *TESTS)
    lines = [f"{shown(name)}: is no variable of nvparity, and has no effect{did_you_mean(name, known)}"
             for name in sorted(variables) if name.startswith(PREFIXES) and variables[name] and name not in known]  # fmt: skip
    epoch = variables.get("MOCK_NVML_EPOCH", "")
    if epoch and not (re.fullmatch("[0-9]{1,10}", epoch, re.ASCII) and int(epoch)):
        lines.append(f"MOCK_NVML_EPOCH={shown(epoch)}: is no number of whole seconds since 1970, 1 to 9999999999; what adds up began when this host "
                     "started")  # fmt: skip
    return lines


def shown(text: str) -> str:
    """``text`` so that it stays one line of a bearable length, whatever stands in it."""
    cut = f"{text[:SHOWN]}..." if len(text) > SHOWN else text
    return "".join(letter if letter.isprintable() else "?" for letter in cut)
