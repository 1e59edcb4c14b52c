"""Commands on the overrides themselves: set, apply, export, reset."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from harness.cli import options
from harness.cli.ctl import shared
from harness.cli.ctl.shared import Call
from harness.stages.overriding import applying, arguments, document, putting
from harness.stages.overriding.document import Overrides
from harness.tables import strictyaml
from harness.words.errors import NvparityError, UsageError


@click.command("set", context_settings={"ignore_unknown_options": True})
@click.argument("pairs", metavar="KEY=VALUE...", nargs=-1)
@shared.command
def set_(call: Call, pairs: tuple[str, ...]) -> None:
    """Set keys of a GPU, named as in a profile: thermal.temperature_gpu_c=85, 'processes=[{pid: 7}]', failure=null.

    VALUE is YAML.  Mappings are merged into what is there, lists and scalars replace it, null takes the key or block away.  states.KEY=STATE has KEY
    answer a state.  Nothing is written unless all of it is right.
    """
    tree = arguments.pairs(pairs)
    node = call.node()
    target = call.target(node)
    written = putting.put(node, target, lambda _: tree, dry_run=call.dry_run)
    shared.put(call, node, target, written)


@click.command("apply")
@click.argument("path", metavar="[FILE]", required=False, type=click.Path(), callback=options.named)
@click.option("--watch", is_flag=True, help="Stay, and apply FILE again each time it changes.")
@shared.interval
@shared.command
def apply(call: Call, path: str | None, interval: float, *, watch: bool) -> None:
    """Put the override document FILE ('-': standard input) in force, in place of every override there is; without FILE that of --file or
    MOCK_NVML_OVERRIDES.

    Editing the document changes nothing until it is applied.  With --watch a document that cannot be read or is refused is told of, and what was in
    force stays; one that is taken away drops the overrides.
    """
    call.of_node()
    node = call.node()
    source = Path(path) if path is not None else call.places().document.path
    if source is None:
        raise UsageError("apply: no document: name a FILE, or --file DOC")
    if not watch:
        given = _given(source)
        putting.apply(node, given, str(source), dry_run=call.dry_run)
        shared.put(call, node, None, given)
        return
    if str(source) == "-" or call.dry_run:
        raise UsageError("apply --watch: follows a file, and writes what it says")
    for outcome in applying.follow(source, lambda given: putting.apply(node, given, str(source)), lambda: time.sleep(interval)):
        if isinstance(outcome, NvparityError):
            options.tell(f"{outcome}; what was in force stays")
        else:
            shared.put(call, node, None, outcome)


def _given(source: Path) -> Overrides:
    """The document in ``source``, '-' being standard input."""
    if str(source) != "-":
        return applying.read(source)
    return document.load(sys.stdin.buffer.read(strictyaml.MAX_BYTES + 1), "standard input")


@click.command("export")
@click.argument("path", metavar="[FILE]", required=False, type=click.Path(), callback=options.named)
@shared.command
def export(call: Call, path: str | None) -> None:
    """Write what is in force, by whomever it was set, as an override document: to FILE, else to standard output; apply puts it in force again."""
    call.of_node()
    overrides = putting.overrides(call.node())
    text = document.json_of(overrides) if call.as_json else document.dump(overrides)
    if call.dry_run and path is not None:
        shared.said(call, {"target": path, "dry_run": True, "changes": overrides.plain()}, f"dry run: {path} would be written")
        return
    options.deliver(path or "-", text.encode("utf-8", "backslashreplace"))


@click.command("reset")
@shared.command
def reset(call: Call) -> None:
    """Drop the overrides of the GPU of --gpu (all: those of all GPUs as one); without --gpu every override there is.

    What is set for all GPUs as one stays when a single GPU is reset.  The clock is no override, it goes on.
    """
    node = call.node()
    everything = call.gpu is None
    target = None if call.gpu is None else node.target(call.gpu)
    left = putting.reset(node, target, everything=everything, dry_run=call.dry_run)
    shared.done(call, "the node" if everything else shared.name_of(target), left.plain() if call.dry_run else None)
