"""``nvparity matrix``: which view of nvidia-smi works with which binary and profile."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from harness.cli import options
from harness.stages.matrix.running import Matrix
from harness.stores.workspace import Workspace
from harness.tables import views
from harness.words.errors import EXIT_GATE, EXIT_NOTHING, EXIT_PARITY


@click.command("matrix")
@click.argument("names", metavar="[PROFILE]...", nargs=-1)
@click.option(
    "--smi", metavar="PATH", type=click.Path(), callback=options.named, help="A real nvidia-smi, or a folder of BRANCH/nvidia-smi (see below)."
)
@click.option("--views", "wanted", metavar="NAMES", default=views.ALL, show_default=True, help="Names between commas, or all.")
@click.option("--page", metavar="FILE", type=click.Path(), callback=options.named, help="Also write the tables of docs/views.md ('-': here).")
@options.json_file
@options.root
def command(names: tuple[str, ...], smi: str | None, wanted: str, page: str | None, json_file: str | None, root: str | None) -> int:
    """Run every view of nvidia-smi with every binary on the mock of each PROFILE (an id, a short name or a path; all when none is given).

    Each profile is served as the driver of the binary's version. Each view is run twice, on memory filled otherwise and under a longer environment:
    exit status 1 says that one crashed, did not end, ended with a status that no table explains, or printed bytes that nobody wrote.

    The binaries are those of --smi, else of the variable NVPARITY_SMI, else build/smi of the checkout, where `nox -s smi` puts
    ten.
    """
    from harness.reports import matrix

    space = Workspace.nearby(root)
    chosen = views.choose(wanted)
    at_hand = options.binaries_at(smi)
    binaries = [found for found in map(at_hand.of, at_hand) if found is not None]
    profiles = {path.stem: path for path in map(space.locate_profile, names or space.profile_ids())}
    if not profiles:
        options.tell("no profile to run the matrix with")
        return EXIT_NOTHING
    with tempfile.TemporaryDirectory(prefix="nvparity-matrix-") as folder:
        cells = list(Matrix(space, profiles, binaries, chosen, Path(folder)).cells())
    branches = [binary.branch for binary in binaries]
    if "-" not in (page, json_file):
        sys.stdout.write(matrix.text(cells, branches, chosen))
    options.emit(json_file, lambda: matrix.document(cells, {binary.branch: binary.version for binary in binaries}))
    if page is not None:
        options.deliver(page, matrix.page(cells, branches, chosen).encode())
    return EXIT_GATE if any(cell.faults for cell in cells) else EXIT_PARITY
