"""Commands on the node itself."""

from __future__ import annotations

import click

from harness.cli.ctl import shared
from harness.cli.ctl.shared import Call
from harness.words.errors import UsageError


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
