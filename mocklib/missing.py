"""The library without some of its symbols: a caller that looks one up finds that it is not there, as in the library of an older driver.

In an image a function can only be gated, which answers FUNCTION_NOT_FOUND; a symbol that is missing is a fact of the library's file.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator

from mocklib.spec import ImageError

_DYNSYM = 11
"""Type of the section that the loader looks symbols up in (ELF gABI, SHT_DYNSYM)."""
_SYMBOL = 24
"""Bytes of a symbol of a 64-bit file; the first four are where its name stands in the table of strings (Elf64_Sym.st_name)."""


def without(library: bytes, names: Collection[str]) -> bytes:
    """The shared object ``library`` (64 bits) with ``names`` exported no longer; names that it has not anyway change nothing.

    Raises ImageError for bytes that are no such file.
    """
    made = bytearray(library)
    wanted = {name.encode("ascii") for name in names}
    try:
        order = {1: "<", 2: ">"}[library[5]] if library[:5] == b"\x7fELF\x02" else ""
        for place, name in _symbols(library, order) if order else ():
            if name in wanted:  # a name that nothing can ask for: the hash that leads here stays, and the comparison fails
                struct.pack_into(f"{order}I", made, place, 0)
    except (struct.error, KeyError, IndexError, ValueError) as error:
        raise ImageError(f"the library's table of symbols cannot be read: {error}") from error
    if not order:
        raise ImageError("the library is no 64-bit shared object: none of its symbols can be taken away")
    return bytes(made)


def _symbols(library: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Place and name of every symbol of the loader's tables (gABI, Elf64_Ehdr and Elf64_Shdr)."""
    (table,) = struct.unpack_from(f"{order}Q", library, 0x28)
    size, count = struct.unpack_from(f"{order}HH", library, 0x3A)

    def section(number: int) -> tuple[int, int, int, int]:
        """Type, offset, size and linked section."""
        kind, _, _, offset, length, link = struct.unpack_from(f"{order}4xIQQQQI", library, table + number * size)
        return kind, offset, length, link

    for number in range(count):
        kind, offset, length, link = section(number)
        if kind != _DYNSYM:
            continue
        strings = section(link)[1]
        for place in range(offset, offset + length, _SYMBOL):
            (name,) = struct.unpack_from(f"{order}I", library, place)
            start = strings + name
            yield place, library[start : library.index(b"\0", start)]
