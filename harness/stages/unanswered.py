"""Calls of a command on the mock that nothing known answered: what the library counted of them, added up over the command's processes."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

NAMED = 2
"""Functions that the summary names; the others are counted."""
LINE = re.compile(rb"(\d{1,10}) (nvml\w{1,100})")


def total(path: Path) -> Counter[str]:
    """Function -> calls, of the file that NVPARITY_UNANSWERED named: lines `count name`, of every process in turn.

    Nothing for a file that is not there.  The command may write to it, too: what is no such line is passed over.
    """
    found: Counter[str] = Counter()
    if path.is_file():
        with path.open("rb") as lines:
            for line in lines:
                if matched := LINE.fullmatch(line.rstrip(b"\n")):
                    found[matched[2].decode("ascii", "replace")] += int(matched[1])
    return found


def summary(found: Counter[str]) -> str:
    """``12 calls without data: nvmlDeviceGetX (5), nvmlDeviceGetY (4), 2 more``, the most frequent first; empty where there are none."""
    if not found:
        return ""
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{name} ({count})" for name, count in ranked[:NAMED]]
    if len(ranked) > NAMED:
        parts.append(f"{len(ranked) - NAMED} more")
    calls = found.total()
    return f"{calls} call{'s' if calls != 1 else ''} without data: {', '.join(parts)}"
