"""Which binary knows which write command: its own help says it, and docs/binaries.md repeats it."""

from __future__ import annotations

import re
from pathlib import Path

from harness.stages import smi

ROOT = Path(__file__).resolve().parents[2]
NO_BRANCH = 1000


def test_the_page_has_each_write_from_the_binary_on_whose_help_has_it(smi_binaries: dict[int, Path], library_path: Path) -> None:
    rows = re.findall(r"(?m)^\| `([^`]+)` \| (\d+|none) \|", (ROOT / "docs" / "binaries.md").read_text("utf-8").partition("## What writes")[2])
    assert len(rows) == 19
    for branch, binary in smi_binaries.items():
        helps = {words: smi.run_smi(binary, [*words, "-h"], library=library_path, variables={}).stdout.decode() for words in ((), ("nvlink",))}
        for command, start in rows:
            *words, option = command.split()
            known = re.search(rf"(?m)^\s+\[?{option}\b", helps[tuple(words)]) is not None
            assert known == (branch >= (NO_BRANCH if start == "none" else int(start))), f"{command} on {branch}"
