"""The format of the files that nvparity writes: ``format: N`` comes first; a reader takes N and N-1, and `nvparity migrate` rewrites N-1 as N.

A format is one number for all kinds of files.  What it changed in a kind of file is a step of ``FORMATS``; a kind without a step changed in nothing
but its number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from harness import __version__
from harness.words.errors import InputError

KINDS = ("transcript", "sidecar", "profile", "golden", "baselines", "rules", "node", "boards", "proposal", "answers", "views", "timeline")
"""Kinds of files: the first two make a capture (transcript: of either view), with the last three a recording."""
Step = Callable[[str], str]
"""The text of a file of one format -> its text in the next, but for the number, which is changed for it."""
_HEAD = re.compile(r"\A(?P<before>\ufeff?(?:[ \t]*(?:#[^\n]*)?\r?\n)*format:[ \t]*)(?P<number>[^\s#]*)")


@dataclass(frozen=True)
class Formats:
    """The format that is ``current``, and the ``steps`` from the one before it: (kind of file, number of the older format) -> step."""

    current: int
    steps: Mapping[tuple[str, int], Step] = field(default_factory=dict)

    @property
    def reads(self) -> tuple[int, ...]:
        """The formats that readers take, ascending."""
        return tuple(number for number in (self.current - 1, self.current) if number >= 1)


FORMATS = Formats(1)
"""The formats of this nvparity."""
FORMAT = FORMATS.current
"""What this nvparity writes."""


def check_format(number: object, where: str, formats: Formats | None = None) -> int:
    """``number``, the value of ``format`` in the file that ``where`` names (file or file:line), when this nvparity reads it.

    Raises InputError for a newer one (a newer nvparity is needed), an older one, and one that is no number or is missing (None).
    """
    known = formats or FORMATS
    reads = " and ".join(str(read) for read in known.reads)
    if number is None:
        raise InputError(
            f"{where}: no `format:` in the first line; every file of nvparity starts with it (this nvparity writes format: {known.current})"
        )
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise InputError(f"{where}: format {number!r} is no format number (this nvparity reads {reads})")
    if number > known.current:
        raise InputError(f"{where}: format {number} needs a newer nvparity (file format {number}; this one, {__version__}, reads {reads}); update it")
    if number not in known.reads:
        raise InputError(
            f"{where}: format {number} is too old (file format {number}; this nvparity reads {reads}); "
            "run `nvparity migrate` of the versions between, one format after the other"
        )
    return number


def number_of(text: str) -> int | str | None:
    """The value of ``format``, where it is the first thing in ``text`` but for comments; None where it is not."""
    match = _HEAD.match(text)
    if match is None:
        return None
    value = match["number"]
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else value


def upgraded(kind: str, text: str, formats: Formats | None = None) -> str:
    """``text``, a file of ``kind``, in the current format, when it is of the one before; any other text as it is, for its reader to judge."""
    known = formats or FORMATS
    number = number_of(text)
    if not isinstance(number, int) or number not in known.reads or number == known.current:
        return text
    step = known.steps.get((kind, number))
    return renumbered(text if step is None else step(text), known.current)


def renumbered(text: str, number: int) -> str:
    """``text`` with ``number`` as its format."""
    return _HEAD.sub(lambda match: f"{match['before']}{number}", text, count=1)
