"""From exceptions to exit statuses: one line for what a user can mend, one line and a trace file for a bug."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from harness.cli.commands import cli
from harness.words.errors import EXIT_BUG, EXIT_ENVIRONMENT, EXIT_INTERRUPTED, EXIT_PARITY, EXIT_USAGE, NvparityError

if TYPE_CHECKING:
    from collections.abc import Sequence


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit status.  Messages go to stderr, one line each."""
    try:
        status = cli.main(args=list(arguments), prog_name="nvparity", standalone_mode=False)
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
        # Whoever read the output has left: nothing can be told, and the interpreter must not try to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_INTERRUPTED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _say(f"{where}{error.strerror or error}", EXIT_ENVIRONMENT)
    except Exception as error:  # noqa: BLE001 - the promise is one line and a file, whatever went wrong
        return _bug(error)
    return status if isinstance(status, int) else EXIT_PARITY


def _say(message: str, status: int) -> int:
    click.echo(f"nvparity: {message}", err=True)
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
