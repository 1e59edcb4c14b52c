"""The command line.  The only layer that prints; every other one returns values or raises.

Start-up is kept short: a command's module is imported when that command runs (``commands.TABLE``).
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process and exit with a status of ``harness.words.errors.EXIT_TABLE``."""
    from harness.cli.guard import run

    sys.exit(run(sys.argv[1:]))
