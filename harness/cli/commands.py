"""The commands by name, each in a module that is imported only when it runs, and ``nvparity --help``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import click

from harness import __version__
from harness.words.errors import EXIT_TABLE, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

TABLE: dict[str, tuple[str, str]] = {
    "check": ("checking", "Render captures from the mock library, compare with the original."),
    "import": ("importing", "Make capture, profile and golden hashes from nvidia-smi's output."),
    "record": ("recording", "Record this node: nvidia-smi's views and every answer of NVML."),
    "roundtrip": ("roundtrip", "Write files again from their facts; are the bytes the same?"),
    "scrub": ("scrubbing", "Replace the identifiers in files, or look for some that are left."),
    "render": ("rendering", "Print what nvidia-smi would print, from the mock library."),
    "compile": ("compiling", "Compile a profile into the image that the library serves."),
    "run": ("running", "Run a command with a mock library that serves a profile."),
    "ctl": ("ctl", "Change what a mock serves while it runs."),
    "matrix": ("matrix", "Run all views of real nvidia-smi binaries on profiles."),
    "derive": ("deriving", "Derive profiles again from their captures; what differs is pending."),
    "pending": ("pending", "List what is proposed and not accepted yet."),
    "review": ("reviewing", "Walk through what is pending: accept, reject or skip."),
    "accept": ("accepting", "Put what is pending in place of what is there."),
    "reject": ("rejecting", "Take what is pending away, and keep the reason."),
    "migrate": ("migrating", "Rewrite files of the format before."),
    "show": ("showing", "Say what a capture or profile holds."),
    "diff": ("differing", "Compare two captures, profiles or renders."),
    "discover": ("discovering", "List the devices of a node that something can be placed on."),
    "doctor": ("doctoring", "Say what is wrong with a node's MIG devices."),
    "export": ("exporting", "Write what a board answers in another tool's format."),
    "list": ("listing", "List captures and profiles."),
    "schema": ("publishing", "Print a JSON Schema for editors, or the table of a profile's keys."),
}
"""Name -> module of this package that holds ``command``, and the line of the overview."""


def epilog() -> str:
    """The exit statuses as the last part of the overview."""
    return "\n".join(("\b", "Exit status:", *(f"  {status:>3}  {meaning}" for status, meaning in EXIT_TABLE)))


class Commands(click.Group):
    """A group that imports a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Every name, in the order of the table."""
        return list(TABLE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command of that name, or None."""
        if cmd_name not in TABLE:
            return None
        module = importlib.import_module(f"harness.cli.{TABLE[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name in the message."""
        if args and args[0] not in TABLE and not args[0].startswith("-"):
            raise click.UsageError(f"no command {args[0]!r}{did_you_mean(args[0], TABLE)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """The overview's list, from the table: no command is imported for it."""
        with formatter.section("Commands"):
            formatter.write_dl(_rows())


def _rows() -> Iterable[tuple[str, str]]:
    return [(name, line) for name, (_, line) in TABLE.items()]


@click.group(cls=Commands, epilog=epilog(), context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="nvparity")
def cli() -> None:
    """Serve captured GPUs through a mock NVML and prove the copy against the capture, hash for hash.

    Without --root a command works on the nearest folder upward that holds captures/ and golden/.
    """
