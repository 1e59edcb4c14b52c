"""``python -m tests.parity.proofs_page``: what docs/proofs.md counts, counted again and written into it.

So are the figures of whole sanitized runs, where their accounts are in build/sanitized.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from harness.stores import captures
from harness.tables import drivers
from tests.faults.fault import read_all
from tests.parity import leave_one_out
from tests.parity.mutations_board import BOARDS, ROOT, SPACE
from tests.sanitized import figures

PAGE = ROOT / "docs" / "proofs.md"
BLOCK = re.compile(r"(?<=<!-- counted -->\n).*?(?=<!-- end -->)", re.DOTALL)
SANITIZED = re.compile(r"(?<=<!-- sanitized -->\n).*?(?=<!-- end -->)", re.DOTALL)
LINE = re.compile(r"^\| (.+) \| ([0-9]+) \|$", re.MULTILINE)


def counted() -> dict[str, int]:
    """What there is to prove things on, by the page's own words."""
    queries = [captures.load(SPACE.captures, name).query for name in BOARDS]
    return {
        "captures whose query is compared": len(BOARDS),
        "GPUs in them": sum(len(query.gpus) for query in queries if query is not None),
        "driver nodes": len(drivers.load(ROOT).nodes),
        "driver nodes seen by several captures": len(leave_one_out.by_driver()),
        "seeded faults": len(read_all(ROOT / "tests" / "faults")),
    }


def told(page: Path = PAGE) -> dict[str, int]:
    """What the page says it counted."""
    block = BLOCK.search(page.read_text("utf-8"))
    return {words: int(number) for words, number in LINE.findall(block.group() if block else "")}


def write(page: Path = PAGE) -> None:
    """Write the counts into the page, and what whole sanitized runs found where they are at hand."""
    lines = ["| counted | here |", "|---|---|", *(f"| {words} | {number} |" for words, number in counted().items())]
    text = BLOCK.sub(lambda _: "\n".join(lines) + "\n", page.read_text("utf-8"))
    ran = figures.rows()
    if ran:
        text = SANITIZED.sub(lambda _: "\n".join(ran) + "\n", text)
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    write()
    sys.exit(0)
