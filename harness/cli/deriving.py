"""``nvparity derive``: profiles from their captures again."""

from __future__ import annotations

import click

from harness.cli import options
from harness.stages.importing import rederiving
from harness.stores.workspace import Workspace
from harness.words.errors import NothingError


@click.command("derive")
@click.argument("names", metavar="[ID]...", nargs=-1)
@options.root
def command(names: tuple[str, ...], root: str | None) -> None:
    """Write the profile of each capture (all of them without ID) again from its transcript, one line a profile.

    Nothing else is changed: whether the new profile still renders what the hardware printed is for `nvparity check` to say.
    """
    space = Workspace.find(root)
    chosen = space.select(names)
    if not chosen:
        raise NothingError(f"{space.captures}: no captures; nvparity import makes one")
    for path, changed in rederiving.run(space, chosen):
        click.echo(f"{'wrote' if changed else 'same '} {path.relative_to(space.root)}")
