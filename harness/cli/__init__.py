"""The command line.  The only layer that prints; every other one returns values or raises.

Start-up is kept short: a command's module is imported when that command runs (``commands.TABLE``).
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process and exit with a status of ``harness.words.errors.EXIT_TABLE``."""
    from harness.words.errors import EXIT_INTERRUPTED

    try:
        from harness.cli import guard

        guard.open_streams()
        status = guard.run(sys.argv[1:])
    except KeyboardInterrupt:  # while modules are loaded, or a second one while the first is told
        status = EXIT_INTERRUPTED
    sys.exit(status)
