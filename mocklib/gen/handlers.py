"""``tables/functions/*.yaml``: which function answers from which fields, checked against the header and the field table."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Any

from mocklib import fields as tables
from mocklib.fields import FieldDef, TableError
from mocklib.gen.header import Function, Header, Type

KEYS = frozenset({"out", "string", "by", "version", "handler", "program", "arguments", "only", "below", "uninitialised", "size", "reads", "blank",
                  "root"})  # fmt: skip
STEP = re.compile(r"([A-Za-z_]\w*)((?:\[\d+\])*)$")


@dataclass(frozen=True)
class Item:
    """One thing written: ``place`` is the C lvalue, ``kind`` number, text or bytes.

    Exactly one of ``field``, ``keyed`` (key tuple -> field) and ``const`` is set; ``absent`` is written when the field has a status.
    """

    place: str
    kind: str
    field: FieldDef | None = None
    keyed: dict[tuple[int, ...], FieldDef] = dataclasses.field(default_factory=dict)
    const: int | None = None
    absent: int | None = None


@dataclass(frozen=True)
class Handler:
    """How one function answers; see docs/architecture.md for the grammar."""

    function: str
    outs: tuple[Item, ...] = ()
    by: tuple[str, ...] = ()
    texts: tuple[Item, ...] = ()
    versions: dict[int, tuple[Item, ...]] = dataclasses.field(default_factory=dict)
    custom: str | None = None
    program: str | None = None
    arguments: tuple[str, ...] = ()  # initialisers of struct nvp_argument
    only: dict[str, int] = dataclasses.field(default_factory=dict)
    below: dict[str, int] = dataclasses.field(default_factory=dict)
    uninitialised: bool = False
    size: int | None = None
    blank: bool = False
    root: bool = False
    answers: bool = True


class _Checker:
    """Turns one function's entry into a Handler; every error names file and function."""

    def __init__(self, function: Function, header: Header, file: str) -> None:
        self.function = function
        self.header = header
        self.file = file
        self.fields = {**tables.system_fields(), **tables.device_fields()}

    def fail(self, message: str) -> TableError:
        """The error ``message`` with file and function in front."""
        return TableError(f"functions/{self.file}: {self.function.name}: {message}")

    def place(self, path: str, struct: str | None = None) -> tuple[str, Type]:
        """The C lvalue of ``param``, ``param.member`` or ``param.member[1].member`` and its type; ``struct`` replaces the parameter's struct."""
        name, _, rest = path.partition(".")
        params = {param.name: param for param in self.function.params}
        if name not in params:
            raise self.fail(f"no parameter {name!r}; it has {', '.join(params)}")
        found = params[name].type
        if not rest:
            return (f"*{name}" if found.pointers else name), Type(found.name)
        expression = f"(({struct} *){name})" if struct else name
        current = self.header.resolve(struct or found.name)
        for position, part in enumerate(rest.split(".")):
            matched = STEP.match(part)
            members = {member.name: member for member in self.header.structs.get(current, ())}
            if not matched or matched.group(1) not in members:
                raise self.fail(f"{current} has no member {part!r}; it has {', '.join(members)}")
            found = members[matched.group(1)].type
            expression += ("->" if position == 0 else ".") + part
            indices = matched.group(2).count("[")
            found = Type(found.name, found.pointers, found.array[indices:], found.const)
            current = self.header.resolve(found.name)
        return expression, found

    def known_field(self, name: Any) -> FieldDef:
        """The field called ``name``."""
        if not isinstance(name, str) or name not in self.fields:
            raise self.fail(f"no field {name!r} in fields.yaml")
        return self.fields[name]

    def keys(self, value: Any, depth: int) -> dict[tuple[int, ...], FieldDef]:
        """A nested mapping of ``depth`` keys flattened."""
        if depth == 0:
            return {(): self.known_field(value)}
        if not isinstance(value, dict):
            raise self.fail(f"{value!r} stands where a mapping by key is wanted")
        return {(int(key), *rest): found for key, inner in value.items() for rest, found in self.keys(inner, depth - 1).items()}

    def item(self, path: str, value: Any, depth: int, struct: str | None = None) -> Item:
        """One entry of ``out`` or ``string``."""
        place, kind_of = self.place(path, struct)
        if isinstance(value, dict) and set(value) == {"const"}:
            return Item(place, "number", const=int(value["const"]))
        if isinstance(value, dict) and set(value) == {"field", "absent"}:
            return Item(place, "number", field=self.known_field(value["field"]), absent=int(value["absent"]))
        if depth and isinstance(value, dict):
            keyed = self.keys(value, depth)
            kinds = {self.kind(kind_of, found) for found in keyed.values()}
            return Item(place, kinds.pop(), keyed=keyed)
        found = self.known_field(value)
        return Item(place, self.kind(kind_of, found), field=found)

    def kind(self, place: Type, found: FieldDef) -> str:
        """number, text or bytes, by the field's type and the place it goes to."""
        if found.type in tables.NUMBERS:
            if place.array:
                raise self.fail(f"{found.name} is a number and goes to an array")
            return "number"
        if found.type in {"string", "bytes"}:
            return "text" if found.type == "string" else "bytes"
        raise self.fail(f"{found.name} is a {found.type}: it needs a handler written in C")

    def handler(self, entry: dict[str, Any]) -> Handler:
        """The whole entry."""
        if unknown := set(entry) - KEYS:
            raise self.fail(f"unknown key {', '.join(sorted(unknown))}; keys are {', '.join(sorted(KEYS))}")
        by = tuple(entry.get("by", ()))
        for path in by:
            self.place(path)
        if (program := entry.get("program")) is not None and program not in tables.program_steps():
            raise self.fail(f"no program {program!r} in programs.yaml")
        for name in entry.get("reads", ()):
            self.known_field(name)
        versions = {}
        for version, inner in entry.get("version", {}).items():
            versions[int(version)] = tuple(self.versioned(path, value, int(version)) for path, value in inner["out"].items())
        return Handler(
            self.function.name,
            outs=tuple(self.item(path, value, len(by)) for path, value in entry.get("out", {}).items()),
            by=by,
            texts=tuple(self.item(path, value, len(by)) for path, value in entry.get("string", {}).items()),
            versions=versions,
            custom=entry.get("handler"),
            program=program,
            arguments=tuple(map(self.argument, entry.get("arguments", ()))),
            only={self.place(path)[0]: int(value) for path, value in entry.get("only", {}).items()},
            below={self.place(path)[0]: int(value) for path, value in entry.get("below", {}).items()},
            uninitialised=bool(entry.get("uninitialised", False)),
            size=entry.get("size"),
            blank=bool(entry.get("blank", False)),
            root=bool(entry.get("root", False)),
            answers=set(entry) != {"root"},
        )

    def argument(self, path: str) -> str:
        """What a program is given for ``param`` or ``param.member``: a number, the bytes of an array or a text without its NUL."""
        expression, found = self.place(path)
        name = path.partition(".")[0]
        pointers = next(param.type.pointers for param in self.function.params if param.name == name)
        if "." not in path and pointers and self.header.resolve(found.name) == "char":
            return f"{{.bytes = {name}, .size = strlen({name})}}"
        if found.array and self.header.resolve(found.name) == "char":
            return f"{{.bytes = {expression}, .size = strnlen({expression}, sizeof {expression})}}"
        if found.array or self.header.resolve(found.name) in self.header.structs:
            return f"{{.bytes = &{expression}, .size = sizeof {expression}}}"
        return f"{{.value = (uint64_t){expression}}}"

    def versioned(self, path: str, value: Any, version: int) -> Item:
        """One entry of ``out`` under ``version``: the parameter is seen as the struct of that version."""
        param = next(param for param in self.function.params if param.name == path.partition(".")[0])
        family = self.header.family(self.header.resolve(param.type.name))
        if version not in family:
            raise self.fail(f"{param.name} has no version {version}; it has {', '.join(map(str, family))}")
        return self.item(path, value, 0, family[version])


def load(header: Header) -> dict[str, Handler]:
    """Function -> Handler from every file of ``tables/functions``; an unknown function or a second entry for one is an error."""
    found: dict[str, Handler] = {}
    for path in sorted((tables.TABLES / "functions").glob("*.yaml")):
        for name, entry in (tables.load_yaml(path) or {}).items():
            if name == "format":
                continue
            if name not in header.functions:
                raise TableError(f"functions/{path.name}: {name}: the header declares no such function")
            if name in found:
                raise TableError(f"functions/{path.name}: {name}: has an entry in another file")
            found[name] = _Checker(header.functions[name], header, path.name).handler(entry)
    return found
