"""``nvparity discover``: the devices of a node that something can be placed on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.discovery import environment, gathering, numbers, texts
from harness.reports import discovered
from harness.stores import captures
from harness.stores.references import near
from harness.stores.workspace import HELP, Workspace
from harness.words.errors import EXIT_GATE, EXIT_PARITY, InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.discovery.model import Gpu, Node
    from harness.discovery.texts import Texts

NVML, TEXT, CAPTURE = "nvml", "text", "capture"

references = click.argument("references", metavar="[REF]...", nargs=-1)
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
smi = click.option("--smi", metavar="PATH", type=click.Path(), callback=options.named, help="On a node: its nvidia-smi (default: the first on PATH).")
library = click.option(
    "--library",
    metavar="PATH",
    type=click.Path(),
    callback=options.named,
    help="On a node: the libnvidia-ml.so.1 to load (default: what the loader finds).",
)
compatible = click.option("--compatible", is_flag=True, help="Behave as the source of this discovery does, weak spots and all (docs/discovery.md).")


@click.command("discover")
@references
@click.option("--from", "source", type=click.Choice([TEXT, NVML, CAPTURE]), help="Where to look: texts of nvidia-smi, NVML, a capture.")
@click.option("--env", "indices", metavar="INDEX", multiple=True, help="Print the environment that makes this device visible; again for a group.")
@compatible
@smi
@library
@as_json
@options.root
def command(
    references: tuple[str, ...],
    source: str | None,
    indices: tuple[str, ...],
    compatible: bool,
    smi: str | None,
    library: str | None,
    as_json: bool,
    root: str | None,
) -> int:
    """List the devices of a node: whole cards and MIG instances, with number, label, class, memory and ids, and why one cannot be used.

    Exit status 1 says that nothing can be placed.

    \b
    REF is one of
      (none)         this node: what its nvidia-smi prints, with --from nvml what its library answers
      ID             a capture of the workspace (an id, a short name, or a board)
      FILE...        what nvidia-smi -L, -q -x, mig -lgi and mig -lci printed, told apart by content
      FOLDER         such files
    """  # noqa: D301 - click reads the backspace
    node = _node(references, source, root, smi, library, compatible=compatible)
    if indices:
        return _environment(node, indices, as_json=as_json)
    if as_json:
        click.echo(json.dumps(discovered.document(node), indent=2))
    else:
        for line in discovered.lines(node):
            click.echo(line)
    return EXIT_PARITY if node.placeable else EXIT_GATE


def _node(references: Sequence[str], source: str | None, root: str | None, smi: str | None, library: str | None, *, compatible: bool) -> Node:
    if source == NVML:
        if references or smi is not None:
            raise UsageError("--from nvml asks this node's library: leave out REF and --smi (--library PATH names another library)")
        from harness.discovery import binding

        return binding.discover(library, compatible=compatible)
    return texts.discover(texts_of(references, root, smi, library, source), compatible=compatible)


def texts_of(references: Sequence[str], root: str | None, smi: str | None, library: str | None, source: str | None = None) -> Texts:
    """The texts that REF means; InputError for one that means nothing, UsageError for options that do not go with it."""
    if not references:
        if source == CAPTURE:
            raise UsageError("--from capture needs the id of one; nvparity list has them")
        return gathering.of_node(os.environ, None if smi is None else Path(smi), None if library is None else Path(library).absolute())
    if smi is not None or library is not None:
        raise UsageError("--smi and --library are for the node at hand: leave them out, or REF")
    if "" in references:
        raise UsageError("an empty name: REF is a capture, a file or a folder")
    paths = [Path(reference) for reference in references]
    if source != CAPTURE and len(paths) == 1 and paths[0].is_dir():
        return gathering.of_folder(paths[0])
    if source != CAPTURE and all(path.is_file() or str(path) == "-" for path in paths):
        return gathering.of_files(paths)
    if len(references) > 1 or source == TEXT:
        missing = next((name for name in references if not Path(name).is_file()), references[-1])
        raise InputError(f"{missing!r} is no file; name the texts of one node, a folder that holds them, or one capture")
    space = Workspace.nearby(root)
    located = space.locate_capture(references[0])
    if located is None:
        raise InputError(f"{references[0]!r} is no capture, file or folder{near(references[0], [*space.ids(), *space.short_names()])}; {HELP}")
    holder, name = located
    return gathering.of_capture(captures.load(holder.captures, name))


def _environment(node: Node, indices: Sequence[str], *, as_json: bool) -> int:
    """Print the variables for the devices named by number or label."""
    chosen = [_named(node, index) for index in indices]
    made = environment.variables(chosen)
    if as_json:
        click.echo(json.dumps({"version": 1, "devices": [gpu.label for gpu in chosen], "environment": made}, indent=2))
    else:
        for name, value in made.items():
            click.echo(f"{name}={value}")
    return EXIT_PARITY


def _named(node: Node, index: str) -> Gpu:
    """The device of that number or label."""
    for gpu in node.gpus:
        if index in (str(gpu.index), gpu.label):
            return gpu
    known = [name for gpu in node.gpus for name in dict.fromkeys((str(gpu.index), numbers.label(gpu.index)))]
    there = f"there are {', '.join(gpu.label for gpu in node.gpus)}" if node.gpus else "the node has none"
    raise InputError(f"no device {index!r}{near(index, known)}; {there}")
