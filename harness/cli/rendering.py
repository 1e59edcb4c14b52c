"""``nvparity render``: what nvidia-smi would print."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.stages import retargeting
from harness.stages.render import real, serving
from harness.stores import profiles
from harness.stores.workspace import Workspace
from harness.tables import drivers
from harness.words.errors import EXIT_GATE, EXIT_PARITY, MissingError, UsageError
from harness.words.version import DriverVersion

if TYPE_CHECKING:
    from pathlib import Path

    from harness.stages.binaries import Binaries, Binary


@click.command("render")
@click.argument("profile", metavar="PROFILE")
@click.option(
    "--view", type=click.Choice(["q-x", "q", "L"]), default="q-x", show_default=True, help="As nvidia-smi -q -x, nvidia-smi -q or nvidia-smi -L."
)
@click.option(
    "--display", metavar="SECTIONS", callback=options.named, help="With --view q: these sections alone, as nvidia-smi -q -d MEMORY,ECC prints them."
)
@options.driver
@options.renderer
@options.smi
@options.clock
@options.trace_file
@options.root
def command(
    profile: str,
    view: str,
    display: str | None,
    driver: str | None,
    renderer: str,
    smi: str | None,
    clock: str | None,
    trace: str | None,
    root: str | None,
) -> int:
    """Print what nvidia-smi would print for PROFILE (an id, a short name or a path), from the mock library.

    With --renderer smi a real nvidia-smi prints it: that of the branch of --driver, else of PROFILE's, else of the nearest older one; the profile is
    served as the binary's own version. Its time is the host's. What it writes on standard error comes through, and an exit status or signal that
    the profile does not account for is told and ends with status 1.
    """
    view = _sections(view, display)
    space = Workspace.nearby(root)
    source = space.locate_profile(profile)
    wanted = options.clock_wanted(clock)
    if renderer == "builtin":
        _refuse(smi)
        if driver is not None:
            options.tell(serving.retargeted(source, space, driver).line)
        rendered = serving.render(source, space, view, wanted=wanted, driver=driver)
        sys.stdout.buffer.write(rendered.data)
        options.emit(trace, lambda: [vars(entry) for entry in rendered.trace])
        return EXIT_PARITY
    if trace is not None:
        raise UsageError("--trace is of the builtin renderer: a real nvidia-smi does not say which calls it makes")
    printed = real.render(source, space, view, _binary(options.binaries_at(smi), source, space, driver), wanted)
    options.tell(printed.served.line)
    sys.stdout.buffer.write(printed.run.stdout)
    sys.stdout.flush()
    sys.stderr.buffer.write(printed.run.stderr)
    for what, said in printed.wrong.items():
        options.tell(f"nvidia-smi {printed.binary.version}: {what} {said}")
    return EXIT_GATE if printed.wrong else EXIT_PARITY


def _sections(view: str, display: str | None) -> str:
    """The view with the sections it is to print; UsageError where it has none."""
    if display is None:
        return view
    if view != "q":
        raise UsageError(f"--display is for --view q, not for {view}")
    return f"{view}:{display}"


def _refuse(smi: str | None) -> None:
    """Raise UsageError for a binary that nothing is printed by."""
    if smi is not None:
        raise UsageError("--smi goes with --renderer smi")


def _binary(binaries: Binaries, profile: Path, space: Workspace, driver: str | None) -> Binary:
    """The binary that prints ``profile``: of the driver asked for, else the one nearest to the profile's own.

    Raises MissingError where there is none of the driver asked for.
    """
    if driver is None:
        return binaries.nearest(DriverVersion(profiles.load(profile).driver_version).branch)
    branch = driver.isascii() and driver.isdecimal() and int(driver) in binaries
    version = None if branch else retargeting.version_of(driver, drivers.load(space.root))
    found = binaries.of(int(driver) if version is None else version.branch)
    if found is None or (version is not None and found.version != version.text):
        there = ", ".join(map(str, binaries)) if found is None else found.version
        raise MissingError(f"no nvidia-smi of driver {driver}; there is {there}: a binary is served its own version and no other")
    return found
