"""Commands on the node itself."""

from __future__ import annotations

import click

from harness.cli.ctl import shared
from harness.cli.ctl.shared import Call
from harness.words.errors import UsageError


@click.command("recipe")
@click.argument("name", metavar="[NAME]", required=False)
@shared.command
def recipe(call: Call, name: str | None) -> None:
    """Put a named fault in force on the GPUs of --gpu; without NAME, list those there are.

    A reset takes it away again.  A recipe of the node alone, or of every GPU, needs no --gpu.
    """
    from harness.stages.overriding import reciping
    from harness.stores import recipes

    if name is None:
        for known in recipes.names(call.space):
            click.echo(f"{known}: {recipes.find(call.space, known).shows}")
        return
    found = recipes.find(call.space, name)
    node = call.node()
    anywhere = call.gpu is None and (found.everywhere or not (found.keys or found.events))
    target = None if anywhere else call.target(node)
    written = reciping.put(node, found, target, dry_run=call.dry_run)
    shared.done(call, "the node" if not found.keys and found.node else shared.name_of(target), written.plain())


@click.command("privilege")
@click.argument("who", metavar="root|user", type=click.Choice(["root", "user"]))
@shared.command
def privilege(call: Call, who: str) -> None:
    """Whether callers are root (as a mock's are by default), or an ordinary user, whom functions that need root answer NO_PERMISSION."""
    from harness.stages.overriding import putting
    from mocklib import state

    if call.gpu is not None:
        raise UsageError("privilege: is of the node, it takes no --gpu")
    node = call.node()
    if not call.dry_run:
        putting.ensure(node)
        state.set_privilege(node.state, who == "user")
    shared.done(call, "the node", {"privilege": who})
