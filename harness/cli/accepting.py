"""``nvparity accept``: what is proposed takes the place of what is there."""

from __future__ import annotations

import click

from harness.cli import options
from harness.stages.importing import staging
from harness.stages.review import deciding
from harness.stores import pending
from harness.stores.workspace import Workspace
from harness.words.errors import NothingError, UsageError


@click.command("accept")
@click.argument("names", metavar="[ID]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Accept all that is pending.")
@click.option("--unreferenced", is_flag=True, help="Remove the files that belong to no capture, as nvparity pending lists them.")
@click.option("--reason", metavar="TEXT", help="Why, kept in the golden (default: what the proposal says).")
@options.by
@options.ci
@options.root
def command(
    names: tuple[str, ...], reason: str | None, by: str | None, root: str | None, *, everything: bool, unreferenced: bool, ci: bool | None
) -> None:
    """Put each pending ID in place of what is there, all of them or none; the golden keeps by whom and why."""
    space = Workspace.find(root)
    if not names and not everything and not unreferenced:
        raise UsageError("accept what? name ids, or give --all or --unreferenced (nvparity pending lists them)")
    if names and everything:
        raise UsageError("either ids or --all")
    options.refuse_in_ci(ci, space, "accept")
    staging.sweep(space)  # a killed command may have taken a proposal away half
    chosen = pending.select(space, names) if names or everything else []
    if everything and not chosen:
        raise NothingError("nothing is pending")
    for proposal in deciding.accept(space, chosen, options.person(by), reason) if chosen else []:
        click.echo(f"accepted {proposal.id}: {proposal.why}")
    for path in deciding.remove_unreferenced(space) if unreferenced else []:
        click.echo(f"removed {path}")
