"""nvml.h as data: functions, structs, enums and version words, parsed by pycparser from the text the C preprocessor leaves.

The header itself comes from the PyPI package nvidia-nvml-dev or from NVPARITY_NVML_HEADER; it is never committed.
"""

from __future__ import annotations

import importlib.util
import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pycparser import c_ast, c_parser

OLDER = Path(__file__).resolve().parent.parent / "include" / "nvp_older.h"
PIP_COMMAND = "pip install 'nvidia-nvml-dev==13.5.*'"
VERSIONED = re.compile(r"NVML_STRUCT_VERSION\(\s*(\w+),\s*(\d+)\)")
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)")


class HeaderMissingError(RuntimeError):
    """nvml.h is nowhere to be found; the message names the command that brings it."""


class HeaderSyntaxError(ValueError):
    """What is given as nvml.h is no C; the message says where."""


def find_header() -> Path:
    """The path of nvml.h: NVPARITY_NVML_HEADER, else the installed nvidia-nvml-dev."""
    named = os.environ.get("NVPARITY_NVML_HEADER")
    if named:
        if Path(named).is_file():
            return Path(named)
        raise HeaderMissingError(f"NVPARITY_NVML_HEADER={named} is not a file; unset it and run: {PIP_COMMAND}")
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations or () if spec else ():
        for header in sorted(Path(root).glob("*/include/nvml.h")):
            return header
    raise HeaderMissingError(f"nvml.h is not installed; run: {PIP_COMMAND} (or name one in NVPARITY_NVML_HEADER)")


@dataclass(frozen=True)
class Type:
    """A C type as far as the generator asks: ``name`` of the innermost type, pointer depth, array sizes, constness of what is pointed to."""

    name: str
    pointers: int = 0
    array: tuple[int, ...] = ()
    const: bool = False


@dataclass(frozen=True)
class Param:
    """One parameter of a function or member of a struct."""

    name: str
    type: Type


@dataclass(frozen=True)
class Function:
    """One declared function; every one but nvmlErrorString returns nvmlReturn_t."""

    name: str
    params: tuple[Param, ...]


@dataclass
class Header:
    """What the generator knows of nvml.h.

    ``structs`` and ``enums`` are keyed by resolved type name; ``versions`` maps a struct to its (family, version) where a version macro exists.
    """

    text: str
    functions: dict[str, Function] = field(default_factory=dict)
    typedefs: dict[str, Any] = field(default_factory=dict)
    structs: dict[str, tuple[Param, ...]] = field(default_factory=dict)
    unions: dict[str, tuple[Param, ...]] = field(default_factory=dict)
    enums: dict[str, dict[str, int]] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    versions: dict[str, tuple[str, int]] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)

    def resolve(self, name: str) -> str:
        """The name at the end of a chain of typedefs: nvmlMemory_v2_t for an alias of it, ``unsigned int`` for nvmlVgpuInstance_t."""
        while isinstance(self.typedefs.get(name), str):
            name = self.typedefs[name]
        return name

    def is_handle(self, name: str) -> bool:
        """Whether a type is one of NVML's opaque pointers (nvmlDevice_t, nvmlUnit_t, nvmlEventSet_t, ...)."""
        return self.typedefs.get(name) == ("handle",)

    def family(self, struct: str) -> dict[int, str]:
        """Version number -> struct of all version macros of the family that ``struct`` belongs to; empty without macros."""
        if struct not in self.versions:
            return {}
        family = self.versions[struct][0]
        return {version: name for name, (other, version) in sorted(self.versions.items()) if other == family and name in self.structs}

    @cached_property
    def enum_ends(self) -> dict[str, int]:
        """Enum -> its largest value that is not a count."""
        ends = {}
        for name, members in self.enums.items():
            real = [value for member, value in members.items() if not re.search(r"_COUNT$", member)]
            ends[name] = max(real, default=0)
        return ends


class _Reader:
    """Walks pycparser's tree into a Header."""

    def __init__(self, header: Header) -> None:
        self.header = header

    def constant(self, node: Any) -> int:
        """The value of a constant expression of integers and enumerators."""
        if isinstance(node, c_ast.Constant):
            return int(node.value.rstrip("uUlL"), 0)
        if isinstance(node, c_ast.ID):
            return self.header.constants[node.name]
        if isinstance(node, c_ast.UnaryOp) and node.op == "-":
            return -self.constant(node.expr)
        if isinstance(node, c_ast.BinaryOp):
            left, right = self.constant(node.left), self.constant(node.right)
            return {"+": left + right, "-": left - right, "*": left * right, "<<": left << right, "|": left | right}[node.op]
        raise ValueError(f"nvml.h: cannot evaluate {type(node).__name__} at {node.coord}")

    def enum(self, name: str, node: c_ast.Enum) -> None:
        """Take an enum's members, counting as C does."""
        value = -1
        members = {}
        for member in node.values.enumerators:
            value = self.constant(member.value) if member.value is not None else value + 1
            members[member.name] = self.header.constants[member.name] = value
        self.header.enums[name] = members

    def members(self, owner: str, node: Any) -> tuple[Param, ...]:
        """The members of a struct or union; an inner struct becomes the type ``owner.member``."""
        found: list[Param] = []
        for decl in node.decls:
            if decl.name is None:  # an anonymous inner union or struct: its members are reached as the outer one's
                found.append(Param("", self.base(decl.type, f"{owner}.")))
            else:
                found.append(Param(decl.name, self.type(decl.type, f"{owner}.{decl.name}")))
        return tuple(found)

    def type(self, node: Any, owner: str) -> Type:
        """A declarator as Type."""
        if isinstance(node, c_ast.PtrDecl):
            inner = self.type(node.type, owner)
            return Type(inner.name, inner.pointers + 1, inner.array, inner.const or "const" in getattr(node.type, "quals", ()))
        if isinstance(node, c_ast.ArrayDecl):
            inner = self.type(node.type, owner)
            return Type(inner.name, inner.pointers, (self.constant(node.dim), *inner.array), inner.const)
        if isinstance(node, c_ast.TypeDecl):
            return self.base(node.type, owner)
        raise ValueError(f"nvml.h: unknown declarator {type(node).__name__} at {node.coord}")

    def base(self, node: Any, owner: str) -> Type:
        """A type specifier as Type; registers structs, unions and enums met on the way."""
        if isinstance(node, c_ast.IdentifierType):
            return Type(" ".join(node.names))
        if isinstance(node, (c_ast.Struct, c_ast.Union)):
            table = self.header.structs if isinstance(node, c_ast.Struct) else self.header.unions
            if node.decls:
                table[owner] = self.members(owner, node)
            return Type(owner if node.decls else f"struct {node.name}")
        if isinstance(node, c_ast.Enum):
            self.enum(owner, node)
            return Type(owner)
        raise ValueError(f"nvml.h: unknown type {type(node).__name__} at {node.coord}")

    def typedef(self, node: c_ast.Typedef) -> None:
        """Take one typedef: an alias, a handle or a type of its own."""
        if isinstance(node.type, c_ast.PtrDecl):
            self.header.typedefs[node.name] = ("handle",)
            return
        tag = getattr(node.type, "type", None)
        if isinstance(tag, (c_ast.Struct, c_ast.Union)) and not tag.decls:
            self.header.typedefs[node.name] = self.header.typedefs[f"struct {tag.name}"]
            return
        found = self.type(node.type, node.name)
        if found.name != node.name:
            self.header.typedefs[node.name] = found.name
        if isinstance(tag, (c_ast.Struct, c_ast.Union)) and tag.name:
            self.header.typedefs.setdefault(f"struct {tag.name}", node.name)

    def function(self, node: c_ast.Decl) -> None:
        """Take one function declaration."""
        params = node.type.args.params if node.type.args else []
        taken = [Param(param.name, self.type(param.type, f"{node.name}.{param.name}")) for param in params if param.name]
        self.header.functions[node.name] = Function(node.name, tuple(taken))


def parse(preprocessed: str, source: str) -> Header:
    """Header from the preprocessed text of nvml.h (with NVML_NO_UNVERSIONED_FUNC_DEFS and the older declarations) and from its source text.

    Raises HeaderSyntaxError.
    """
    text = ATTRIBUTE.sub("", preprocessed)
    try:
        parsed = c_parser.CParser().parse(text)
    except c_parser.ParseError as error:
        raise HeaderSyntaxError(str(error)) from error
    header = Header(text)
    reader = _Reader(header)
    for node in parsed.ext:
        if isinstance(node, c_ast.Typedef):
            reader.typedef(node)
        elif isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
            reader.function(node)
        elif isinstance(node, c_ast.Decl):
            reader.base(node.type, f"struct {node.type.name}") if isinstance(node.type, c_ast.Struct) else reader.enum(node.type.name, node.type)
    for family, version in VERSIONED.findall(source):
        header.versions[f"nvml{family}_v{version}_t"] = (family, int(version))
    header.documents = _documents(source)
    return header


def _documents(source: str) -> dict[str, str]:
    """Function -> its comment in the header, where return codes are named."""
    declared = r"/\*\*((?:(?!\*/).)*?)\*/\s*(?:DEPRECATED\([\d.]+\)\s*)?nvmlReturn_t\s+DECLDIR\s+(\w+)"
    return {name: comment for comment, name in re.findall(declared, source, re.DOTALL)}
