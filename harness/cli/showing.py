"""``nvparity show``: what a capture, a file or a profile holds."""

from __future__ import annotations

from typing import Any

import click

from harness.cli import options
from harness.reports import readings as told
from harness.reports import shown
from harness.stages.importing import inspecting
from harness.stages.showing import readings, subjects
from harness.stores.workspace import Workspace


@click.command("show")
@click.argument("reference", metavar="REF[:PATH]")
@click.option("--origin", is_flag=True, help="Say of each reading where it comes from: element, row, route and basis, key, capture.")
@options.driver
@options.root
@options.json_file
def command(reference: str, origin: bool, driver: str | None, root: str | None, json_file: str | None) -> None:
    """Say what REF holds; with PATH, the readings that PATH names.

    \b
    REF is one of
      ID             a capture and its profile (an id, a short name, or a board)
      FILE           what nvidia-smi -q -x, -q or -L wrote ('-': standard input), or a profile (.yaml)
    PATH is one of
      gpu[0]/fb_memory_usage/total     an element; gpu[*], gpu[0-3], */ and **/ are wildcards
      temperature                      an element or a block by its name alone
      memory.total_bytes               a key of the profile, or a row; ecc.* is all of them
      nvmlDeviceGetNvLinkState         calls of the profile that are answered as recorded; nvml* is all of them
    """  # noqa: D301 - click reads the backspace
    space = Workspace.nearby(root)
    name, path = subjects.split(space, reference)
    if path is None and not origin and driver is None:
        _facts(space, name, json_file)
        return
    subject = subjects.read(space, name, driver)
    options.tell(subject.told)
    wanted = "**" if path is None else path
    found = readings.find(subject, wanted)
    if json_file != "-":
        for line in told.lines(subject, found, origin=origin):
            click.echo(line)
    options.emit(json_file, lambda: told.document(subject, wanted, found))


def _facts(space: Workspace, name: str, json_file: str | None) -> None:
    """What the whole of it is."""
    path = subjects.file_of(name)
    found: dict[str, Any] = subjects.facts(space, path) if path is not None else inspecting.inspect(space, name)
    if json_file != "-":
        for line in told.facts(found) if path is not None else shown.lines(found):
            click.echo(line)
    options.emit(json_file, lambda: {"version": 1, **found})
