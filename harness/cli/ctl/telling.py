"""Commands that say what there is."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from typing import Any

import click

from harness.cli.ctl import shared
from harness.cli.ctl.shared import Call
from harness.stages.overriding import document
from harness.words.errors import UsageError, did_you_mean

NOTHING = "no active overrides"


@click.command("status")
@shared.command
def status(call: Call) -> None:
    """Say where state, image and profile are and what the state draws from, on lines that start with '#', then what is overridden, as a document.

    With --gpu it is what is over one GPU.
    """
    from harness.stages.overriding import putting

    if call.gpu is not None and not (call.gpu.isascii() and call.gpu.isdigit()):
        raise UsageError(f"status: --gpu {call.gpu!r} is no index of a GPU")
    found = call.places()
    overrides, seed = putting.kept(found, call.space), putting.seed_of(found)
    if call.gpu is not None:
        overrides = overrides.only(int(call.gpu))
    if call.as_json:
        told: dict[str, Any] = {"version": 1}
        for name, place in (("state", found.state), ("image", found.image), ("profile", found.profile), ("document", found.document)):
            told[name] = {"path": None if place.path is None else str(place.path), "by": place.by}
        told["seed"] = seed
        click.echo(json.dumps({**told, "overrides": overrides.plain()}, ensure_ascii=False))
        return
    for line in found.lines():
        click.echo(f"# {line}")
    if seed is not None:
        click.echo(f"# seed: {seed}")
    click.echo(document.dump(overrides) if overrides else NOTHING, nl=not overrides)


@click.command("watch")
@shared.interval
@click.option("--count", metavar="N", type=click.IntRange(1), help="End after N looks (default: go on until Ctrl-C).")
@shared.command
def watch(call: Call, interval: float, count: int | None) -> None:
    """Show the GPUs' readings as clients get them, again and again; --json: a line of JSON each time."""
    from rich.live import Live

    from harness.cli.consoles import Whole
    from harness.reports import watched
    from harness.stages.overriding import watching
    from harness.stages.render import serving
    from mocklib import binding

    call.of_node()
    node = call.node()
    os.environ.update({"NVPARITY_IMAGE": str(call.places().image.path), "MOCK_NVML_STATE": str(node.state)})
    nvml = binding.open_library(serving.library())
    console = Whole(sys.stdout)
    live = Live(console=console, auto_refresh=False, transient=False) if console.is_terminal and not call.as_json else None
    with live if live is not None else contextlib.nullcontext():
        for number in range(count or sys.maxsize):
            if number:
                time.sleep(interval)
            rows = watching.frame(nvml)
            if call.as_json:
                click.echo(json.dumps({"version": 1, "columns": ["GPU", *(column.title for column in watching.COLUMNS)], "rows": rows}))
            elif live is not None:
                live.update(watched.table(rows, str(node.state)), refresh=True)
            else:
                made = watched.table(rows)
                console.width = max(console.width, watched.width(console, made))
                console.print(made)


@click.command("help", context_settings={"ignore_unknown_options": True})
@click.argument("name", metavar="[COMMAND]", required=False)
@click.pass_context
def help_(context: click.Context, name: str | None) -> None:
    """Print the overview, or what COMMAND takes."""
    parent = context.parent
    group = None if parent is None else parent.command
    if parent is None or not isinstance(group, click.Group):
        raise UsageError("help: is a command of nvparity ctl")
    if name is None:
        click.echo(parent.get_help())
        return
    wanted = group.get_command(parent, name)
    if wanted is None:
        raise UsageError(f"help: no command {name!r}{did_you_mean(name, group.list_commands(parent))}")
    click.echo(wanted.get_help(click.Context(wanted, info_name=name, parent=parent)))
