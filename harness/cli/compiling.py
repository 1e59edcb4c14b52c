"""``nvparity compile``: profile to image."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli import options
from harness.stages.render import serving
from harness.stores.workspace import Workspace
from harness.words.errors import InputError


@click.command("compile")
@click.argument("profile", metavar="PROFILE")
@options.driver
@options.output_file
@options.root
def command(profile: str, driver: str | None, output: str | None, root: str | None) -> None:
    """Compile PROFILE (an id, a short name or a path) into the image that the mock library serves.

    Keys that are accepted and not served yet are named on standard error.
    """
    space = Workspace.nearby(root)
    source = space.locate_profile(profile)
    served = None if driver is None else serving.retargeted(source, space, driver)
    target = Path(output) if output else serving.beside(source) if served is None else serving.apart(source, served)
    if not options.plain(target):
        raise InputError(f"{target}: is no plain file; an image is written beside its place and renamed")
    serving.write_image(source, space, target, driver)
    options.tell(serving.unserved(source))
    options.tell(served.line if served is not None else "")
    click.echo(str(target))
