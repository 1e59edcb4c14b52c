"""``nvparity scrub``: identifiers out of files that are to be handed on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.stages import scrubbing
from harness.words.errors import EXIT_GATE, EXIT_PARITY, NothingError, UsageError

if TYPE_CHECKING:
    from harness.stages.scrubbing import Left
    from harness.text.scrub import ScrubResult


@click.command("scrub")
@click.argument("files", metavar="FILE... | -", nargs=-1, required=True, type=click.Path())
@click.option("-o", "--output", metavar="DIR", type=click.Path(file_okay=False), help="Write the files into this folder, under their own names.")
@click.option("--check", is_flag=True, help="Change nothing: say where FILEs, or the files of folders, hold what looks like a real identifier.")
def command(files: tuple[str, ...], output: str | None, check: bool) -> int:
    """Replace the identifiers in FILE by placeholders and print it: UUIDs, serials, PDI, fabric and cluster ids, user and host names.

    Files of one node are scrubbed together with -o DIR: the same value gets the same placeholder in all of them.  What was replaced
    is told on standard error.

    With --check, each place is a line 'FILE:LINE: FAMILY' without the value, and exit status 1 says that there was one.
    """
    paths = [Path(name) for name in files]
    if check and output is not None:
        raise UsageError("--check writes nothing: it goes without -o")
    if check:
        return _check(paths)
    if output is None and len(paths) > 1:
        raise UsageError("several files are scrubbed together into a folder: name it with -o DIR")
    result = scrubbing.clean(paths)
    if output is None:
        sys.stdout.buffer.write(next(iter(result.files.values())))
    else:
        for path in scrubbing.write(result, Path(output)):
            click.echo(f"wrote {path}", err=True)
    click.echo(f"scrubbed: {_report(result)}", err=True)
    return _told(scrubbing.left(result.files), err=True)


def _check(paths: list[Path]) -> int:
    status = EXIT_PARITY
    number = 0
    for _, found in scrubbing.look(paths):
        number += 1
        status = max(status, _told(found))
    if not number:
        raise NothingError(f"{paths[0]}: no files in it")
    if status == EXIT_PARITY:
        click.echo(f"clean: {number} file{'s' * (number > 1)}, nothing that looks like a real identifier")
    return status


def _told(found: list[Left], *, err: bool = False) -> int:
    for left in found:
        click.echo(f"{left.file}:{left.line}: {left.family}", err=err)
    return EXIT_GATE if found else EXIT_PARITY


def _report(result: ScrubResult) -> str:
    """How many values of each family were replaced, and in how many places."""
    parts = [f"{family} {count} ({result.places.get(family, 0)} places)" for family, count in result.report.items() if count]
    return ", ".join(parts) or "nothing to scrub"
