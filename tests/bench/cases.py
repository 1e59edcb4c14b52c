"""What is measured: every getter that the function tables answer from fields, and the cases of cases.yaml."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mocklib.gen.arguments import arguments_of
from mocklib.gen.handlers import Handler, Item
from mocklib.gen.header import Function, Header, Param

HERE = Path(__file__).resolve().parent
FORMAT = 1
KEYS_OF_ONE = 4
"""Cases made of one function with a key: the first so many keys that its table names (the code is the same for all)."""
TEXT_SIZE = 96
OUT = "mem:16:"
GETTER = re.compile(r"nvml(Device|System)Get")


class CasesError(ValueError):
    """cases.yaml is wrong, or a table has a getter that cannot be called; the message names it."""


@dataclass(frozen=True)
class Case:
    """One call: a name of its own, the function, its class (one of limits.yaml), arguments as loop.c reads them."""

    name: str
    function: str
    kind: str
    arguments: tuple[str, ...]

    @property
    def line(self) -> str:
        """The case as loop.c reads it."""
        return " ".join((self.name, self.function, *self.arguments))


@dataclass(frozen=True)
class Callers:
    """The header and the sizes of its types, from which arguments are made."""

    header: Header
    size_of: Callable[[str], int]

    def struct(self, kind: str) -> str:
        """Zeroed memory for one struct, with its version word in front where it has one (size, and version in the top byte)."""
        size = self.size_of(kind)
        version = self.header.versions.get(self.header.resolve(kind))
        word = struct.pack("=I", size | version[1] << 24).hex() if version else ""
        return f"mem:{size}:{word}"

    def of_parameter(self, function: Function, param: Param, keys: Mapping[str, int], kind: str | None) -> str:
        """The argument for one parameter; ``keys`` are the numbers asked for by name, ``kind`` replaces the type of a versioned struct."""
        roles = arguments_of(function, self.header)
        if param.name in roles.devices:
            return "device"
        if param.name in roles.texts.values():
            return str(TEXT_SIZE)
        if not param.type.pointers:
            return str(keys.get(param.name, 0))
        if param.name in roles.texts:
            return f"mem:{TEXT_SIZE}:"
        if self.header.resolve(param.type.name) in self.header.structs:
            return self.struct(kind if kind and param.name in roles.versions else param.type.name)
        return OUT

    def case(self, name: str, function: Function, kind: str, keys: Mapping[str, int], version: str | None = None) -> Case:
        """One case of a function."""
        return Case(name, function.name, kind, tuple(self.of_parameter(function, param, keys, version) for param in function.params))


def _keys(handler: Handler) -> Iterator[Mapping[str, int]]:
    """The first keys that a handler's table names, by parameter.

    One empty mapping for a handler without keys, or whose key stands in a struct, where it is 0 (``temperature.sensorType``).
    """
    if any("." in path for path in handler.by):
        yield {}
        return
    items: list[Item] = [*handler.outs, *handler.texts]
    named = sorted({key for item in items for key in item.keyed})
    for key in named[:KEYS_OF_ONE] or [()]:
        yield dict(zip(handler.by, key, strict=False))


def _kind(handler: Handler) -> str:
    if handler.texts:
        return "string"
    if handler.versions or any("->" in item.place for item in handler.outs):
        return "struct"
    if handler.by:
        return "enum"
    return "scalar" if len(handler.outs) == 1 else "numbers"


def from_tables(header: Header, handlers: Mapping[str, Handler], size_of: Callable[[str], int]) -> Iterator[Case]:
    """The cases of every getter of a device or of the node that the tables answer from fields, in the order of the tables."""
    callers = Callers(header, size_of)
    for name, handler in handlers.items():
        if not GETTER.match(name) or handler.custom or handler.program:
            continue
        function = header.functions[name]
        if handler.versions:
            family = next(iter(arguments_of(function, header).versions.values()))
            for version in handler.versions:
                yield callers.case(f"{name}:v{version}", function, "struct", {}, family[version])
            continue
        for keys in _keys(handler):
            shown = ",".join(map(str, keys.values()))
            yield callers.case(f"{name}({shown})" if keys else name, function, _kind(handler), keys)


def _fields(listed: str) -> str:
    """An array of nvmlFieldValue_t (40 bytes: fieldId, scopeId, timestamp, latencyUsec, valueType, nvmlReturn, value) that asks for ``listed``."""
    wanted = b"".join(struct.pack("=IIqqIIq", int(number), 0, 0, 0, 0, 0, 0) for number in listed.split(","))
    return f"mem:{len(wanted)}:{wanted.hex()}"


def _argument(text: str, callers: Callers) -> str:
    word, _, rest = text.partition(":")
    made = {
        "out": lambda: OUT,
        "bytes": lambda: f"mem:{int(rest)}:",
        "struct": lambda: callers.struct(rest),
        "fields": lambda: _fields(rest),
    }
    return made[word]() if word in made else text


def listed(document: Any, header: Header, size_of: Callable[[str], int]) -> Iterator[Case]:
    """The cases of cases.yaml's parsed content; CasesError names the entry that is wrong."""
    if not isinstance(document, dict) or document.get("format") not in {FORMAT, FORMAT - 1}:
        raise CasesError(f"cases.yaml: format {FORMAT} is expected first")
    callers = Callers(header, size_of)
    for name, entry in document["cases"].items():
        if name not in header.functions:
            raise CasesError(f"cases.yaml: {name}: the header declares no such function")
        if set(entry) != {"class", "arguments"} or len(entry["arguments"]) != len(header.functions[name].params):
            raise CasesError(f"cases.yaml: {name}: class and {len(header.functions[name].params)} arguments are expected")
        yield Case(name, name, entry["class"], tuple(_argument(str(argument), callers) for argument in entry["arguments"]))


def all_cases(header: Header, handlers: Mapping[str, Handler], size_of: Callable[[str], int]) -> list[Case]:
    """Every case, those of the tables first."""
    document = yaml.safe_load((HERE / "cases.yaml").read_text("utf-8"))
    return [*from_tables(header, handlers, size_of), *listed(document, header, size_of)]


def batches(cases: Iterable[Case]) -> list[list[Case]]:
    """The cases split so that no batch calls a function twice: callgrind tells calls apart by function."""
    found: list[list[Case]] = []
    for case in cases:
        free = next((batch for batch in found if all(other.function != case.function for other in batch)), None)
        if free is None:
            free = []
            found.append(free)
        free.append(case)
    return found
