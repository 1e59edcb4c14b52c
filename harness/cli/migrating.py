"""``nvparity migrate``: files of the format before."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli import options
from harness.stages.review import migrating
from harness.stores.workspace import Workspace
from harness.words import fileformat
from harness.words.errors import EXIT_GATE, EXIT_PARITY


@click.command("migrate")
@click.argument("path", metavar="[PATH]", required=False, type=click.Path())
@click.option("--check", "only_check", is_flag=True, help="Only list what would be rewritten; exit status 1 if there is anything.")
@options.ci
@options.root
def command(path: str | None, root: str | None, *, only_check: bool, ci: bool | None) -> int:
    """Rewrite the files of the format before, all of the workspace or those at PATH, in the format that this nvparity writes.

    All are rewritten or none. A golden, baseline or profile that would then say something else is pending instead, until `nvparity review` or
    `nvparity accept`. Files of a newer format need a newer nvparity; of one older than the one before, the nvparity between.
    """
    space = Workspace.find(root)
    if not only_check:
        options.refuse_in_ci(ci, space, "migrate")
    found = migrating.find(space, None if path is None else Path(path))
    if not only_check and found:
        migrating.run(space, found)
    for old in found:
        done = "pending" if old.proposed else "would rewrite" if only_check else "rewrote"
        click.echo(f"{done} {old.file}: {old.kind}, format {old.number} -> {fileformat.FORMATS.current}")
    if not found:
        click.echo(f"nothing to do: every file is of format {fileformat.FORMATS.current}")
    return EXIT_GATE if only_check and found else EXIT_PARITY
