"""``nvparity roundtrip``: does a file survive its transcript?"""

from __future__ import annotations

from pathlib import Path

import click

from harness.stages.importing import doors, roundtrip
from harness.words.errors import EXIT_GATE, EXIT_PARITY, InputError


@click.command("roundtrip")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
def command(files: tuple[str, ...]) -> int:
    """Read each FILE, write it again from its transcript, and print one line a file.

    'exact FILE: KIND, V of N lines kept verbatim' means the same bytes, V of its N lines not from facts but as they stood;
    'differs FILE:LINE' names the first line that is not the same.  What is no capture is told on standard error, and the
    others are read all the same; the exit status is the highest.
    """
    return max(_one(Path(name)) for name in files)


def _one(path: Path) -> int:
    """The line of one file; its exit status."""
    try:
        content = doors.read(path)
        trip = roundtrip.trip(content.data, content.name)
    except InputError as error:
        click.echo(f"nvparity: {error}", err=True)
        return error.exit_status
    if trip.differs is None:
        click.echo(f"exact {content.name}: {trip.kind}, {trip.verbatim} of {trip.lines} lines kept verbatim")
        return EXIT_PARITY
    click.echo(f"differs {content.name}:{trip.differs}")
    return EXIT_GATE
