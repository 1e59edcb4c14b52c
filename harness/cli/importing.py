"""``nvparity import``: files that nvidia-smi wrote, and answers documents of other tools, become boards."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from harness.cli import options
from harness.reports import imported
from harness.stages.compare import sides
from harness.stages.importing import pipeline, sources
from harness.stores.workspace import Workspace, check_id
from harness.words.errors import EXIT_GATE, EXIT_PARITY, NothingError, UsageError


@click.command("import")
@click.argument("files", metavar="FILE [FILE] | DIR | -", nargs=-1, required=True, type=click.Path())
@click.option("--id", "name", metavar="ID", help="Name of the capture: letters, digits, '.', '_', '-' (default: <board>-x<count>_<driver>).")
@click.option("--source", metavar="TEXT", help="Where it comes from: repository=... commit=... path=... licence=..., or words.")
@click.option("--kind", type=click.Choice(["edited"]), help="The text was changed by hand: it is kept and read, not compared.")
@click.option("--pending", "propose", is_flag=True, help="Propose the capture (nvparity review) instead of writing it.")
@click.option("--compare", "earlier", metavar="REF", help="Also say what changed since another capture, say of the driver before.")
@options.ci
@options.root
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON instead of in words.")
def command(
    files: tuple[str, ...],
    name: str | None,
    source: str | None,
    kind: str | None,
    root: str | None,
    earlier: str | None,
    *,
    propose: bool,
    ci: bool | None,
    as_json: bool,
) -> int:
    """Import what nvidia-smi wrote: a query (`nvidia-smi -q -x`), its text (`nvidia-smi -q`, of `-d MEMORY,ECC` too), a list (`nvidia-smi -L`), alone
    or those of one node.

    '-' is standard input. A file may be packed with gzip, or be a bug report that holds the XML or the text. Of a folder every capture is imported,
    each told apart by its bytes; a MANIFEST.tsv in it says where they come from. An answers document of DCGM's NVML injection is known by its
    content, too, and becomes a capture of exactly the answers it holds. A folder that `nvparity record` filled on a node is taken over
    as it is.

    Identifiers are replaced before anything is written. What the driver tree does not know of this driver version becomes a node of the
    workspace, printed for review. At the end the mock is rendered and compared: exit status 0 is parity. With the ID of a capture that is there,
    nothing is replaced: what is another now is pending until `nvparity review` or `nvparity accept`.
    """
    space = Workspace.find(root)
    options.refuse_in_ci(ci, space, "import")
    given = [Path(file) for file in files]
    if any(path.is_dir() for path in given):
        if earlier is not None:
            raise UsageError("--compare is for one capture; import the folder without it")
        return _folder(space, given, name, source, kind == "edited", propose, as_json)
    chosen = None if name is None else check_id(name)
    before = None if earlier is None else sides.read(space, earlier)
    made = pipeline.run(space, given, chosen, source, edited=kind == "edited", propose=propose, earlier=before)
    if as_json:
        options.emit("-", lambda: imported.to_json(made))
    else:
        for line in imported.lines(made, space.root):
            click.echo(line)
    return EXIT_PARITY if made.parity else EXIT_GATE


def _folder(space: Workspace, given: list[Path], name: str | None, source: str | None, edited: bool, propose: bool, as_json: bool) -> int:
    """Import a folder; the highest exit status of its imports."""
    from rich.console import Console  # not before a folder is asked for: one file needs none of it

    from harness.cli import consoles
    from harness.reports import folder as folder_report
    from harness.stages.importing import bundle, folder

    if len(given) > 1:
        raise UsageError("a folder is imported alone; give one folder, or files")
    if name is not None:
        raise UsageError("--id names one capture; those of a folder get the names that are proposed")
    recorded = bundle.find(given[0])
    planned = None if recorded else folder.plan(given[0], sources.parse(source), edited=edited)
    total = len(recorded) if planned is None else planned.total
    made = folder.recordings(space, given[0], recorded, propose=propose) if planned is None else folder.run(space, planned, propose=propose)
    done = folder_report.watched(made, total, Console(stderr=True))
    outcomes = [*done, *(() if planned is None else planned.settled)]
    if not outcomes:
        raise NothingError(f"{given[0]}: no files in it")
    if as_json:
        options.emit("-", lambda: folder_report.to_json(outcomes))
    else:
        folder_report.summary(outcomes, consoles.Whole(sys.stdout))
    return max((outcome.status for outcome in outcomes), default=EXIT_PARITY)
