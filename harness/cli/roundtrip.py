"""``nvparity roundtrip``: does a file survive its transcript?"""

from __future__ import annotations

from pathlib import Path

import click

from harness.stages.importing import roundtrip
from harness.words.errors import EXIT_GATE, EXIT_PARITY, InputError


@click.command("roundtrip")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
def command(files: tuple[str, ...]) -> int:
    """Read each FILE, write it again from its transcript, and print one line a file.

    'exact FILE: KIND, V of N lines kept verbatim' means the same bytes, V of its N lines not from facts but as they stood;
    'differs FILE:LINE' names the first line that is not the same.
    """
    differing = False
    for name in files:
        path = Path(name)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise InputError(f"{name}: cannot be read: {error.strerror}") from error
        trip = roundtrip.trip(data, name)
        if trip.differs is None:
            click.echo(f"exact {name}: {trip.kind}, {trip.verbatim} of {trip.lines} lines kept verbatim")
        else:
            click.echo(f"differs {name}:{trip.differs}")
            differing = True
    return EXIT_GATE if differing else EXIT_PARITY
