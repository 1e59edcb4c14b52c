"""``nvparity reject``: what is proposed goes, and the reason stays."""

from __future__ import annotations

import click

from harness.cli import options
from harness.stages.importing import staging
from harness.stages.review import deciding
from harness.stores import pending
from harness.stores.workspace import Workspace


@click.command("reject")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@click.option("--reason", metavar="TEXT", required=True, help="Why, kept in the golden.")
@options.by
@options.ci
@options.root
def command(names: tuple[str, ...], reason: str, by: str | None, root: str | None, *, ci: bool | None) -> None:
    """Take each pending ID away, all of them or none; the golden keeps by whom and why, and says so when the same is proposed again."""
    space = Workspace.find(root)
    options.refuse_in_ci(ci, space, "reject")
    staging.sweep(space)  # a killed command may have taken a proposal away half
    for proposal, kept in deciding.reject(space, pending.select(space, names), options.person(by), reason):
        click.echo(f"rejected {proposal.id}: {reason}" + ("" if kept else " (it has no golden, so the reason is kept nowhere)"))
