"""What a call was asked, as the library looks it up: the parts of its arguments that make its key, and the bytes they hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from mocklib import calls
from mocklib import fields as tables
from mocklib.answers import Asked, Gpu
from mocklib.packing import nearest
from mocklib.places import DEVICE, Place
from mocklib.spec import ImageError
from mocklib.structs import constants

FIELD_VALUES = "nvmlDeviceGetFieldValues"
"""Asked entry by entry: its arguments are members of one entry."""
UNRECORDED = frozenset({"nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags", "nvmlShutdown", "nvmlErrorString", "nvmlInternalGetExportTable"})
"""Functions that no recording holds: they begin and end one, answer no code, or give a table of addresses."""
POINTER = 8


@dataclass(frozen=True)
class Part:
    """One part of a key, as ``struct nvp_part`` has it."""

    position: int
    kind: int
    offset: int = 0
    width: int = 0
    word: int = 0


@dataclass(frozen=True)
class Form:
    """One way in which a function was asked."""

    function: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Question:
    """One call, read against the header: ``device`` as the image has it; the parts of its key with what they hold (a text without its filling);
    ``structs`` are the types of its struct parameters in the version asked; ``devices`` are those of the node; ``where`` stands before complaints;
    ``entry`` is the struct of the entries of its list, where that is not the one of nvml.h.
    """

    asked: Asked
    where: str
    device: int
    parts: tuple[tuple[Part, bytes], ...]
    structs: dict[str, str]
    devices: int
    length_alone: bool = False
    entry: str | None = None

    @property
    def params(self) -> tuple[tuple[str, str, str], ...]:
        """The parameters as (name, C type, role)."""
        found: tuple[tuple[str, str, str], ...] = calls.signatures().FUNCTIONS[self.asked.function]
        return found


def described(asked: Asked) -> str:
    """The call in words: function, arguments, device."""
    given = {name: {"gpu": value.index} if isinstance(value, Gpu) else value for name, value in asked.arguments}
    words = f" {json.dumps(given, separators=(',', ':'), default=str)}" if given else ""
    return f"{asked.function}{words}" + (f" of device {asked.gpu}" if asked.gpu is not None else "")


def question(asked: Asked, devices: int, entry: str | None = None) -> Question:
    """The call read against the header, on a node of ``devices``; ImageError says what is wrong with it.

    ``entry``: the struct of the entries of its list, None for that of nvml.h.
    """
    where = described(asked)
    known = calls.signatures().FUNCTIONS
    if asked.function not in known or asked.function not in tables.function_index():
        raise ImageError(f"{where}: no such function{nearest(asked.function, known)}")
    if asked.function in UNRECORDED:
        raise ImageError(f"{where}: no recording answers it")
    return replace(_Reader(asked, where, devices).question(), entry=entry)


class _Reader:
    """Reads one call."""

    def __init__(self, asked: Asked, where: str, devices: int) -> None:
        self.asked = asked
        self.where = where
        self.devices = devices
        self.params: tuple[tuple[str, str, str], ...] = calls.signatures().FUNCTIONS[asked.function]
        self.given: dict[str, Any] = dict(asked.arguments)
        self.parts: list[tuple[Part, bytes]] = []
        self.structs: dict[str, str] = {}
        self.length_alone = False

    def fail(self, why: str) -> ImageError:
        """The complaint about the call."""
        return ImageError(f"{self.where}: {why}")

    def question(self) -> Question:
        """The whole call."""
        device = self.device()
        if self.asked.function == FIELD_VALUES:
            self.given = {f"values.{name}": value for name, value in self.given.items()}
        for position, (name, kind, role) in enumerate(self.params):
            if role in {"device", "handle", "in", "length"} and not (self.asked.function == FIELD_VALUES and role == "in"):
                self.value(position, name, kind, role)
            elif role == "const" and kind.startswith("char"):
                self.text(position, name)
            elif role in {"struct", "const"} and not kind.startswith("void"):
                self.struct(position, name, kind.rstrip(" *"))
            elif role == "list" and self.given.get(name) == 0:
                self.length_alone = True
                del self.given[name]
        if self.given:
            names = [name for name, _, _ in self.params]
            raise self.fail(f"{next(iter(self.given))} is no input of it; its parameters are {', '.join(names)}")
        return Question(self.asked, self.where, device, tuple(self.parts), self.structs, self.devices, self.length_alone)

    def device(self) -> int:
        """The device of the call, or NVP_NODE; the first device parameter is it, the others are arguments."""
        names = [name for name, _, role in self.params if role == "device"]
        if bool(names) != (self.asked.gpu is not None):
            raise self.fail("it has a device, and none was asked" if names else "it has no device, and one was asked")
        if self.asked.gpu is None:
            return constants()["NVP_NODE"]
        return self.index(self.asked.gpu)

    def index(self, number: int) -> int:
        """A device's index, if there is such a device."""
        if not 0 <= number < self.devices:
            raise self.fail(f"no device {number}; the node has {self.devices}")
        return number

    def value(self, position: int, name: str, kind: str, role: str) -> None:
        """A parameter by value: a number, another device, or a handle that is no GPU's, which is NULL.

        The length of a caller's buffer tells no answers apart unless it was asked for.
        """
        first = next((param for param, _, other in self.params if other == "device"), None)
        if name == first or ((role == "length" or name == "length") and name not in self.given):
            return
        if role == "device":
            number = self.given.pop(name, None)
            if not isinstance(number, Gpu):
                raise self.fail(f"{name} is a device, and {number!r} is none")
            self.add(position, "VALUE", self.index(number.index).to_bytes(4, "little"))
            return
        number = self.given.pop(name, 0)
        if role == "handle" and number != 0:
            raise self.fail(f"{name} is no GPU's handle: it can be recorded as NULL alone")
        if role == "handle":
            self.add(position, "VALUE", bytes(POINTER))
        else:
            self.add(position, "VALUE", self.packed(kind, name, number))

    def packed(self, kind: str, name: str, value: Any) -> bytes:
        """One value of a C type."""
        place = Place(kind, 1, self.where)
        place.put(name, value)
        return place.content().data

    def text(self, position: int, name: str) -> None:
        """A text that is read."""
        value = self.given.pop(name, "")
        if not isinstance(value, (str, bytes)):
            raise self.fail(f"{name} is a text, and {value!r} is none")
        self.add(position, "TEXT", value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape"))

    def struct(self, position: int, name: str, kind: str) -> None:
        """A struct: its version word and its members given; pointers that are no list's were NULL, and the answer is that of a caller's NULL."""
        own = calls.signatures().ALIASES.get(kind, kind)
        versions = calls.signatures().VERSIONS.get(own, {})
        self.structs[name] = own
        if versions:
            number = self.given.pop(f"{name}.version", None)
            if number is None:
                number = next(version for version, struct in versions.items() if struct == own)
            if not isinstance(number, int) or not 0 <= number < 256:
                raise self.fail(f"{name}.version: {number!r} is no version")
            self.structs[name] = versions.get(number, own)
            word = calls.ffi().sizeof(self.structs[name]) | number << 24
            self.parts.append((Part(position, constants()["NVP_PART_WORD"], word=word), b""))
        actual = self.structs[name]
        if calls.ffi().typeof(actual).kind != "struct":
            return
        members = dict(calls.ffi().typeof(actual).fields)
        if not versions and "version" in members:
            self.given.setdefault(f"{name}.version", calls.signatures().PLAIN_VERSIONS.get(own, 0))
        listed = members[calls.STRUCT_LISTS[actual][1]].offset if actual in calls.STRUCT_LISTS else None
        for offset in pointers(calls.ffi().typeof(actual)):
            if offset != listed:
                self.add(position, "MEMBER", bytes(POINTER), offset)
        for key in [key for key in self.given if key.startswith(f"{name}.")]:
            self.member(position, actual, key, self.given.pop(key))

    def member(self, position: int, kind: str, key: str, value: Any) -> None:
        """A member that is read."""
        place = Place(kind, 1, self.where)
        names = key.split(".")[1:]
        place.member(key, names, value)
        if place.handles:
            raise self.fail(f"{key}: a device inside a struct tells no answers apart")
        offset, size = place.extent(names)
        self.add(position, "MEMBER", place.content().data[offset : offset + size], offset)

    def add(self, position: int, kind: str, data: bytes, offset: int = 0) -> None:
        """A part of the key."""
        self.parts.append((Part(position, constants()[f"NVP_PART_{kind}"], offset, len(data)), data))


def pointers(kind: Any, start: int = 0) -> Iterator[int]:
    """The offsets of a struct's pointers that are no device handles, outside arrays."""
    for _, member in kind.fields:
        if member.type.kind == "pointer" and member.type.cname != DEVICE:
            yield start + member.offset
        elif member.type.kind == "struct":
            yield from pointers(member.type, start + member.offset)


def text_widths(questions: Iterable[Question]) -> dict[tuple[str, int], int]:
    """(Function, position) of each text -> the bytes that the longest takes with its NUL."""
    widths: dict[tuple[str, int], int] = {}
    for question in questions:
        for part, data in question.parts:
            if part.kind == constants()["NVP_PART_TEXT"]:
                place = (question.asked.function, part.position)
                widths[place] = max(widths.get(place, 0), len(data) + 1)
    return widths


def keyed(question: Question, widths: dict[tuple[str, int], int]) -> tuple[Form, bytes]:
    """The form of a call and its key."""
    parts = []
    key = b""
    for part, data in question.parts:
        width = widths.get((question.asked.function, part.position), part.width) if part.kind == constants()["NVP_PART_TEXT"] else part.width
        parts.append(Part(part.position, part.kind, part.offset, width, part.word))
        key += data.ljust(width, b"\0")
    return Form(question.asked.function, tuple(parts)), key
