"""``nvparity run``: any program on the mock."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from harness.cli import options
from harness.stages import running, unanswered
from harness.stages.render import serving
from harness.stores.workspace import Workspace


@click.command("run")
@click.argument("profile", metavar="PROFILE")
@click.argument("arguments", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@options.driver
@options.clock
@options.root
def command(profile: str, arguments: tuple[str, ...], driver: str | None, clock: str | None, root: str | None) -> int:
    """Run COMMAND with a mock library that serves PROFILE (an id, a short name or a path) and a state of its own.

    Exit status and signals are COMMAND's.  Options of nvparity stand before '--'.

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
    with tempfile.TemporaryDirectory(prefix="nvparity-") as folder:
        state, counted = Path(folder) / "state", Path(folder) / "unanswered"
        serving.make_state(image, state, chosen)
        library = serving.library_of(source, space, driver)
        ending = running.run_command(arguments, running.environment_for(library, image, state, os.environ, counted))
        options.tell(unanswered.summary(unanswered.total(counted)))
    return running.end_as(ending)
