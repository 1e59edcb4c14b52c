"""The table of zlib's CRC-32, as the library has it: a table in the file costs a first nvmlInit less than one that is worked out."""

from __future__ import annotations

from mocklib.gen.emit import NOTE

SLICES = 16
"""Bytes that the library takes at a time."""
POLYNOMIAL = 0xEDB88320
"""Of CRC-32 (ISO 3309, zlib), the lowest bit first."""


def rows() -> list[list[int]]:
    """Row ``n``, entry ``byte``: what a byte adds to the sum where ``n`` bytes follow it."""
    first = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
        first.append(crc)
    found = [first]
    while len(found) < SLICES:
        found.append([crc >> 8 ^ first[crc & 0xFF] for crc in found[-1]])
    return found


def source() -> str:
    """``zz_generated_crc.c``."""
    body = "".join("    {" + ", ".join(f"0x{crc:08x}" for crc in row) + "},\n" for row in rows())
    return f'{NOTE}#include "nvp_crc.h"\n\nconst uint32_t nvp_crc_table[NVP_CRC_SLICES][256] = {{\n{body}}};\n'
