"""Run the views of nvidia-smi on a node and keep what each gave, in memory alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.stages import smi
from harness.words.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from harness.tables.views import View

WHOLE, EMPTY, UNKNOWN, REFUSED, LATE, FLOODED = "whole", "empty", "unknown", "refused", "late", "flooded"
"""What became of a view: text; nothing with exit status 0; an option that this release does not have; another exit status; no end in time; more text
than is kept, of which nothing is.
"""
MAX_TEXT = 8 * 1024 * 1024
"""The longest text of a view that is kept; the clocks of 72 GPUs are some 2 MB."""
INVALID_ARGUMENT = 2
"""nvidia-smi's exit status for an argument it does not take (its manual, return value)."""
_UNKNOWN = re.compile(rb"not recognized|invalid combination|unrecognized|is not a valid", re.IGNORECASE)


@dataclass(frozen=True)
class Shot:
    """One run of a view: the ``command`` (nvidia-smi and its arguments), exit ``status`` (None: it did not end in time), raw streams, when it
    ``began`` (UTC) and how long it took.
    """

    command: tuple[str, ...]
    status: int | None
    stdout: bytes
    stderr: bytes
    began: datetime
    duration_ms: int

    @property
    def outcome(self) -> str:
        """What became of it."""
        if self.status is None:
            return LATE
        if len(self.stdout) > MAX_TEXT:
            return FLOODED
        if self.status:
            return UNKNOWN if self.status == INVALID_ARGUMENT or _UNKNOWN.search(self.stdout + self.stderr) else REFUSED
        return WHOLE if self.stdout.strip() else EMPTY

    @property
    def said(self) -> bytes:
        """The first line that it printed."""
        return next((line.strip() for line in (*self.stdout.splitlines(), *self.stderr.splitlines()) if line.strip()), b"")


@dataclass(frozen=True)
class Camera:
    """How views are run: the node's ``binary`` on the library its loader finds, or on ``library``; ``variables`` of the caller; ``clock``: UTC."""

    binary: Path
    variables: Mapping[str, str]
    clock: Callable[[], datetime]
    library: Path | None = None
    limit_s: float = smi.NODE_LIMIT_S

    def shoot(self, view: View, fields: Callable[[bytes], list[str]]) -> Shot:
        """Run ``view``; ``fields`` reads what the binary lists, for one that names every field of its own."""
        if not view.fields:
            return self._run(view.arguments)
        listed = self._run(view.fields)
        names = fields(listed.stdout)
        return self._run(view.command(names)) if names and not listed.status else listed

    def _run(self, arguments: Sequence[str]) -> Shot:
        began = self.clock()
        try:
            ran = smi.run_node(self.binary, arguments, variables=self.variables, library=self.library, limit_s=self.limit_s)
        except GateError:
            ran = None
        duration = int((self.clock() - began).total_seconds() * 1000)
        command = ("nvidia-smi", *arguments)
        if ran is None:
            return Shot(command, None, b"", b"", began, duration)
        return Shot(command, ran.status, ran.stdout, ran.stderr, began, duration)


def shown(command: Iterable[str]) -> str:
    """A command as a line, a long argument cut."""
    return " ".join(word if len(word) <= 60 else f"{word[:57]}..." for word in command)
