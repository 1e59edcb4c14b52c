"""``nvparity pending``: what waits for a decision."""

from __future__ import annotations

from typing import Any

import click

from harness.cli import options
from harness.reports import reviewed
from harness.stages.compare import drift
from harness.stages.importing import staging
from harness.stages.review import deciding, differing
from harness.stores import pending
from harness.stores.workspace import Workspace


@click.command("pending")
@click.argument("names", metavar="[ID]...", nargs=-1)
@options.root
@options.json_file
def command(names: tuple[str, ...], root: str | None, json_file: str | None) -> None:
    """List what is proposed and not accepted yet, and files that belong to no capture.

    A proposal is a capture imported again, a profile that its capture no longer derives into, or a file of an older format.
    """
    space = Workspace.find(root)
    if not options.in_ci(None):
        staging.sweep(space)
    found: list[dict[str, Any]] = []
    for name in pending.select(space, names):
        proposal = pending.load(space, name)
        changes, stale, rejected = differing.of(space, proposal), deciding.stale(space, proposal), deciding.rejected_before(space, proposal)
        found.append(reviewed.document(proposal, changes, stale, rejected))
        if json_file != "-":
            for line in [*reviewed.heading(proposal, stale, rejected), *map(reviewed.summary, changes)]:
                click.echo(line)
    unreferenced = [] if names else [str(path) for path in drift.unreferenced(space)]
    if json_file != "-":
        for path in unreferenced:
            click.echo(f"unreferenced: {path} belongs to no capture (nvparity accept --unreferenced removes it)")
        click.echo(f"{len(found)} pending" + (": nvparity review, or accept and reject by id" if found else ""))
    options.emit(json_file, lambda: {"version": 1, "pending": found, "unreferenced": unreferenced})
