"""``nvparity run``: any program on the mock."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from harness.cli import options
from harness.stages import running
from harness.stages.render import serving
from harness.stores.workspace import Workspace


@click.command("run")
@click.argument("profile", metavar="PROFILE")
@click.argument("arguments", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@options.root
def command(profile: str, arguments: tuple[str, ...], root: str | None) -> int:
    """Run COMMAND with a mock library that serves PROFILE (an id, a short name or a path) and a state of its own.

    Exit status and signals are COMMAND's.  Options of nvparity stand before '--'.

    Keys of PROFILE that are accepted and not served yet are named on standard error.
    """
    space = Workspace.nearby(root)
    source = space.locate_profile(profile)
    image = serving.image_of(source, space)
    options.tell(serving.unserved(source))
    with tempfile.TemporaryDirectory(prefix="nvparity-") as folder:
        state = Path(folder) / "state"
        serving.make_state(image, state)
        ending = running.run_command(arguments, running.environment_for(serving.library(), image, state, os.environ))
    return running.end_as(ending)
