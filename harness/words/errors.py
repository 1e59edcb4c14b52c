"""Errors a user can cause, one class an exit status.

A message says what is wrong, where (file:line or element path) and what to do; ``nearest`` finds the valid name a typo meant.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

EXIT_PARITY = 0
EXIT_GATE = 1
EXIT_USAGE = 2
EXIT_INPUT = 3
EXIT_ENVIRONMENT = 4
EXIT_NOTHING = 5
EXIT_BUG = 70
EXIT_INTERRUPTED = 130

EXIT_TABLE: tuple[tuple[int, str], ...] = (
    (EXIT_PARITY, "parity, or the command did what was asked"),
    (EXIT_GATE, "a gate failed: findings, differences, drift; of ctl: a file cannot be read or written"),
    (EXIT_USAGE, "usage: unknown option, command or argument"),
    (EXIT_INPUT, "bad input: not a capture, truncated, invalid profile, id in use"),
    (EXIT_ENVIRONMENT, "the environment lacks something: compiler, library, binary, permission"),
    (EXIT_NOTHING, "nothing was selected"),
    (EXIT_BUG, "a bug in nvparity"),
    (EXIT_INTERRUPTED, "interrupted"),
)


class NvparityError(Exception):
    """Base of the errors a user sees as one line; ``exit_status`` is the process's status."""

    exit_status = EXIT_BUG


class GateError(NvparityError):
    """A gate failed."""

    exit_status = EXIT_GATE


class StorageError(NvparityError):
    """``nvparity ctl``: a state, image, profile or document cannot be read or written."""

    exit_status = EXIT_GATE


class UsageError(NvparityError):
    """The command line is off."""

    exit_status = EXIT_USAGE


class InputError(NvparityError):
    """A capture, profile, image, state or other file is not acceptable."""

    exit_status = EXIT_INPUT


class MissingError(NvparityError):
    """The environment lacks something; the message names the command that brings it."""

    exit_status = EXIT_ENVIRONMENT


class NothingError(NvparityError):
    """The selection is empty."""

    exit_status = EXIT_NOTHING


def nearest(name: str, valid: Iterable[str]) -> str | None:
    """The valid name closest to ``name``, or None when nothing is close."""
    found = difflib.get_close_matches(name, list(valid), n=1, cutoff=0.6)
    return found[0] if found else None


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` for a typo, the empty string when nothing is close."""
    guess = nearest(name, valid)
    return f" (did you mean {guess!r}?)" if guess else ""
