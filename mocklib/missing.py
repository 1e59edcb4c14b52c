"""The library without some of its symbols: a caller that looks one up finds that it is not there, as in the library of an older driver.

In an image a function can only be gated, which answers FUNCTION_NOT_FOUND; a symbol that is missing is a fact of the library's file.  The tables that
the loader looks names up in are made again without the symbol, as a linker would have left it out of them; the code stays.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mocklib.spec import ImageError

_RELA, _HASH, _REL, _DYNSYM, _GNU_HASH, _VERSYM = 4, 5, 9, 11, 0x6FFFFFF6, 0x6FFFFFFF
"""Types of the sections that hold symbols, or name one by its number (ELF gABI, SHT_*; the last two by the GNU extensions)."""
_SYMBOL = 24
"""Bytes of a symbol of a 64-bit file (Elf64_Sym)."""
_HEADER = 64
"""Bytes of a section's header (Elf64_Shdr)."""


@dataclass(frozen=True)
class _Section:
    """One section: the place of its header in the file, its type, and where its content is."""

    header: int
    kind: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True)
class _Symbol:
    """One dynamic symbol: its name, its 24 bytes, and whether the library defines it (others are what it takes from elsewhere)."""

    name: bytes
    entry: bytes
    defined: bool


def exported(library: bytes) -> frozenset[str]:
    """The names that the shared object ``library`` (64 bits) defines for others; ImageError for bytes that are no such file."""
    return frozenset(symbol.name.decode("ascii") for symbol in _read(library).symbols if symbol.defined)


def without(library: bytes, names: Collection[str]) -> bytes:
    """The shared object ``library`` (64 bits) with ``names`` exported no longer; names that it has not anyway change nothing.

    Raises ImageError for bytes that are no such file, and for a symbol that the library itself looks up.
    """
    file = _read(library)
    wanted = {name.encode("ascii") for name in names}
    kept = [number for number, symbol in enumerate(file.symbols) if not (symbol.defined and symbol.name in wanted)]
    if len(kept) == len(file.symbols):
        return library
    try:
        return file.keeping(kept)
    except ImageError:
        raise
    except (struct.error, IndexError, ValueError) as error:
        raise ImageError(f"the library's table of symbols cannot be read: {error}") from error


def _read(library: bytes) -> _File:
    """The file's sections and dynamic symbols."""
    try:
        order = {1: "<", 2: ">"}[library[5]] if library[:5] == b"\x7fELF\x02" else ""
        if order:
            return _File(library, order)
    except (struct.error, KeyError, IndexError, ValueError) as error:
        raise ImageError(f"the library's table of symbols cannot be read: {error}") from error
    raise ImageError("the library is no 64-bit shared object: none of its symbols can be taken away")


class _File:
    """A shared object's tables of dynamic symbols.  ``order`` is the byte order of its numbers, as struct spells it."""

    def __init__(self, library: bytes, order: str) -> None:
        self.order = order
        self.data = bytearray(library)
        (table,) = struct.unpack_from(f"{order}Q", library, 0x28)
        size, count = struct.unpack_from(f"{order}HH", library, 0x3A)
        if size != _HEADER:
            raise ValueError(f"headers of sections have {size} bytes")
        self.sections = [self._section(table + number * size) for number in range(count)]
        self.dynsym = next((number for number, section in enumerate(self.sections) if section.kind == _DYNSYM), -1)
        self.symbols = self._symbols() if self.dynsym >= 0 else []

    def _section(self, place: int) -> _Section:
        kind, offset, size, link = struct.unpack_from(f"{self.order}4xI16xQQI", self.data, place)
        if kind not in (0, 8) and offset + size > len(self.data):  # a section without content (SHT_NULL, SHT_NOBITS) is nowhere
            raise ValueError(f"a section of {size} bytes at {offset} in a file of {len(self.data)}")
        return _Section(place, kind, offset, size, link)

    def _symbols(self) -> list[_Symbol]:
        section = self.sections[self.dynsym]
        strings = self.sections[section.link].offset
        found = []
        for place in range(section.offset, section.offset + section.size, _SYMBOL):
            name, home = struct.unpack_from(f"{self.order}I2xH", self.data, place)
            start = strings + name
            found.append(_Symbol(bytes(self.data[start : self.data.index(0, start)]), bytes(self.data[place : place + _SYMBOL]), home != 0))
        return found

    # ---- writing

    def keeping(self, kept: Sequence[int]) -> bytes:
        """The file with the symbols of these numbers alone, in their order."""
        numbers = {old: new for new, old in enumerate(kept)}
        symbols = [self.symbols[number] for number in kept]
        for section in self.sections:
            if section.kind == _DYNSYM:
                self._replace(section, b"".join(symbol.entry for symbol in symbols))
            elif section.kind == _VERSYM:
                self._replace(section, b"".join(self.data[section.offset + 2 * number :][:2] for number in kept))
            elif section.kind == _GNU_HASH:
                self._replace(section, self._gnu_hash(section, symbols))
            elif section.kind == _HASH:
                self._replace(section, self._hash(section, symbols))
            elif section.kind in (_RELA, _REL) and section.link == self.dynsym:
                self._renumber(section, numbers)
        return bytes(self.data)

    def _replace(self, section: _Section, content: bytes) -> None:
        """``content``, which is no longer than what was there, and its size in the section's header (sh_size)."""
        if len(content) > section.size:
            raise ValueError(f"a section of {section.size} bytes cannot hold {len(content)}")
        self.data[section.offset : section.offset + section.size] = content.ljust(section.size, b"\0")
        struct.pack_into(f"{self.order}Q", self.data, section.header + 32, len(content))

    def _renumber(self, section: _Section, numbers: dict[int, int]) -> None:
        """What the loader is to fill in, by the symbols' new numbers; the upper half of r_info is a symbol's."""
        step = 24 if section.kind == _RELA else 16
        for place in range(section.offset, section.offset + section.size, step):
            (info,) = struct.unpack_from(f"{self.order}Q", self.data, place + 8)
            if info >> 32 not in numbers:
                raise ImageError(f"the library itself looks up {self.symbols[info >> 32].name.decode('ascii')}: it cannot be taken away")
            struct.pack_into(f"{self.order}Q", self.data, place + 8, numbers[info >> 32] << 32 | info & 0xFFFFFFFF)

    def _gnu_hash(self, section: _Section, symbols: Sequence[_Symbol]) -> bytes:
        """Buckets and chains of the GNU hash table made again; symbols stand in the order of their buckets already.

        The filter in front says which names may be there, and may say so of more than are.
        """
        buckets, first, words, _ = struct.unpack_from(f"{self.order}4I", self.data, section.offset)
        head = bytes(self.data[section.offset : section.offset + 16 + 8 * words])
        starts, chain = [0] * buckets, []
        hashes = [_gnu(symbol.name) for symbol in symbols[first:]]
        for number, value in enumerate(hashes):
            last = number + 1 == len(hashes) or hashes[number + 1] % buckets != value % buckets
            chain.append(value & ~1 | last)
            starts[value % buckets] = starts[value % buckets] or first + number
        return head + struct.pack(f"{self.order}{buckets + len(chain)}I", *starts, *chain)

    def _hash(self, section: _Section, symbols: Sequence[_Symbol]) -> bytes:
        """The table of the gABI (DT_HASH) made again."""
        (buckets,) = struct.unpack_from(f"{self.order}I", self.data, section.offset)
        starts, chain = [0] * buckets, [0] * len(symbols)
        for number, symbol in enumerate(symbols):
            if symbol.name:
                bucket = _elf(symbol.name) % buckets
                chain[number], starts[bucket] = starts[bucket], number
        return struct.pack(f"{self.order}{2 + buckets + len(chain)}I", buckets, len(chain), *starts, *chain)


def _gnu(name: bytes) -> int:
    """A name's value in the GNU hash table."""
    value = 5381
    for byte in name:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def _elf(name: bytes) -> int:
    """A name's value in the gABI's hash table."""
    value = 0
    for byte in name:
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high
    return value & 0xFFFFFFFF
