"""``nvparity check``: the gate."""

from __future__ import annotations

import sys

import click
from rich.console import Console

from harness.cli import options
from harness.reports import document, table
from harness.stages.compare import check, drift
from harness.stores.workspace import Workspace
from harness.words.errors import EXIT_GATE, EXIT_PARITY, NothingError


class _Console(Console):
    """A console whose reader may leave: that is for the guard to end, not for the console with a status of its own."""

    def on_broken_pipe(self) -> None:
        """Raise again what the console was about to end the program for."""
        raise  # noqa: PLE0704 - called while BrokenPipeError is handled


@click.command("check")
@click.argument("names", metavar="[ID]...", nargs=-1)
@options.root
@click.option("--renderer", type=click.Choice(["builtin"]), default="builtin", show_default=True, help="What writes the text from the library.")
@options.json_file
def command(names: tuple[str, ...], root: str | None, renderer: str, json_file: str | None) -> int:
    """Render each capture (all of them without ID) from the mock library and compare it with what the real node printed.

    Hashes decide; where they differ, every difference is listed.  Without ID, files that
    belong to no capture fail the gate too.  Exit status 0 is parity: no finding left.
    """
    space = Workspace.find(root)
    chosen = space.select(names)
    if not chosen:
        raise NothingError(f"{space.captures}: no captures; nvparity import makes one")
    cases = check.check(space, chosen, renderer)
    orphans = [] if names else drift.of_workspace(space)
    stream = sys.stderr if json_file == "-" else sys.stdout
    table.check(cases, _Console(file=stream, soft_wrap=True), orphans)
    options.emit(json_file, lambda: document.check(cases, orphans))
    return EXIT_PARITY if all(case.parity for case in cases) and not orphans else EXIT_GATE
