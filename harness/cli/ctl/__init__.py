"""``nvparity ctl``: change what a mock serves while it runs."""

from __future__ import annotations

import importlib
from typing import Any

import click

from harness.cli.ctl import shared
from harness.words.errors import NvparityError, did_you_mean

WORDS = "nvparity.ctl.words"
"""Where a context keeps the command's name and what stands behind it."""

TABLE: dict[str, tuple[str, str, str]] = {
    "fail": ("breaking", "fail", "Have a GPU fail: lost, fallen off the bus, uncorrectable ECC errors; healthy heals it."),
    "temp": ("pinning", "temperature", "Pin the temperature, degrees Celsius."),
    "temperature": ("pinning", "temperature", "The same as temp."),
    "power": ("pinning", "power", "Pin the power draw, watts."),
    "fan": ("pinning", "fan", "Pin the fan speed, percent."),
    "util": ("pinning", "utilization", "Pin the utilization of GPU and memory, percent."),
    "utilization": ("pinning", "utilization", "The same as util."),
    "clocks": ("pinning", "clocks", "Pin the SM and graphics clocks, MHz."),
    "throttle": ("pinning", "throttle", "Set the clocks event reasons that are active; none clears them."),
    "pstate": ("pinning", "pstate", "Pin the performance state, 0 to 15."),
    "nvlink-error": ("breaking", "nvlink_error", "Have NVLinks count errors, a second; 0 heals."),
    "sram-ecc": ("breaking", "sram_ecc", "Set the SRAM ECC error counters; 0 heals."),
    "fabric-health": ("breaking", "fabric_health", "Set the fabric health conditions that hold; healthy clears them."),
    "set": ("setting", "set_", "Set any keys of a GPU: a.b.c=VALUE."),
    "apply": ("setting", "apply", "Put an override document in force; with --watch, each time it changes."),
    "export": ("setting", "export", "Write what is in force as an override document."),
    "reset": ("setting", "reset", "Drop the overrides of a GPU, or all of them."),
    "recipe": ("node", "recipe", "Put a named fault in force."),
    "clock": ("node", "clock", "Freeze, scale or step the node's time, or go by the real clock."),
    "privilege": ("node", "privilege", "Whether callers are root or an ordinary user."),
    "status": ("telling", "status", "Say where state, image and profile are, and what is overridden."),
    "watch": ("telling", "watch", "Show the GPUs' readings, live."),
    "help": ("telling", "help_", "Print this, or what a command takes."),
}
"""Name -> module of this package, its function, and the line of the overview."""


class Ctl(click.Group):
    """A group that imports a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Every name, in the order of the table."""
        return list(TABLE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command of that name, or None."""
        if cmd_name not in TABLE:
            return None
        module, name, _ = TABLE[cmd_name]
        found: click.Command = getattr(importlib.import_module(f"harness.cli.ctl.{module}"), name)
        return found

    def invoke(self, ctx: click.Context) -> Any:
        """As click does; with --json a refusal is an object on standard output, too."""
        try:
            return super().invoke(ctx)
        except (NvparityError, click.ClickException) as error:
            words = ctx.meta.get(WORDS, [])
            if ctx.params.get("as_json") or "--json" in words:
                shared.refused(words[0] if words else "", error)
            raise

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name in the message."""
        ctx.meta[WORDS] = list(args)
        if args and args[0] not in TABLE and not args[0].startswith("-"):
            raise click.UsageError(f"no command {args[0]!r}{did_you_mean(args[0], TABLE)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """The overview's list, from the table: no command is imported for it."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in TABLE.items()])


@click.command("ctl", cls=Ctl)
@shared.options
def command(**given: object) -> None:
    """Change what a mock serves while it runs; every process sees it at once.

    Options may stand before or after the command.  GPUs are named by their index, by a UUID that the profile declares, or as all.

    The state that is changed is that of --state, of the document of --file, of MOCK_NVML_STATE or MOCK_NVML_OVERRIDES, or the one beside the
    image; `nvparity ctl status` says which it is.

    Exit status: 0 done, 1 a file cannot be read or written, 2 refused (nothing is changed).
    """
    click.get_current_context().obj = given
