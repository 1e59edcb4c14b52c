"""``nvparity run``: any program on the mock."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import click

from harness.cli import options
from harness.stages import running, unanswered
from harness.stages.overriding import applying, starting
from harness.stages.render import serving
from harness.stores.workspace import Workspace


@click.command("run")
@click.argument("profile", metavar="PROFILE")
@click.argument("arguments", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@options.driver
@options.clock
@click.option("--state", "kept", metavar="FILE", type=click.Path(), callback=options.named, help="Keep the state here; a state of PROFILE goes on.")
@click.option("--overrides", metavar="DOC", type=click.Path(), callback=options.named, help="An override document that COMMAND starts with.")
@click.option("--seed", metavar="N", type=click.IntRange(1, 2**64 - 1),
              help="What dynamic metrics without a seed of their own are drawn from (default: the time, when the state is made).")  # fmt: skip
@click.option("--as-user", is_flag=True, help="COMMAND is no root: functions that need it answer NO_PERMISSION.")
@options.root
def command(
    profile: str,
    arguments: tuple[str, ...],
    driver: str | None,
    clock: str | None,
    kept: str | None,
    overrides: str | None,
    seed: int | None,
    root: str | None,
    *,
    as_user: bool,
) -> int:
    """Run COMMAND with a mock library that serves PROFILE (an id, a short name or a path) and a state of its own.

    Exit status and signals are COMMAND's.  Options of nvparity stand before '--'.

    With --state the state is kept, and `nvparity ctl --state FILE` in another terminal changes what COMMAND sees.

    A profile made from a capture stands at the capture's instant; --clock lets its time go on, play for that of a recording with a time line.

    Keys of PROFILE that are accepted and not served yet are named on standard error; so are, at the end, calls that nothing known answers.
    """
    space = Workspace.nearby(root)
    source = space.locate_profile(profile)
    image = serving.image_of(source, space, driver)
    options.tell(serving.unserved(source))
    if driver is not None:
        options.tell(serving.retargeted(source, space, driver).line)
    wanted = options.clock_wanted(clock)
    chosen = None if wanted is None else serving.clock_of(image, wanted, source)
    given = None if overrides is None else applying.read(Path(overrides))
    with tempfile.TemporaryDirectory(prefix="nvparity-") as folder:
        state, counted = Path(folder) / "state" if kept is None else Path(kept).absolute(), Path(folder) / "unanswered"
        starting.start(starting.Served(source, image, driver, space), state, chosen, given, as_user=as_user,
                       seed=starting.Seed(seed, time.time_ns()))  # fmt: skip
        if kept is not None:
            options.tell(f"state: {state}; nvparity ctl --state {kept} changes what COMMAND sees")
        library = serving.library_of(source, space, driver)
        ending = running.run_command(arguments, running.environment_for(library, image, state, os.environ, counted))
        options.tell(unanswered.summary(unanswered.total(counted)))
    return running.end_as(ending)
