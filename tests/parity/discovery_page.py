"""``python -m tests.parity.discovery_page``: the examples of docs/discovery.md, and what each file of raw captures yields, written into it again."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from pathlib import Path

from harness.cli import guard
from harness.discovery import gathering, rows, texts
from harness.stores.workspace import Workspace
from tests.parity.mutations_board import ROOT

PAGE = ROOT / "docs" / "discovery.md"
EXAMPLE = re.compile(r"(?<=```console\n)\$ nvparity (.*)\n(?:.*\n)*?(?=```\n)")
FILES = re.compile(r"(?<=<!-- files -->\n).*?(?=<!-- end -->)", re.DOTALL)
FOLDERS = ("L", "lgi", "qx", "q")
MIG_REPORTS = (b"<mig_device>", b"    MIG Device\n")


def ran(arguments: str) -> str:
    """What a command of the page prints, in an empty environment."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        guard.run([*arguments.split(), "--root", str(ROOT)])
    return out.getvalue()


def examples(page: str) -> dict[str, tuple[str, str]]:
    """Command -> what the page shows of it, and what it prints."""
    return {found[1]: (found[0].partition("\n")[2], ran(found[1])) for found in EXAMPLE.finditer(page)}


def files(captures: Path) -> list[Path]:
    """Every list, table of instances, and report of a card in MIG mode among the raw captures."""
    named = [path for folder in FOLDERS[:2] for path in sorted((captures / folder).iterdir())]
    reports = [path for folder in FOLDERS[2:] for path in sorted((captures / folder).iterdir())]
    return named + [path for path in reports if any(sign in path.read_bytes() for sign in MIG_REPORTS)]


def yielded(path: Path) -> tuple[str, str]:
    """What a file yields: how much of it, and what can be placed or why nothing can."""
    given = gathering.of_files([path])
    node = texts.discover(given)
    table = rows.read(given.gpu_instances or b"")
    if given.gpu_instances is not None:
        return _some(len(table.rows), "GPU instance"), ", ".join(f"{row.profile} at {row.placement}" for row in table.rows) or "none"
    cards = {gpu.card_index for gpu in node.gpus}
    devices = sum(gpu.is_mig for gpu in node.gpus)
    why = {problem for gpu in node.gpus for problem in gpu.health.problems}
    placed = ", ".join(f"{count} x {name}" for name, count in node.by_class().items())
    return f"{_some(len(cards), 'card')}, {_some(devices, 'instance')}", "; ".join([*([placed] if placed else []), *sorted(why)])


def _some(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count != 1 else ''}"


def table(captures: Path) -> str:
    """A line a file."""
    lines = ["| file | holds | placed, or why not |", "|---|---|---|"]
    lines += [f"| {path.parent.name}/{path.name} | {' | '.join(yielded(path))} |" for path in files(captures)]
    return "\n".join(lines) + "\n"


def write(page: Path = PAGE) -> None:
    """Write the examples, and with raw captures at hand the table, into the page."""
    text = EXAMPLE.sub(lambda found: f"$ nvparity {found[1]}\n{ran(found[1])}", page.read_text("utf-8"))
    if named := os.environ.get("NVPARITY_CAPTURES"):
        text = FILES.sub(lambda _: table(Path(named)), text)
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    os.chdir(Workspace.find(ROOT).root)
    write()
    sys.exit(0)
