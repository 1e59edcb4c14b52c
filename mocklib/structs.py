"""The structs and numbers of ``include/nvp_image.h``, read by cffi so that Python and C cannot disagree."""

from __future__ import annotations

import functools
import re
from typing import Any

import cffi

from mocklib import fields as tables


def _headers() -> str:
    """nvp_image.h behind what it includes."""
    return "".join((tables.INCLUDE / name).read_text(encoding="ascii") for name in tables.IMAGE_HEADERS)


@functools.cache
def structs() -> Any:
    """The structs of nvp_image.h."""
    text = _headers()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    ffi = cffi.FFI()
    kept = [line for line in text.splitlines() if not line.startswith("#") or re.fullmatch(r"#define \w+ \d+ *", line)]  # sizes of arrays
    ffi.cdef("\n".join(kept))
    return ffi


@functools.cache
def constants() -> dict[str, int]:
    """The numeric macros of nvp_image.h."""
    text = _headers()
    return {name: int(number.rstrip("UL"), 0) for name, number in re.findall(r"#define (NVP_\w+) (0x[0-9a-f]+U?L*|\d+)\b", text)}


def as_bytes(value: Any) -> bytes:
    """The bytes of a cffi struct pointer or array."""
    return bytes(structs().buffer(value))
