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
@options.clock
@options.trace_file
@options.root
def command(profile: str, view: str, clock: str | None, trace: str | None, root: str | None) -> None:
    """Print what nvidia-smi would print for PROFILE (an id, a short name or a path), from the mock library."""
    space = Workspace.nearby(root)
    rendered = serving.render(space.locate_profile(profile), space, view, wanted=options.clock_wanted(clock))
    sys.stdout.buffer.write(rendered.data)
    options.emit(trace, lambda: [vars(entry) for entry in rendered.trace])
