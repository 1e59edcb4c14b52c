"""Recorded answers for the ABI tests: a call for every function and version of its structs, and an answer with a value of its own in each output."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from mocklib import calls
from mocklib.answers import Asked, Gpu
from mocklib.binding import Answer
from mocklib.questions import FIELD_VALUES, UNRECORDED

DEVICES = 3
ARRAY_SIZE = 16
"""Elements of an array, or bytes where its size counts them."""
TEXTS = "abcdefghijklmnopqrstuvwxyz-0123456789"
FIRST = frozenset({"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetCount_v2", "nvmlEventSetCreate"})
"""What the tests themselves go through."""
NO_SETS = "nvmlEventSet_t"
"""A handle that is checked before anything is looked up."""


def text(chosen: random.Random, longest: int) -> str:
    """A text of at least one character."""
    return "".join(chosen.choice(TEXTS) for _ in range(chosen.randrange(1, longest)))


def value(kind: Any, chosen: random.Random) -> Any:
    """A value of a cffi type, in the form that the binding gives; a handle is a Gpu."""
    ffi = calls.ffi()
    if kind.kind == "primitive":
        bits = 8 * ffi.sizeof(kind)
        if kind.cname in {"double", "float"}:
            return chosen.random()
        signed = int(ffi.cast(kind, -1)) < 0 if kind.cname != "char" else False
        return chosen.randrange(-(1 << bits - 1), 1 << bits - 1) if signed else chosen.randrange(1 << bits)
    if kind.kind == "enum":
        return chosen.randrange(1 << 31)
    if kind.kind == "pointer":
        return Gpu(chosen.randrange(DEVICES)) if kind.item.cname == "struct nvmlDevice_st" else 0
    if kind.kind == "union":
        return chosen.randbytes(ffi.sizeof(kind))
    if kind.kind == "array":
        if kind.item.cname == "char":
            return text(chosen, kind.length)
        return chosen.randbytes(kind.length) if kind.item.cname == "unsigned char" else [value(kind.item, chosen) for _ in range(kind.length)]
    return dict(members(kind, chosen))


def members(kind: Any, chosen: random.Random, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The members of a struct by the binding's names; what a pointer points to is none of them, and members of one place hold the same."""
    places: dict[int, Any] = {}
    for name, member in kind.fields:
        if member.type.kind == "struct":
            yield from members(member.type, chosen, f"{prefix}{name}.")
        elif member.type.kind != "pointer" or (member.type.item.kind == "struct" and "_st" in member.type.item.cname):
            places.setdefault(member.offset, value(member.type, chosen))
            yield prefix + name, places[member.offset]


def names() -> list[str]:
    """The functions that can hold an answer with a value."""
    functions = calls.signatures().FUNCTIONS
    writes = {"out", "struct", "list", "text"}
    able = [name for name, params in functions.items() if any(role in writes for _, _, role in params)]
    without = UNRECORDED | {FIELD_VALUES} | {name for name in able if any((kind, role) == (NO_SETS, "handle") for _, kind, role in functions[name])}
    return [name for name in able if name not in without]


def handled(function: str) -> bool:
    """Whether a function takes a handle that is no device's."""
    return any(role == "handle" for _, _, role in calls.signatures().FUNCTIONS[function])


def versions(function: str) -> list[dict[str, int]]:
    """The version words that a function's structs can be asked in: one choice each."""
    found: list[dict[str, int]] = [{}]
    for name, kind, role in calls.signatures().FUNCTIONS[function]:
        known = calls.signatures().VERSIONS.get(calls.signatures().ALIASES.get(kind.rstrip(" *"), kind.rstrip(" *")), {})
        if role in {"struct", "const"} and known:
            found = [{**choice, f"{name}.version": version} for choice in found for version in known]
    return found


def asked(function: str, version: dict[str, int], seed: int = 0, gpu: int = 0) -> Asked:
    """A call with arguments that the function may be asked with; ``seed`` chooses others."""
    given: list[tuple[str, int | str | Gpu]] = []
    devices = [name for name, _, role in calls.signatures().FUNCTIONS[function] if role == "device"]
    sizes = calls.signatures().ARRAYS.get(function, {}).values()
    for name, kind, role in calls.signatures().FUNCTIONS[function]:
        if role == "device" and name != devices[0]:
            given.append((name, Gpu((seed + 1) % DEVICES)))
        elif role == "in" and name != "length":
            given.append((name, ARRAY_SIZE * (seed + 1) if name in sizes else seed))
        elif role == "const" and kind == "char *":
            given.append((name, f"text-{seed}" + "x" * seed))
        elif f"{name}.version" in version:
            given.append((f"{name}.version", version[f"{name}.version"]))
    return Asked(function, gpu if devices else None, tuple(given))


def answer(call: Asked, seed: str = "") -> Answer:
    """SUCCESS with a value of its own in every output."""
    chosen = random.Random(f"{call.function} {call.arguments} {call.gpu} {seed}")
    ffi, given = calls.ffi(), dict(call.arguments)
    params = calls.signatures().FUNCTIONS[call.function]
    counted = next((name for name, _, role in params if role == "count"), None)
    out: dict[str, Any] = {}
    rows = chosen.randrange(1, 4)
    for name, kind, role in params:
        inner = kind.removesuffix("*").strip()
        if role == "text":
            out[name] = text(chosen, 60)
        elif role == "out":
            size = calls.signatures().ARRAYS.get(call.function, {}).get(name)
            number = given.get(size, 0) if size else 0
            assert isinstance(number, int)
            number = number // ffi.sizeof(inner) if size in calls.signatures().IN_BYTES else number
            out[name] = [value(ffi.typeof(inner), chosen) for _ in range(number)] if size else value(ffi.typeof(inner), chosen)
        elif role == "list" and counted in calls.signatures().IN_BYTES:
            rows = ffi.sizeof(inner)
            items = [value(ffi.typeof(inner), chosen), *(blank(ffi.typeof(inner)) for _ in range(rows - 1))]
            out[name] = items
        elif role == "list":
            out[name] = [value(ffi.typeof(inner), chosen) for _ in range(rows)]
        elif role == "struct":
            out.update(struct(name, inner, given, chosen))
    if counted is not None:
        out[counted] = rows if any(role == "list" for _, _, role in params) else chosen.randrange(60, 4000)
    return Answer(0, out)


def blank(kind: Any) -> dict[str, Any]:
    """A struct of zeros, as the binding gives it."""
    return {name: zero(item) for name, item in members(kind, random.Random(0))}


def zero(item: Any) -> Any:
    """The zero of a value."""
    if isinstance(item, list):
        return [zero(one) for one in item]
    return "" if isinstance(item, str) else bytes(len(item)) if isinstance(item, bytes) else {} if isinstance(item, dict) else 0


def struct(name: str, kind: str, given: dict[str, Any], chosen: random.Random) -> Iterator[tuple[str, Any]]:
    """What a struct parameter says, in the version asked; where it points to a list, that list."""
    ffi = calls.ffi()
    own = calls.signatures().ALIASES.get(kind, kind)
    known = calls.signatures().VERSIONS.get(own, {})
    number = given.get(f"{name}.version")
    actual = known.get(number, own) if known else own
    yield from members(ffi.typeof(actual), chosen, f"{name}.")
    if known:
        yield f"{name}.version", ffi.sizeof(actual) | (number if number is not None else 0) << 24
    if actual in calls.STRUCT_LISTS:
        count, pointer = calls.STRUCT_LISTS[actual]
        rows = chosen.randrange(1, 4)
        yield f"{name}.{count}", rows
        yield f"{name}.{pointer}", [value(dict(ffi.typeof(actual).fields)[pointer].type.item, chosen) for _ in range(rows)]


def every(seed: int = 0, gpu: int = 0) -> list[Asked]:
    """One call of every function that can hold an answer, in every version of its structs."""
    return [asked(name, version, seed, gpu) for name in names() for version in versions(name)]
