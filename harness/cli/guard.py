"""From exceptions to exit statuses: one line for what a user can mend, one line and a trace file for a bug."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

import click

from harness.cli.commands import cli
from harness.words import variables
from harness.words.errors import EXIT_BUG, EXIT_ENVIRONMENT, EXIT_INTERRUPTED, EXIT_PARITY, EXIT_USAGE, NvparityError

if TYPE_CHECKING:
    from collections.abc import Sequence

_CONTROLS = dict.fromkeys({*range(32), 127} - {9, 10}, "?")
"""Control characters, of a name or value that a message repeats: no terminal obeys them."""


def open_streams() -> None:
    """Open the standard streams that our caller closed (``>&-``) on /dev/null.

    Without it the next file opened would take the number of one, and whoever writes to that stream, a command of ours included, would write
    into the file.
    """
    for number, mode in enumerate(("r", "w", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - it lives as long as the process
            setattr(sys, ("stdin", "stdout", "stderr")[number], stream)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit status.  Messages go to stderr, one line each."""
    for line in variables.told(os.environ):
        _say(line, EXIT_USAGE)
    try:
        status = _invoke(list(arguments))
        sys.stdout.flush()
    except NvparityError as error:
        return _say(str(error), error.exit_status)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return EXIT_USAGE
    except click.ClickException as error:
        return _usage(error)
    except (KeyboardInterrupt, click.Abort):
        return _say("interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:
        _leave_stdout()  # whoever read the output has left: nothing can be told
        return EXIT_INTERRUPTED
    except OSError as error:
        where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else "output"
        _leave_stdout()
        return _say(f"{where}: {error.strerror or error}", EXIT_ENVIRONMENT)
    except Exception as error:  # noqa: BLE001 - the promise is one line and a file, whatever went wrong
        return _bug(error)
    return status if isinstance(status, int) else EXIT_PARITY


def _invoke(arguments: list[str]) -> object:
    """What the command returns; as click's ``main`` but for its exit status 1, which means something else here, where a pipe has broken."""
    try:
        with cli.make_context("nvparity", arguments) as context:
            return cli.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code


def _leave_stdout() -> None:
    """Where standard output cannot be written, have the interpreter's flush at exit go nowhere."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str, status: int) -> int:
    with contextlib.suppress(OSError):
        click.echo(f"nvparity: {message.translate(_CONTROLS)}", err=True)
    return status


def _usage(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    hint = f" (see '{context.command_path} --help')" if context is not None else ""
    return _say(f"{error.format_message()}{hint}", EXIT_USAGE)


def _bug(error: Exception) -> int:
    import tempfile
    import traceback

    kind = f"{type(error).__name__}: {error}".splitlines()[0]
    try:
        handle, path = tempfile.mkstemp(prefix="nvparity-", suffix=".trace.txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            traceback.print_exception(error, file=file)
    except OSError as unwritten:
        path = f"(not written: {unwritten.strerror})"
    return _say(f"a bug in nvparity: {kind}; the trace is in {path}", EXIT_BUG)
