"""Values of the answers document <-> what the binding takes and gives, by the shape that the header gives them.

Scalars of the document are texts (`strictyaml.load(texts=True)`): its reader, like yaml-cpp, asks for the type that belongs there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mocklib import shapes
from mocklib.answers import Gpu

NOT_AVAILABLE = (1 << 64) - 1
"""What stands for a number that is not available where the Python binding hands out None (nvml.h, NVML_VALUE_NOT_AVAILABLE, in 64 bits)."""
MEMORY_OF_PROCESS = "usedGpuMemory"
"""The one member for which the binding does so."""
_INTEGER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,30})|0x[0-9a-fA-F]{1,30}")
_DOUBLE = re.compile(r"[+-]?[0-9]{1,400}(?:\.[0-9]{0,400})?(?:[eE][+-]?[0-9]{1,4})?")


class Unfit(ValueError):  # noqa: N818 - no error of a user: why one value is not kept
    """A value that is none of its shape; the text says why, and never the value, which may be an identifier."""


def integer(text: Any) -> int | None:
    """The whole number that a scalar writes, decimal or 0x; None for anything else."""
    return int(text, 0) if isinstance(text, str) and _INTEGER.fullmatch(text) else None


def read(shape: shapes.Shape, node: Any, gpus: Mapping[str, int], name: str = "") -> Any:
    """The value of ``shape`` that ``node`` of a document writes; ``gpus``: UUID -> index.  Raises Unfit."""
    match shape:
        case shapes.Number(low, high):
            return _number(node, low, high, name)
        case shapes.Double():
            return _double(node, name)
        case shapes.Text(room):
            return _string(node, room, name)
        case shapes.Bytes(count):
            return bytes(_listed(shapes.Array(shapes.Number(0, 255), count), node, gpus, name))
        case shapes.Handle():
            if not isinstance(node, str) or node not in gpus:
                raise Unfit(f"{_named(name)}names no device of the document")
            return Gpu(gpus[node])
        case shapes.Array():
            return _listed(shape, node, gpus, name)
        case shapes.Struct():
            return struct(shape, node, gpus)
        case shapes.Opaque(what):
            raise Unfit(f"{_named(name)}how the document writes a {what} is not known")


def struct(shape: shapes.Struct, node: Any, gpus: Mapping[str, int]) -> dict[str, Any]:
    """The members of a struct by their names, those of a struct inside it as ``outer.inner``; all or Unfit.

    The version word alone may be left out: it follows from the struct.  Of some structs the Python binding hands out the other members alone: the
    one there is, or a list of them.
    """
    members = dict(shape.members)
    if not isinstance(node, dict):
        node = _named_by_place(shape, node)
    if any(name not in members for name in node):
        raise Unfit(f"a member that {shape.name} has not")
    found: dict[str, Any] = {}
    for name, inner in members.items():
        if name not in node:
            if name != "version" or shape.version is None:
                raise Unfit(f"member {name!r} of {shape.name} is missing")
            found[name] = shape.word
        elif isinstance(inner, shapes.Struct):
            found |= {f"{name}.{member}": value for member, value in struct(inner, node[name], gpus).items()}
        else:
            found[name] = read(inner, node[name], gpus, name)
    if shape.version is not None and found["version"] != shape.word:
        raise Unfit(f"the version word {found['version']} is not that of {shape.name}")
    return found


def write(shape: shapes.Shape, value: Any, uuids: Sequence[str]) -> Any:
    """What a document holds for a value: integers, floats, texts, lists, mappings; ``uuids``: by index.  Raises Unfit for what it cannot hold."""
    match shape:
        case shapes.Struct():
            raise TypeError("the members of a struct are written by written_struct")
        case shapes.Handle():
            if not isinstance(value, Gpu) or value.index >= len(uuids):
                raise Unfit("a handle of no GPU that the document names")
            return uuids[value.index]
        case shapes.Bytes():
            return list(value)
        case shapes.Array(item):
            if isinstance(item, shapes.Struct):
                return [written_struct(item, entry, uuids) for entry in value]
            return [write(item, entry, uuids) for entry in value]
        case shapes.Double():
            if not math.isfinite(value):
                raise Unfit("a number that is not finite")
            return float(value)
        case shapes.Text():
            if any("\udc80" <= letter <= "\udcff" for letter in value):
                raise Unfit("a text that is not UTF-8")
            return value
        case shapes.Opaque(what):
            raise Unfit(f"how the document writes a {what} is not known")
    return value


def written_struct(shape: shapes.Struct, found: Mapping[str, Any], uuids: Sequence[str], prefix: str = "") -> dict[str, Any]:
    """The members of a struct, from ``outer.inner`` names to mappings inside each other."""
    made: dict[str, Any] = {}
    for name, inner in shape.members:
        path = f"{prefix}{name}"
        if isinstance(inner, shapes.Struct):
            made[name] = written_struct(inner, found, uuids, f"{path}.")
        elif path in found:
            made[name] = write(inner, found[path], uuids)
        else:
            raise Unfit(f"member {path!r} of {shape.name} was not recorded")
    return made


def _named_by_place(shape: shapes.Struct, node: Any) -> dict[str, Any]:
    """The mapping for a value, or a list of values, that stands for the members of a struct beside its version word; Unfit where it cannot."""
    names = [name for name, _ in shape.members if name != "version" or shape.version is None]
    given = node if isinstance(node, list) else [node]
    if len(given) != len(names) or (shape.version is None and len(names) > 1):
        raise Unfit(f"no mapping of the members of {shape.name}")
    return dict(zip(names, given, strict=True))


def _number(node: Any, low: int, high: int, name: str) -> int:
    if node is None and name == MEMORY_OF_PROCESS:
        return NOT_AVAILABLE
    number = integer(node)
    if number is None:
        raise Unfit(f"{_named(name)}no whole number")
    if not low <= number <= high:
        raise Unfit(f"{_named(name)}not in the range {low} to {high}")
    return number


def _double(node: Any, name: str) -> float:
    number = float(node) if isinstance(node, str) and _DOUBLE.fullmatch(node) else math.inf
    if not math.isfinite(number):
        raise Unfit(f"{_named(name)}no number")
    return number


def _string(node: Any, room: int, name: str) -> str:
    if not isinstance(node, str):
        raise Unfit(f"{_named(name)}no text")
    if "\0" in node or any("\ud800" <= letter <= "\udfff" for letter in node) or len(node.encode()) > room:
        raise Unfit(f"{_named(name)}no C string of at most {room} bytes")
    return node


def _listed(shape: shapes.Array, node: Any, gpus: Mapping[str, int], name: str) -> list[Any]:
    if not isinstance(node, list):
        raise Unfit(f"{_named(name)}no list")
    if shape.length is not None and len(node) != shape.length:
        raise Unfit(f"{_named(name)}{len(node)} entries, the array has {shape.length}")
    return [read(shape.item, entry, gpus, name) for entry in node]


def _named(name: str) -> str:
    return f"{name}: " if name else ""
