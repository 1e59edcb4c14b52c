"""``nvparity render``: what nvidia-smi would print."""

from __future__ import annotations

import sys

import click

from harness.cli import options
from harness.stages.render import serving
from harness.stores.workspace import Workspace


@click.command("render")
@click.argument("profile", metavar="PROFILE")
@click.option("--view", type=click.Choice(["q-x", "L"]), default="q-x", show_default=True, help="As nvidia-smi -q -x, or as nvidia-smi -L.")
@options.driver
@options.clock
@options.trace_file
@options.root
def command(profile: str, view: str, driver: str | None, clock: str | None, trace: str | None, root: str | None) -> None:
    """Print what nvidia-smi would print for PROFILE (an id, a short name or a path), from the mock library."""
    space = Workspace.nearby(root)
    source = space.locate_profile(profile)
    if driver is not None:
        options.tell(serving.retargeted(source, space, driver).line)
    rendered = serving.render(source, space, view, wanted=options.clock_wanted(clock), driver=driver)
    sys.stdout.buffer.write(rendered.data)
    options.emit(trace, lambda: [vars(entry) for entry in rendered.trace])
