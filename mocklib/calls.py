"""One call of the binding: its C arguments made from the roles of its parameters, and what was written taken apart again.

The generated modules (cffi declarations, roles of parameters) are loaded here, by path, from where the build put them.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
TEXT_SIZE = 4096


class BindingError(RuntimeError):
    """The binding's modules or the library cannot be loaded, or a call is not one of NVML's; the message says which and what to do."""


LONGEST_LIST = 1 << 20
"""Entries a list is made for: a count may come from a hostile image."""


def built_folder() -> Path:
    """The folder of the generated modules: mocklib/_built in a wheel, build/gen in a checkout."""
    for folder in (HERE / "_built", HERE.parent / "build" / "gen"):
        if (folder / "zz_generated_nvml.py").is_file():
            return folder
    raise BindingError("the binding is not built: no zz_generated_nvml.py in mocklib/_built or build/gen; run: python -m mocklib.build")


def _module(name: str) -> ModuleType:
    """A generated module, loaded by path."""
    path = built_folder() / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BindingError(f"{path} cannot be loaded; run: python -m mocklib.build")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@functools.cache
def ffi() -> Any:
    """The cffi declarations of nvml.h."""
    return _module("zz_generated_nvml").ffi


@functools.cache
def signatures() -> ModuleType:
    """Functions with the roles of their parameters, versions of structs, aliases."""
    return _module("zz_generated_signatures")


class Call:
    """The C arguments of one call, and what came back in them.

    ``counted``: a list was given, as NULL: the call asks how long it is, and INSUFFICIENT_SIZE is its success.
    """

    def __init__(self, ffi: Any, name: str, device: int | None, given: dict[str, Any]) -> None:
        self.ffi = ffi
        self.name = name
        self.given = given
        self.params = signatures().FUNCTIONS[name]
        self.keep: dict[str, Any] = {}
        self.lists: dict[str, str] = {}
        self.count: Any = None
        self.counted = False
        self.places: list[Any] = []
        devices = [param for param, _, role in self.params if role == "device"]
        if device is not None and devices:
            given.setdefault(devices[0], device)
        for param, kind, role in self.params:
            self.places.append(self.place(param, kind, role))
        self.refuse_unknown()

    def refuse_unknown(self) -> None:
        """An argument the function does not have is the caller's error."""
        known = {param for param, _, _ in self.params}
        for key in self.given:
            if key.split(".")[0] not in known:
                raise BindingError(f"{self.name} has no parameter {key!r}; it has {', '.join(known)}")

    def place(self, param: str, kind: str, role: str) -> Any:
        """The C value of one parameter by its role."""
        if role in {"device", "handle"}:
            return self.ffi.cast(kind, self.given.get(param, 0))
        if role == "in":
            return int(self.given.get(param, TEXT_SIZE if param == "length" else 0))
        if role == "length":
            return int(self.given.get(param, TEXT_SIZE))
        if role == "text":
            length = next((int(self.given[name]) for name, _, other in self.params if other == "length" and name in self.given), TEXT_SIZE)
            self.keep[param] = self.ffi.new("char[]", max(length, TEXT_SIZE))
            return self.keep[param]
        if role == "list":
            if param in self.given:
                self.counted = True
            else:
                self.lists[param] = kind.rstrip(" *")
            return self.ffi.NULL
        if role == "count":
            self.count = self.keep[param] = self.ffi.new("unsigned int *", 0)
            return self.count
        if role == "const":
            return self.constant(param, kind)
        return self.written(param, kind, role)

    def constant(self, param: str, kind: str) -> Any:
        """Data that is read: text, or a struct filled from ``param.member``."""
        if isinstance(self.given.get(param), (str, bytes)):
            text = self.given[param]
            self.keep[f"&{param}"] = self.ffi.new("char[]", text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
            return self.keep[f"&{param}"]
        self.keep[f"&{param}"] = self.struct(param, kind.rstrip(" *"))
        return self.keep[f"&{param}"]

    def written(self, param: str, kind: str, role: str) -> Any:
        """A place the function writes to."""
        if role == "struct":
            self.keep[param] = self.struct(param, kind.rstrip(" *"))
        else:
            self.keep[param] = self.ffi.new(kind)
        return self.keep[param]

    def struct(self, param: str, kind: str) -> Any:
        """A struct with its version word and the members given; a version other than its own makes it the struct of that version."""
        own = signatures().ALIASES.get(kind, kind)
        versions = signatures().VERSIONS.get(own, {})
        wanted = self.given.get(f"{param}.version")
        if versions:
            number = int(wanted) if wanted is not None else next(version for version, struct in versions.items() if struct == own)
            actual = versions.get(number, own)
            made = self.ffi.new(f"{actual} *")
            if "version" in dict(self.ffi.typeof(made).item.fields):  # nvmlC2cModeInfo_v1_t has a version and no word for it
                made.version = self.ffi.sizeof(actual) | number << 24
            self.keep[f"@{param}"] = made
        else:
            made = self.ffi.new(f"{kind} *")
            if wanted is not None:
                made.version = wanted
        for key, value in self.given.items():
            owner, _, member = key.partition(".")
            if owner == param and member and member != "version":
                setattr(made, member, value)
        return made if not versions or actual == own else self.ffi.cast(f"{own} *", made)

    def grow(self) -> bool:
        """After INSUFFICIENT_SIZE: make the lists as long as the count says; False where the call has none, or the count is no list's."""
        if self.count is None or not 0 < self.count[0] <= LONGEST_LIST or not self.lists:
            return False
        for position, (param, _, role) in enumerate(self.params):
            if role == "list":
                self.keep[param] = self.ffi.new(f"{self.lists[param]}[]", int(self.count[0]))
                self.places[position] = self.keep[param]
        return True

    def results(self, code: int) -> dict[str, Any]:
        """What was written, by parameter or parameter.member."""
        found: dict[str, Any] = {}
        for param, _, role in self.params:
            if role == "count":
                found[param] = int(self.count[0])
            if code:
                continue
            if role == "text":
                found[param] = self.ffi.string(self.keep[param]).decode("utf-8", "surrogateescape")
            elif role == "list":
                array = self.keep.get(param, ())
                found[param] = [self.value(array[number]) for number in range(int(self.count[0]) if self.count is not None else 0)] if array else []
            elif role == "struct":
                self.flatten(param, self.keep.get(f"@{param}", self.keep[param])[0], found)
            elif role == "out":
                found[param] = self.value(self.keep[param][0])
        return found

    def flatten(self, prefix: str, struct: Any, found: dict[str, Any]) -> None:
        """The members of a struct under ``prefix.member``; nested structs go on, unions are left out."""
        for name, member in self.ffi.typeof(struct).fields:
            value = getattr(struct, name)
            if member.type.kind == "struct":
                self.flatten(f"{prefix}.{name}", value, found)
            elif member.type.kind != "union":
                found[f"{prefix}.{name}"] = self.value(value)

    def value(self, item: Any) -> Any:
        """A C value as Python's."""
        if isinstance(item, (int, float)):
            return item
        if isinstance(item, bytes):
            return item[0]
        kind = self.ffi.typeof(item)
        if kind.kind == "array":
            return self.array(item, kind)
        if kind.kind == "struct":
            inner: dict[str, Any] = {}
            self.flatten("", item, inner)
            return {name[1:]: value for name, value in inner.items()}
        if kind.kind == "pointer":
            return int(self.ffi.cast("uintptr_t", item))
        return int(item)

    def array(self, item: Any, kind: Any) -> Any:
        """An array: text for char, bytes for unsigned char, else a list."""
        if kind.item.cname == "char":
            return self.ffi.string(item, kind.length).decode("utf-8", "surrogateescape")
        if kind.item.cname == "unsigned char":
            return bytes(self.ffi.buffer(item))
        return [self.value(item[number]) for number in range(kind.length)]
