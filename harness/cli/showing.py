"""``nvparity show``: what a capture or profile holds."""

from __future__ import annotations

from typing import Any

import click

from harness.cli import options
from harness.reports import shown
from harness.stages.importing import inspecting
from harness.stores.workspace import Workspace


@click.command("show")
@click.argument("name", metavar="REF")
@options.root
@options.json_file
def command(name: str, root: str | None, json_file: str | None) -> None:
    """Say what REF (an id, a short name or a profile's path) holds: GPUs, driver and layout, readings, where it comes from, its hashes."""
    space = Workspace.nearby(root)
    found: dict[str, Any] = inspecting.inspect(space, name)
    if json_file != "-":
        for line in shown.lines(found):
            click.echo(line)
    options.emit(json_file, lambda: {"version": 1, **found})
