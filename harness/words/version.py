"""Driver versions: dotted text compared number by number (535.98 < 535.104.05), kept exactly as printed."""

from __future__ import annotations

import functools
import re

from harness.words.errors import InputError

_SHAPE = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6}){1,3}")


@functools.total_ordering
class DriverVersion:
    """One driver version.

    ``text`` is what nvidia-smi and nvmlSystemGetDriverVersion give; ``branch`` is the first number.
    """

    __slots__ = ("parts", "text")

    def __init__(self, text: str) -> None:
        if not _SHAPE.fullmatch(text):
            raise InputError(f"driver version {text[:40]!r} is not dotted numbers such as 580.105.08")
        self.text = text
        self.parts = tuple(int(part) for part in text.split("."))

    @property
    def branch(self) -> int:
        """The driver's major number, 580 for 580.105.08."""
        return self.parts[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DriverVersion) and self.parts == other.parts

    def __lt__(self, other: DriverVersion) -> bool:
        return self.parts < other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return f"DriverVersion({self.text!r})"

    def __str__(self) -> str:
        return self.text
