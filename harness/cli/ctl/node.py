"""Commands on the node itself."""

from __future__ import annotations

import time

import click

from harness.cli.ctl import shared
from harness.cli.ctl.shared import Call


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
        listed = {known: recipes.find(call.space, known).shows for known in recipes.names(call.space)}
        shared.said(call, {"recipes": listed}, "\n".join(f"{known}: {shows}" for known, shows in listed.items()))
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

    call.of_node()
    node = call.node()
    if not call.dry_run:
        putting.ensure(node)
        state.set_privilege(node.state, who == "user")
    shared.done(call, "the node", {"privilege": who})


@click.command("clock", context_settings={"ignore_unknown_options": True})
@click.argument("wanted", metavar="[freeze [AT] | scale X | step DURATION | real]", nargs=-1)
@shared.command
def clock(call: Call, wanted: tuple[str, ...]) -> None:
    """Change the node's time for every process: freeze it (at AT: 2026-08-21T08:54:01Z), have it run X times as fast, step it on by DURATION (90s,
    1h) and hold it, or go by the real clock; without a word, say what it is.

    Counters, energy and metrics go on from where they are.  The clock is no override: a reset leaves it.
    """
    from harness.stages import clocking
    from harness.stages.overriding import putting
    from mocklib import state

    call.of_node()
    node, real_ns = call.node(), time.time_ns()
    if wanted:
        changed = clocking.change(wanted)
    there = state.read(node.state).node.clock if state.there(node.state) else node.view.clock
    if not wanted:
        shared.said(call, {"clock": clocking.said(there, real_ns)}, clocking.said(there, real_ns))
        return
    if call.dry_run:
        made = changed(there, real_ns)
    else:
        putting.ensure(node)
        made = clocking.turn(node.state, wanted, real_ns)
    shared.done(call, "the node", {"clock": clocking.said(made, real_ns)})
