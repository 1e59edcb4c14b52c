"""``nvparity list``: captures and profiles by name."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from harness.cli import consoles, options
from harness.reports import catalogue as told
from harness.stages.showing import catalogue
from harness.stores.workspace import HELP, Workspace


@click.command("list")
@options.root
@options.json_file
def command(root: str | None, json_file: str | None) -> None:
    """List the captures and profiles of the workspace: driver, GPUs, kind and views of the capture, short names.

    Outside a workspace the boards shipped with nvparity are listed; inside one they can be named all the same.
    """
    space = Workspace.nearby(root)
    entries = catalogue.entries(space)
    if json_file != "-":
        if not entries:
            click.echo(f"nothing in {space.root}: {HELP.partition(', ')[2]}", err=True)
        for line in told.lines(entries, consoles.width_of(sys.stdout)) if entries else ():
            click.echo(line)
    options.emit(json_file, lambda: {"version": 1, "root": str(space.root), "names": [asdict(entry) for entry in entries]})
