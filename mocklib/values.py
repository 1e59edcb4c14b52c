"""C values as Python's, by their cffi type: what a call wrote is taken apart by plans that are made once for each type.

Integers and enumerators are int, ``char[]`` text (raw bytes as surrogates), ``unsigned char[]`` and unions bytes, other arrays lists, structs dicts.
A pointer is read as its number where it is an opaque handle; any other pointer is left out, so that nothing a library did not fill is followed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Reader = Callable[[Any], Any]
DEVICE = "struct nvmlDevice_st"


@dataclass(frozen=True)
class Member:
    """One member of a struct, nested structs flattened: ``name`` with dots, ``path`` of attributes, and what makes it Python's (None: it is)."""

    name: str
    path: tuple[str, ...]
    read: Reader | None
    handle: bool = False


def reader(ffi: Any, kind: Any) -> Reader | None:
    """What makes a value of a type Python's; None for one that cffi gives as int or float already."""
    return _reader(ffi, kind)


@functools.cache
def members(ffi: Any, kind: Any) -> tuple[Member, ...]:
    """The members of a struct type, in its order."""
    found: list[Member] = []
    for name, member in kind.fields:
        if member.type.kind == "struct":
            found += [
                Member(f"{name}.{inner.name}", (name, *inner.path), inner.read, inner.handle) for inner in members(ffi, member.type)
            ]
        elif name and is_value(ffi, member.type):
            found.append(Member(name, (name,), reader(ffi, member.type), is_device(member.type)))
    return tuple(found)


def is_device(kind: Any) -> bool:
    """Whether a type is a handle of a device, or an array of them."""
    return bool(kind.kind == "pointer" and kind.item.cname == DEVICE)


def is_value(ffi: Any, kind: Any) -> bool:
    """Whether a member of this type has a value: of pointers, handles alone have one; what they point to has no size."""
    if kind.kind != "pointer":
        return True
    try:
        return kind.item.kind == "struct" and not ffi.sizeof(kind.item)
    except ffi.error:
        return True


def take(plan: tuple[Member, ...], struct: Any, prefix: str, found: dict[str, Any]) -> None:
    """Put the members of ``struct`` into ``found`` under ``prefix`` and their names."""
    for member in plan:
        value = struct
        for name in member.path:
            value = getattr(value, name)
        found[prefix + member.name] = value if member.read is None else member.read(value)


@functools.cache
def _reader(ffi: Any, kind: Any) -> Reader | None:
    """The reader of one type."""
    if kind.kind in {"primitive", "enum"}:
        return ord if kind.cname == "char" else None
    if kind.kind == "array":
        return _array(ffi, kind)
    if kind.kind == "union":
        return lambda value: bytes(ffi.buffer(ffi.addressof(value)))
    if kind.kind == "struct":
        plan = members(ffi, kind)

        def struct(value: Any) -> dict[str, Any]:
            found: dict[str, Any] = {}
            take(plan, value, "", found)
            return found

        return struct
    return lambda value: int(ffi.cast("uintptr_t", value))


def _array(ffi: Any, kind: Any) -> Reader:
    """The reader of an array."""
    if kind.item.cname == "char":
        return lambda value: ffi.string(value, kind.length).decode("utf-8", "surrogateescape")
    if kind.item.cname == "unsigned char":
        return lambda value: bytes(ffi.buffer(value))
    item = reader(ffi, kind.item)
    if item is None:
        return list
    return lambda value: [item(entry) for entry in value]
