"""``nvparity derive``: profiles from their captures again."""

from __future__ import annotations

import click

from harness.cli import options
from harness.stages.importing import rederiving
from harness.stores.workspace import Workspace
from harness.words.errors import NothingError


@click.command("derive")
@click.argument("names", metavar="[ID]...", nargs=-1)
@options.ci
@options.root
def command(names: tuple[str, ...], root: str | None, *, ci: bool | None) -> None:
    """Derive the profile of each capture (all of them without ID) again, and its baseline, one line a capture.

    Nothing is replaced: what differs from the files at hand is pending until `nvparity review` or `nvparity accept`.
    """
    space = Workspace.find(root)
    chosen = space.select(names)
    if not chosen:
        raise NothingError(f"{space.captures}: no captures; nvparity import makes one")
    options.refuse_in_ci(ci, space, "derive")
    for one in rederiving.run(space, chosen):
        files = f": {', '.join(one.files)}" if one.files else ""
        waits = "; another proposal for it is pending, accept or reject that first" if one.outcome == rederiving.WAITS else ""
        click.echo(f"{one.outcome:<7} {one.id}{files}{waits}")
