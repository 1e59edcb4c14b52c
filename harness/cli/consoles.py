"""The console that reports are printed on."""

from __future__ import annotations

import os
import shutil
from typing import TextIO

from rich.console import Console


def width_of(stream: TextIO) -> int | None:
    """Columns of the terminal that ``stream`` is, or that COLUMNS says; None for a pipe or a file, which lose nothing."""
    return shutil.get_terminal_size().columns if stream.isatty() or os.environ.get("COLUMNS") else None


class Whole(Console):
    """A console on ``file`` that cuts nothing off, and whose reader may leave: that is for the guard to end, not for the console."""

    def __init__(self, file: TextIO) -> None:
        super().__init__(file=file, soft_wrap=True)

    def on_broken_pipe(self) -> None:
        """Raise again what the console was about to end the program for."""
        raise  # noqa: PLE0704 - called while BrokenPipeError is handled
