"""What a recorded call answered, as the writes that give it again: texts, numbers, structs, lists with their count, handles as indices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mocklib import calls
from mocklib.binding import Answer
from mocklib.packing import nearest
from mocklib.places import Content, Place
from mocklib.questions import FIELD_VALUES, Question, pointers
from mocklib.spec import ImageError
from mocklib.structs import constants

INSUFFICIENT_SIZE = 7
UNION = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}
"""nvmlValueType_t -> member of nvmlValue_t (nvml.h)."""
TEXT_SIZE = 64
"""The room for a text whose length no parameter says (nvml.h, NVML_GSP_FIRMWARE_VERSION_BUF_SIZE)."""


@dataclass(frozen=True)
class Write:
    """As ``struct nvp_write``: ``data`` are the bytes of it, or the index of the device whose handle is written."""

    position: int
    kind: int
    offset: int
    data: bytes | int


@dataclass
class Written:
    """An answer: its code, how long its list is, whether the function's count says so, whether nothing is known of the list but that, its writes."""

    code: int
    count: int = 0
    counted: bool = False
    length_alone: bool = False
    writes: list[Write] = field(default_factory=list)


def of(question: Question, answer: Answer) -> Written:
    """The writes of an answer; ImageError names the member that cannot be written."""
    return _Writer(question, answer).written()


class _Writer:
    """Takes an answer's values one by one."""

    def __init__(self, question: Question, answer: Answer) -> None:
        self.question = question
        self.answer = answer
        self.left: dict[str, Any] = dict(answer.out)
        self.made = Written(answer.code)
        self.counted = next((name for name, _, role in question.params if role == "count"), None)

    def fail(self, why: str) -> ImageError:
        """The complaint about the answer."""
        return ImageError(f"{self.question.where}: {why}")

    def written(self) -> Written:
        """The whole answer."""
        if not 0 <= self.answer.code <= 0xFFFF:
            raise self.fail(f"{self.answer.code} is no return code")
        if self.answer.code:
            self.refused()
        elif self.question.asked.function == FIELD_VALUES:
            self.field_value()
        else:
            self.lists()
            for position, (name, kind, role) in enumerate(self.question.params):
                self.parameter(position, name, kind, role)
        if self.left:
            name = next(iter(self.left))
            raise self.fail(f"{name} is nothing it writes{nearest(name, self.names())}")
        return self.made

    def names(self) -> Iterator[str]:
        """What it can write, by the names that the binding gives."""
        for name, _, role in self.question.params:
            if role == "struct":
                yield from (f"{name}.{member}" for member, _ in calls.ffi().typeof(self.question.structs[name]).fields)
            elif role in {"out", "list", "count", "text"}:
                yield name

    def refused(self) -> None:
        """A code with no value: the count alone is written, where the library said one."""
        lists = any(role == "list" for _, _, role in self.question.params)
        unchanged = 0 if lists else calls.TEXT_SIZE  # what the binding hands in
        count = self.left.pop(self.counted, unchanged) if self.counted else unchanged
        if count != unchanged or (self.counted and self.answer.code == INSUFFICIENT_SIZE):
            self.made.count, self.made.counted = self.number(count), True

    def number(self, value: Any) -> int:
        """A count."""
        if not isinstance(value, int) or not 0 <= value <= 0xFFFFFFFF:
            raise self.fail(f"{self.counted}: {value!r} is no count")
        return value

    def lists(self) -> None:
        """The count, from itself or from its lists, and whether their items are known."""
        if self.counted is None:
            return
        given = [len(self.left[name]) for name, _, role in self.question.params if role == "list" and isinstance(self.left.get(name), (list, tuple))]
        named = self.left.pop(self.counted, None)
        self.made.count, self.made.counted = self.number(named if named is not None else max(given, default=0)), True
        has_lists = any(role == "list" for _, _, role in self.question.params)
        self.made.length_alone = has_lists and self.made.count > 0 and (self.question.length_alone or not given)

    def parameter(self, position: int, name: str, kind: str, role: str) -> None:
        """What is written through one parameter."""
        if role == "text" and name in self.left:
            self.text(position, name, self.left.pop(name))
        elif role == "list" and name in self.left:
            self.items(position, name, self.question.entry or kind.removesuffix("*").strip(), self.left.pop(name))
        elif role == "out" and name in self.left:
            self.out(position, name, kind.removesuffix("*").strip(), self.left.pop(name))
        elif role == "struct":
            self.struct(position, name, self.question.structs[name])

    def text(self, position: int, name: str, value: Any) -> None:
        """A text for the caller's buffer."""
        if not isinstance(value, (str, bytes)):
            raise self.fail(f"{name}: {value!r} is no text")
        data = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
        sized = any(role in {"length", "count"} for _, _, role in self.question.params)
        if b"\0" in data or (not sized and len(data) >= TEXT_SIZE):
            raise self.fail(f"{name}: {'a text with a NUL' if sized or len(data) < TEXT_SIZE else f'{len(data)} bytes do not fit its {TEXT_SIZE}'}")
        self.made.writes.append(Write(position, constants()["NVP_WRITE_TEXT"], 0, data))

    def items(self, position: int, name: str, kind: str, value: Any) -> None:
        """The items of a list; a count of bytes cuts them to it."""
        if self.made.length_alone and not value:
            return
        if not isinstance(value, (list, tuple)):
            raise self.fail(f"{name}: {value!r} is no list")
        count = self.made.count
        whole = count if self.counted in calls.signatures().IN_BYTES else None
        if whole is None and len(value) != count:
            raise self.fail(f"{name}: {len(value)} items, and {self.counted} says {count}")
        place = Place(kind, max(len(value), 1), self.question.where)
        for number, item in enumerate(value):
            place.put(f"{name}[{number}]", item, number)
        content = place.content()
        size = len(value) * place.size
        if not size:
            return
        self.add(position, Content(content.data[: size if whole is None else min(size, whole)], content.handles))

    def out(self, position: int, name: str, kind: str, value: Any) -> None:
        """A number or handle behind a pointer, or an array of numbers whose size the caller says."""
        values = value if isinstance(value, (list, tuple)) and name in calls.signatures().ARRAYS.get(self.question.asked.function, {}) else [value]
        if not values:
            return
        place = Place(kind, len(values), self.question.where)
        for number, item in enumerate(values):
            place.put(name if len(values) == 1 else f"{name}[{number}]", item, number)
        self.add(position, place.content())

    def struct(self, position: int, name: str, kind: str) -> None:
        """A whole struct, as asked and then as answered; what it points to is the caller's and stays."""
        place = Place(kind, 1, self.question.where)
        for part, data in self.question.parts:
            if part.position == position and part.kind == constants()["NVP_PART_WORD"]:
                place.raw(0, part.word.to_bytes(4, "little"))
            elif part.position == position:
                place.raw(part.offset, data)
        self.rows(position, name, kind)
        for key in [key for key in self.left if key.startswith(f"{name}.")]:
            place.member(key, key.split(".")[1:], self.left.pop(key))
        content = place.content()
        start = 0
        for hole in (*pointers(calls.ffi().typeof(kind)), len(content.data)):
            if hole > start:
                self.add(position, Content(content.data[start:hole]), start)
            start = hole + calls.ffi().sizeof("void *")
        self.handles(position, content)
        self.texts(position, kind, content)

    def texts(self, position: int, kind: str, content: Content) -> None:
        """The texts of a struct beside which the caller says how long a text may be (nvmlSystemGetDriverBranch)."""
        if not any((name, role) == ("length", "in") for name, _, role in self.question.params):
            return
        for _, member in calls.ffi().typeof(kind).fields:
            if member.type.kind == "array" and member.type.item.cname == "char":
                text = content.data[member.offset : member.offset + member.type.length].split(b"\0", 1)[0]
                if len(text) < member.type.length:
                    self.made.writes.append(Write(position, constants()["NVP_WRITE_TEXT"], member.offset, text))

    def rows(self, position: int, name: str, kind: str) -> None:
        """The list that a struct points to."""
        if kind not in calls.STRUCT_LISTS:
            return
        counted, pointer = calls.STRUCT_LISTS[kind]
        member = dict(calls.ffi().typeof(kind).fields)[pointer]
        value = self.left.pop(f"{name}.{pointer}", [])
        if not isinstance(value, (list, tuple)) or len(value) != self.left.get(f"{name}.{counted}", len(value)):
            raise self.fail(f"{name}.{pointer}: {value!r} is no list of as many as {name}.{counted} says")
        self.left.setdefault(f"{name}.{counted}", len(value))
        place = Place(member.type.item.cname, len(value), self.question.where)
        for number, item in enumerate(value):
            place.put(f"{name}.{pointer}[{number}]", item, number)
        self.made.count = len(value)
        self.made.writes.append(Write(position, constants()["NVP_WRITE_ROWS"], member.offset, place.content().data))

    def field_value(self) -> None:
        """One entry of nvmlDeviceGetFieldValues: the type of its value and the value."""
        position = next(number for number, (name, _, _) in enumerate(self.question.params) if name == "values")
        members = dict(calls.ffi().typeof("nvmlFieldValue_t").fields)
        kind, value = self.left.pop("valueType", 3), self.left.pop("value", 0)
        place = Place("nvmlFieldValue_t", 1, self.question.where)
        place.member("valueType", ["valueType"], kind)
        place.member("value", ["value"], value) if isinstance(value, bytes) else place.member("value", ["value", UNION.get(kind, "ullVal")], value)
        for name in ("valueType", "value"):
            start, size = members[name].offset, calls.ffi().sizeof(members[name].type)
            self.add(position, Content(place.content().data[start : start + size]), start)

    def add(self, position: int, content: Content, offset: int = 0) -> None:
        """Bytes and the handles among them."""
        self.made.writes.append(Write(position, constants()["NVP_WRITE_BYTES"], offset, content.data))
        self.handles(position, content)

    def handles(self, position: int, content: Content) -> None:
        """Handles, over the zeros that stand in their place."""
        for offset, index in content.handles:
            if not 0 <= index < self.question.devices:
                raise self.fail(f"no device {index}; the node has {self.question.devices}")
            self.made.writes.append(Write(position, constants()["NVP_WRITE_HANDLE"], offset, index))
