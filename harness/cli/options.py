"""Options that several commands share, and what is done with them."""

from __future__ import annotations

import getpass
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.stages.timeline.clocks import Wanted
from harness.stores import pending
from harness.words.errors import GateError, InputError, MissingError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.stages.binaries import Binaries
    from harness.stores.workspace import Workspace


def named(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Refuses the empty name, which a script's unset variable gives, before any work is done."""
    if value == "":
        raise click.BadParameter("an empty name", context, option)
    return value


root = click.option("--root", metavar="DIR", type=click.Path(), callback=named, help="Work on this folder's captures/, profiles/ and golden/.")
json_file = click.option(
    "--json", "json_file", metavar="FILE", type=click.Path(), callback=named, help="Also write the result as JSON ('-': to standard output)."
)
junit_file = click.option(
    "--junit", "junit_file", metavar="FILE", type=click.Path(), callback=named, help="Also write the result as JUnit XML ('-': to standard output)."
)
rules_file = click.option(
    "--rules", "rules_file", metavar="FILE", type=click.Path(), callback=named, help="Take the rules from FILE instead of golden/rules.yaml."
)
trace_file = click.option(
    "--trace", metavar="FILE", type=click.Path(), callback=named, help="Also write, as JSON, which call answered which element."
)
output_file = click.option(
    "-o",
    "--output",
    metavar="IMAGE",
    type=click.Path(),
    callback=named,
    help="Where the image goes (default: PROFILE.nvpimg beside the profile).",
)
clock = click.option(
    "--clock",
    metavar="CLOCK",
    callback=named,
    help="Time of the mock: frozen, real, play (from the recording's instant on), scaled:X, at:+90s or at:2026-08-21T08:54:01Z.",
)
renderer = click.option(
    "--renderer",
    type=click.Choice(["builtin", "smi"]),
    default="builtin",
    show_default=True,
    help="What writes the text from the library: nvparity, or a real nvidia-smi, whose version the profile is then served as.",
)
driver = click.option(
    "--driver",
    metavar="V",
    callback=named,
    help="Serve the profile as this driver: a version, or a branch (550) for that of its nvidia-smi. Values stay, what it lacks is not supported.",
)
smi = click.option(
    "--smi",
    metavar="PATH",
    type=click.Path(),
    callback=named,
    help="With --renderer smi: the nvidia-smi, or a folder of BRANCH/nvidia-smi (default: $NVPARITY_SMI, else build/smi of the checkout).",
)
by = click.option("--by", metavar="NAME", callback=named, help="Who decides, kept in the golden (default: your login name).")
ci = click.option("--ci/--no-ci", default=None, help="Write nothing, and fail on what is pending (default: as the variable CI says).")


def in_ci(flag: bool | None) -> bool:
    """Whether this run is one of CI: as ``--ci`` or ``--no-ci`` says, else whether the variable CI is set to anything but 0, false or nothing."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false") if flag is None else flag


def refuse_in_ci(flag: bool | None, space: Workspace, command: str, otherwise: str = "or with --no-ci") -> None:
    """Raise GateError, naming what is pending, where nothing may be written; ``otherwise`` is what may be done there."""
    if not in_ci(flag):
        return
    waiting = ", ".join(pending.ids(space))
    raise GateError(f"in CI nothing is written: run nvparity {command} elsewhere, {otherwise}" + (f"; pending: {waiting}" if waiting else ""))


def clock_wanted(given: str | None) -> Wanted | None:
    """The clock asked for by ``--clock``, which starts now; None where the profile's own is to serve."""
    return None if given is None else Wanted(given, time.time_ns())


def person(given: str | None) -> str:
    """Who decides: ``given``, else the login name."""
    if given is not None:
        return given
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        raise UsageError("this account has no name: give one with --by") from error


def emit(json_file: str | None, made: Callable[[], Any]) -> None:
    """Write what ``made`` gives as JSON to ``json_file``; nothing for None."""
    if json_file is not None:
        deliver(json_file, (json.dumps(made(), indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace"))


def deliver(name: str, data: bytes) -> None:
    """Write ``data`` to the file ``name``, to standard output for ``-``.

    A file is written whole and renamed; what is no plain file (a pipe, /dev/null) is written as it is.  Raises InputError for a folder,
    MissingError where it cannot be written.
    """
    if name == "-":
        click.echo(data, nl=False)
        return
    from harness.stores.goldens import write_whole

    path = Path(name)
    try:
        if plain(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, data)
        else:
            path.write_bytes(data)
    except OSError as error:
        raise MissingError(f"{path}: cannot be written: {error.strerror}") from error


def binaries_at(named: str | None) -> Binaries:
    """The real nvidia-smi binaries: those of ``--smi``, else of NVPARITY_SMI, else of the checkout's build/smi."""
    from harness.stages import binaries, libraries

    return binaries.find(None if named is None else Path(named), os.environ, libraries.CHECKOUT, libraries.universal())


def tell(line: str) -> None:
    """A remark on what was done, to standard error; nothing for an empty one."""
    if line:
        click.echo(f"nvparity: {line}", err=True)


def plain(path: Path) -> bool:
    """Whether ``path`` is a plain file or nothing yet, and so may be replaced by rename; InputError for a folder."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file in it")
    return not path.is_symlink() and (path.is_file() or not path.exists())
