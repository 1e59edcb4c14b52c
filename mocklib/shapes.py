"""What a function takes and writes, as shapes: numbers with their range, texts with their room, arrays, structs, handles.

A reader of answers from elsewhere compares a value with its shape before it takes it; nothing is called here.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mocklib.calls import TEXT_SIZE, ffi, signatures

DEVICE = "nvmlDevice_t"


@dataclass(frozen=True)
class Number:
    """An integer from ``low`` to ``high``."""

    low: int
    high: int


@dataclass(frozen=True)
class Double:
    """A floating-point number."""


@dataclass(frozen=True)
class Text:
    """A C string of at most ``room`` bytes."""

    room: int


@dataclass(frozen=True)
class Bytes:
    """Exactly ``count`` bytes."""

    count: int


@dataclass(frozen=True)
class Handle:
    """The handle of a GPU."""


@dataclass(frozen=True)
class Opaque:
    """What has no portable value: a union, a pointer, a handle of anything but a GPU."""

    what: str


@dataclass(frozen=True)
class Array:
    """``length`` values of one shape; None: as many as the count beside it says."""

    item: Shape
    length: int | None


@dataclass(frozen=True)
class Struct:
    """The members of a struct in the header's order; ``version`` is the number in its version word, None without such a word."""

    name: str
    members: tuple[tuple[str, Shape], ...]
    version: int | None = None

    @property
    def word(self) -> int:
        """What its version word holds: the size, and the version in the highest byte (nvml.h, NVML_STRUCT_VERSION)."""
        return int(ffi().sizeof(self.name)) | (self.version or 0) << 24


Shape = Number | Double | Text | Bytes | Handle | Opaque | Array | Struct


@dataclass(frozen=True)
class Function:
    """What one function takes and writes.

    ``device``: its first device parameter, None for a call of the node; ``inputs``: what is given by value beside it, in the header's order;
    ``outputs``: what it writes, without the counts of lists, which are in ``counts``; ``given``: pointers to what the caller fills;
    ``sizes``: inputs that say how long what it writes may be, with what one element counts in them (0: a struct, whatever its length).
    """

    name: str
    device: str | None
    inputs: tuple[tuple[str, Shape], ...]
    outputs: tuple[tuple[str, Shape], ...]
    counts: tuple[str, ...]
    given: tuple[str, ...]
    sizes: tuple[tuple[str, int], ...] = ()


@functools.cache
def of(name: str, version: int | None = None) -> Function:
    """The shapes of the function ``name``; ``version`` is that of the struct given, None for the function's own.

    KeyError for a function that the header does not declare.
    """
    params = signatures().FUNCTIONS[name]
    device = next((param for param, _, role in params if role == "device"), None)
    inputs = tuple((param, shape(kind)) for param, kind, role in params if role in ("in", "device", "handle") and param != device)
    sizes = dict(_sizes(params))
    outputs = tuple(_outputs(params, version, sizes))
    counts, given = (tuple(param for param, _, role in params if role == wanted) for wanted in ("count", "const"))
    return Function(name, device, inputs, outputs, counts, given, tuple(sizes.items()))


def _sizes(params: Any) -> Iterator[tuple[str, int]]:
    """Inputs that say how long something is: ``xSize`` counts the elements of x, ``size`` the bytes of an array, ``length`` those of a text."""
    roles = {param: role for param, _, role in params}
    for param, role in roles.items():
        if role != "in":
            continue
        if param.endswith("Size") and roles.get(param.removesuffix("Size")) == "out":
            yield param, 1
        elif param == "size":
            yield param, int(ffi().sizeof(next(kind for _, kind, other in params if other == "out").removesuffix("*").rstrip()))
        elif param == "length":
            yield param, 0


def versions(name: str) -> Mapping[int, str]:
    """Version -> struct that the versioned struct of the function ``name`` may be; empty where it has none."""
    for _, kind, role in signatures().FUNCTIONS[name]:
        found: Mapping[int, str] = signatures().VERSIONS.get(_resolved(kind), {}) if role == "struct" else {}
        if found:
            return found
    return {}


def _outputs(params: Any, version: int | None, sizes: Mapping[str, int]) -> Iterator[tuple[str, Shape]]:
    for param, kind, role in params:
        if role == "text":
            yield param, Text(TEXT_SIZE)
        elif role == "list":
            yield param, Array(shape(kind.removesuffix("*").rstrip()), None)
        elif role == "struct":
            yield param, _struct(_of_version(_resolved(kind), version))
        elif role == "out":
            item = shape(kind.removesuffix("*").rstrip())
            yield param, Array(item, None) if any(sizes.values()) else item


def _resolved(kind: str) -> str:
    plain = kind.rstrip(" *")
    return str(signatures().ALIASES.get(plain, plain))


def _of_version(struct: str, version: int | None) -> str:
    return str(signatures().VERSIONS.get(struct, {}).get(version, struct))


@functools.cache
def shape(kind: str) -> Shape:
    """The shape of a C type by its name."""
    return _shape(ffi().typeof(kind))


def members(name: str) -> tuple[tuple[str, Shape], ...]:
    """The members of a struct or union that have a value, in the header's order: of pointers only handles of GPUs have one."""
    kinds = ((member, field.type) for member, field in ffi().typeof(name).fields or ())
    return tuple((member, _shape(kind)) for member, kind in kinds if kind.kind != "pointer" or isinstance(_shape(kind), Handle))


def _struct(name: str) -> Struct:
    listed = members(name)
    own = next((number for number, struct in signatures().VERSIONS.get(name, {}).items() if struct == name), None)
    worded = own is not None and any(member == "version" for member, _ in listed)
    return Struct(name, listed, own if worded else None)


def _shape(kind: Any) -> Shape:
    if kind.kind == "enum":
        return Number(-(1 << 31), (1 << 31) - 1) if any(number < 0 for number in kind.elements) else Number(0, (1 << 32) - 1)
    if kind.kind == "primitive":
        return _primitive(kind)
    if kind.kind == "array":
        if kind.item.cname == "char":
            return Text(kind.length)
        return Bytes(kind.length) if kind.item.cname == "unsigned char" else Array(_shape(kind.item), kind.length)
    if kind.kind == "struct":
        return _struct(kind.cname)
    if kind.cname == ffi().typeof(DEVICE).cname:
        return Handle()
    return Opaque(kind.cname)


def _primitive(kind: Any) -> Shape:
    if kind.cname in ("double", "float"):
        return Double()
    bits = 8 * int(ffi().sizeof(kind))
    if int(ffi().cast(kind, -1)) < 0:
        return Number(-(1 << bits - 1), (1 << bits - 1) - 1)
    return Number(0, (1 << bits) - 1)
