"""``nvparity doctor mig``: each card's MIG mode and instances, and the states in which nothing can run."""

from __future__ import annotations

import json

import click

from harness.cli import discovering, options
from harness.discovery import doctor
from harness.reports import discovered
from harness.words.errors import EXIT_GATE, EXIT_PARITY, did_you_mean


class Doctor(click.Group):
    """A group that names the nearest of its commands."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name in the message."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            raise click.UsageError(f"doctor has no command {args[0]!r}{did_you_mean(args[0], self.commands)}", ctx)
        return super().resolve_command(ctx, args)


@click.group("doctor", cls=Doctor)
def command() -> None:
    """Say what is wrong with a node."""


@command.command("mig")
@discovering.references
@discovering.compatible
@discovering.smi
@discovering.library
@discovering.as_json
@options.root
def mig(references: tuple[str, ...], compatible: bool, smi: str | None, library: str | None, as_json: bool, root: str | None) -> int:
    """List each card's MIG mode, devices, GPU and compute instances, with a warning for each state in which nothing, or not all, can run.

    Only cards that have a MIG mode are listed. REF is as for discover. Exit status 1 says that there is a warning.
    """
    cards = doctor.examine(discovering.texts_of(references, root, smi, library), compatible=compatible)
    if as_json:
        click.echo(json.dumps(discovered.doctor_document(cards), indent=2))
    else:
        for line in discovered.doctor_lines(cards):
            click.echo(line)
    return EXIT_GATE if any(card.warnings for card in cards) else EXIT_PARITY
