"""``nvparity check --live``: our rows and layouts held against the driver of this node."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click
from rich.text import Text

from harness.cli import consoles, options
from harness.reports import junit
from harness.reports import live as report
from harness.stages import live
from harness.stores.workspace import Workspace
from harness.words.errors import EXIT_GATE, EXIT_PARITY, MissingError, UsageError

smi = click.option(
    "--smi",
    metavar="PATH",
    type=click.Path(),
    callback=options.named,
    help="With --live: the node's nvidia-smi (default: the first on PATH). With --renderer smi: an nvidia-smi, or a folder of BRANCH/nvidia-smi "
    "(default: $NVPARITY_SMI, else build/smi of the checkout).",
)
library = click.option(
    "--library",
    metavar="PATH",
    type=click.Path(),
    callback=options.named,
    help="With --live: the node's libnvidia-ml.so.1 (default: what the loader finds).",
)
raw = click.option("--raw", is_flag=True, help="With --live: real identifiers in the report, which are scrubbed otherwise.")
flag = click.option(
    "--live", "on_node", is_flag=True, help="On a node with a driver: our render over its own library against its own nvidia-smi; no capture needed."
)


def check(root: str | None, smi: str | None, library: str | None, json_file: str | None, junit_file: str | None, *, raw: bool) -> int:
    """Check this node; 0 for parity, 1 for findings."""
    binary, opened = (None if name is None else Path(name) for name in (smi, library))
    found = live.check(live.Node(_nodes_of(root), os.environ, time.time, binary, opened), raw=raw)
    console = consoles.Whole(sys.stderr if "-" in (json_file, junit_file) else sys.stdout)
    for line in report.lines(found):
        console.print(Text(line))
    options.emit(json_file, lambda: report.document_of(found))
    if junit_file is not None:
        options.deliver(junit_file, junit.check([verdict.case for verdict in found.verdicts]))
    return EXIT_PARITY if found.parity else EXIT_GATE


def alone(names: tuple[str, ...], rules_file: str | None, ci: bool | None, renderer: str) -> None:
    """Raise UsageError for what has no meaning on a live node: it is no capture, no rule covers it, nothing is pending."""
    given = [*names, *(["--rules"] if rules_file is not None else []), *(["--ci"] if ci is not None else [])]
    given += [f"--renderer {renderer}"] if renderer != "builtin" else []
    if given:
        raise UsageError(f"--live checks this node alone: leave out {', '.join(given)}")


def refuse(smi: str | None, library: str | None, *, raw: bool) -> None:
    """Raise UsageError for options that go with --live alone."""
    if smi is not None or library is not None or raw:
        raise UsageError("--smi, --library and --raw go with --live, --smi with --renderer smi, too")


def _nodes_of(root: str | None) -> Path | None:
    """The workspace whose driver nodes count, None for the shipped ones alone."""
    try:
        return Workspace.find(root).root
    except MissingError:
        if root is not None:
            raise
        return None
