"""``nvparity import``: a file that nvidia-smi wrote becomes a board."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import options
from harness.reports import document, imported
from harness.stages.importing import pipeline
from harness.stores.workspace import Workspace, check_id
from harness.words.errors import EXIT_GATE, EXIT_PARITY

if TYPE_CHECKING:
    from harness.stages.importing.pipeline import Imported


@click.command("import")
@click.argument("files", metavar="FILE [FILE]", nargs=-1, required=True, type=click.Path())
@click.option("--id", "name", metavar="ID", help="Name of the capture: letters, digits, '.', '_', '-' (default: <board>-x<count>_<driver>).")
@click.option("--source", metavar="TEXT", help="Where it comes from: repository=... commit=... path=... licence=..., or words.")
@click.option("--kind", type=click.Choice(["edited"]), help="The text was changed by hand: it is kept and read, not compared.")
@options.root
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON instead of in words.")
def command(files: tuple[str, ...], name: str | None, source: str | None, kind: str | None, root: str | None, as_json: bool) -> int:
    """Import what nvidia-smi wrote: a query (`nvidia-smi -q -x`), a list (`nvidia-smi -L`), or both of one node.

    Identifiers are replaced before anything is written. What the driver tree does not know of this driver version becomes a node of the
    workspace, printed for review. At the end the mock is rendered and compared: exit status 0 is parity.
    """
    space = Workspace.find(root)
    made = pipeline.run(space, [Path(file) for file in files], None if name is None else check_id(name), source, edited=kind == "edited")
    if as_json:
        options.emit("-", lambda: _document(made))
    else:
        for line in imported.lines(made, space.root):
            click.echo(line)
    return EXIT_PARITY if made.parity else EXIT_GATE


def _document(made: Imported) -> dict[str, Any]:
    return {
        "version": document.VERSION,
        "id": made.id,
        "kind": made.kind,
        "driver": made.driver,
        "readings": made.readings,
        "states": made.states,
        "unmodelled": made.unmodelled,
        "scrubbed": made.scrubbed,
        "node": None if made.learnt is None else {"version": made.learnt.version, "changes": list(made.learnt.changes)},
        "notes": list(made.notes),
        "residue": made.residue,
        "written": [str(path) for path in made.written],
        "check": document.check(made.cases),
    }
