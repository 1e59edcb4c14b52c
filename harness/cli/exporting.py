"""``nvparity export``: a board as a file that another tool reads."""

from __future__ import annotations

import click

from harness.cli import options
from harness.reports import interchanged
from harness.stages import exporting
from harness.stores.workspace import Workspace
from harness.words.errors import did_you_mean


def _format(context: click.Context, option: click.Parameter, value: str) -> str:
    """The format itself; refuses one that is not known, with the nearest that is."""
    if value not in exporting.FORMATS:
        raise click.BadParameter(
            f"no format {value!r}{did_you_mean(value, exporting.FORMATS)}; known: {', '.join(exporting.FORMATS)}", context, option
        )
    return value


@click.command("export")
@click.argument("reference", metavar="REF")
@click.option(
    "--format", "form", metavar="FORMAT", required=True, callback=_format, help="dcgm-injection: the answers document of DCGM's NVML injection."
)
@click.option("-o", "--output", metavar="FILE", default="-", type=click.Path(), help="Where it goes (default: standard output).")
@options.root
def command(reference: str, form: str, output: str, root: str | None) -> None:  # noqa: ARG001 - one format is known
    """Write what the mock of REF (an id, a short name or a path) answers in another tool's format.

    dcgm-injection is the YAML document that DCGM's libnvml_injection.so reads (NVML_YAML_FILE). What it cannot say is left out, counted and named on
    standard error. The same REF gives the same bytes.
    """
    made = exporting.document(Workspace.nearby(root), reference)
    options.deliver(output, made.text.encode())
    for line in interchanged.written(made):
        options.tell(line)
