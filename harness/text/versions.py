"""The version gate of every file that nvparity writes: ``format: N`` comes first; a reader takes N and N-1."""

from __future__ import annotations

from harness.words.errors import InputError

FORMAT = 1
"""What this nvparity writes."""
READS = tuple(number for number in (FORMAT - 1, FORMAT) if number >= 1)


def check_format(number: object, where: str) -> int:
    """``number``, the value of ``format`` in the file that ``where`` names (file or file:line), when this nvparity reads it.

    Raises InputError for a newer one (a newer nvparity is needed), an older one, and one that is no number or is missing (None).
    """
    known = " and ".join(str(read) for read in READS)
    if number is None:
        raise InputError(f"{where}: no `format:` in the first line; every file of nvparity starts with it (this nvparity writes format: {FORMAT})")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise InputError(f"{where}: format {number!r} is no format number (this nvparity reads {known})")
    if number > FORMAT:
        raise InputError(f"{where}: format {number} needs a newer nvparity (this one reads {known}); update it")
    if number not in READS:
        raise InputError(
            f"{where}: format {number} is too old (this nvparity reads {known}); rewrite it with an nvparity that reads it, step by step"
        )
    return number
