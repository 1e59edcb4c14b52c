"""One call of the binding: its C arguments made from the roles of its parameters, and what was written taken apart again.

Nothing here depends on whose library is called: what it may write to is zeroed and as large as nvml.h says, lists are asked for their length before
they are made, and only what a library was given room for is read back.

The generated modules (cffi declarations, roles of parameters) are loaded here, by path, from where the build put them.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from mocklib import fields as tables
from mocklib import values

HERE = Path(__file__).resolve().parent
TEXT_SIZE = 4096
BRANCH_SIZE = 80
"""Room for the name of a driver branch, whose length is told beside a struct (nvml.h, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE)."""
INVALID_ARGUMENT, INSUFFICIENT_SIZE = 2, 7
SPARE = 2
"""How many times the room of nvml.h's entries the lists have whose entries some driver has wider: 24 bytes for 16, 32 for 24."""
ATTEMPTS = 4
"""How often a list that grew between two calls is made longer."""


class BindingError(RuntimeError):
    """The binding's modules or the library cannot be loaded, or a call is not one of NVML's; the message says which and what to do."""


LONGEST_LIST = 1 << 20
"""Entries a list is made for: a count may come from a hostile image."""
STRUCT_LISTS = {
    "nvmlProcessDetailList_v1_t": ("numProcArrayEntries", "procArray"),
    "nvmlProcessesUtilizationInfo_v1_t": ("processSamplesCount", "procUtilArray"),
    "nvmlEccSramUniqueUncorrectedErrorCounts_v1_t": ("entryCount", "entries"),
    "nvmlVgpuPlacementList_v1_t": ("count", "placementIds"),
    "nvmlVgpuPlacementList_v2_t": ("count", "placementIds"),
    "nvmlVgpuInstancesUtilizationInfo_v1_t": ("vgpuInstanceCount", "vgpuUtilArray"),
    "nvmlVgpuProcessesUtilizationInfo_v1_t": ("vgpuProcessCount", "vgpuProcUtilArray"),
}
"""Struct -> its member that counts the entries, and the pointer to them (nvml.h)."""
FIRST_ROOM = {"placementIds": 256}
"""Entries that a list has room for from the start: nvml.h says that the caller makes room for every instance of a vGPU type beforehand."""


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


class Rows:
    """A list: the array that a library fills, NULL until its length is known, and the count beside it.

    ``say`` and ``length`` write and read the count, ``point`` puts the array (or NULL) where the library looks for it, ``first`` is the room there is
    from the start, ``spare`` times as many entries have room as are said to.
    """

    def __init__(
        self,
        ffi: Any,
        item: str,
        point: Callable[[Any], None],
        say: Callable[[int], None],
        length: Callable[[], int],
        first: int = 0,
        spare: int = 1,
    ) -> None:
        self.ffi = ffi
        self.spare = spare
        self.first = first
        self.kind = ffi.typeof(f"{item}[]")
        self.read = values.reader(ffi, ffi.typeof(item))
        self.point, self.say, self.length = point, say, length
        self.array: Any = None
        self.made = 0

    def make(self, room: int) -> None:
        """An array of ``room`` zeroed entries; none for 0."""
        self.array = self.ffi.new(self.kind, room * self.spare) if room else None
        self.made = room
        self.point(self.array if room else self.ffi.NULL)

    def take(self) -> list[Any]:
        """The entries: as many as the library counted, and never more than there was room for."""
        count = min(self.length(), self.made)
        if not count:
            return []
        entries = self.ffi.unpack(self.array, count)
        return entries if self.read is None else [self.read(entry) for entry in entries]


class Call:
    """One call for one set of arguments: its C arguments, made once, and run as often as wanted, for whatever device.

    ``counted``: a list was given, as NULL: the call asks how long it is, and INSUFFICIENT_SIZE is its success.  ``handles``: the names in the results
    that are handles of devices.  ``entry``: the struct of the entries of its list, None for that of nvml.h.
    """

    def __init__(self, ffi: Any, name: str, device: int | None, given: dict[str, Any], entry: str | None = None) -> None:
        self.ffi = ffi
        self.entry = entry
        self.name = name
        self.params = signatures().FUNCTIONS[name]
        self.given = given
        self.refuse_unknown()
        self.buffers: list[tuple[Any, bytes]] = []
        self.takers: list[Callable[[dict[str, Any]], None]] = []
        self.handles: list[str] = []
        self.rows: list[Rows] = []
        self.nullable = False
        self.counted = False
        self.count: tuple[str, Any] | None = None
        self.places: list[Any] = []
        self.device = next((position for position, (_, _, role) in enumerate(self.params) if role == "device"), None)
        if device is not None and self.device is not None:
            given.setdefault(self.params[self.device][0], device)
        self.make_count()
        for position, (param, kind, role) in enumerate(self.params):
            self.places.append(self.place(position, param, kind, role))

    def refuse_unknown(self) -> None:
        """An argument the function does not have is the caller's error."""
        known = {param for param, _, _ in self.params}
        for key in self.given:
            if key.split(".")[0] not in known:
                raise BindingError(f"{self.name} has no parameter {key!r}; it has {', '.join(known)}")

    def run(self, function: Any, device: int | None = None) -> int:
        """The code of ``function``, for ``device`` where one is given; lists are asked for their length, then made as long as they are."""
        if device is not None and self.device is not None:
            self.places[self.device] = self.ffi.cast("nvmlDevice_t", device)
        code = self.once(function, 0, 0)
        if not self.rows:
            return 0 if self.counted and code == INSUFFICIENT_SIZE else code
        if code == INVALID_ARGUMENT and self.nullable:
            code = self.once(function, 0, 1)  # a list may be refused where it is NULL, whatever its count
        said = max(rows.first for rows in self.rows)
        for _ in range(ATTEMPTS):
            length = max(rows.length() for rows in self.rows)
            if code not in {0, INSUFFICIENT_SIZE} or not said < length <= LONGEST_LIST:
                break
            said = length
            code = self.once(function, length, length)
        return code

    def once(self, function: Any, count: int, room: int) -> int:
        """One call on zeroed buffers, every list ``room`` entries long and said to be ``count``."""
        for buffer, initial in self.buffers:
            self.ffi.memmove(buffer, initial, len(initial))
        for rows in self.rows:
            rows.make(room or rows.first)
            rows.say(count or rows.first)
        return int(function(*self.places))

    def results(self, code: int) -> dict[str, Any]:
        """What was written, by parameter or parameter.member; nothing without SUCCESS but the length of a list that the library told."""
        found: dict[str, Any] = {}
        if code == 0:
            for taker in self.takers:
                taker(found)
        elif self.count is not None and self.rows and (told := int(self.count[1][0])):
            found[self.count[0]] = told
        return found

    def keep(self, made: Any) -> Any:
        """A place whose content now is what every run starts from."""
        self.buffers.append((made, bytes(self.ffi.buffer(made))))
        return made

    def make_count(self) -> None:
        """The place of the parameter that counts a list, or tells how long a text may be."""
        for param, _, role in self.params:
            if role == "count":
                lists = any(other == "list" for _, _, other in self.params)
                self.count = (param, self.keep(self.ffi.new("unsigned int *", 0 if lists else TEXT_SIZE)))

    def place(self, position: int, param: str, kind: str, role: str) -> Any:
        """The C value of one parameter by its role."""
        if role in {"device", "handle"}:
            return self.ffi.cast(kind, self.given.get(param, 0))
        if role == "length":
            return int(self.given.get(param, TEXT_SIZE))
        if role == "in":
            return int(self.given.get(param, BRANCH_SIZE if param == "length" else 0))
        if role == "text":
            return self.text(param)
        if role == "list":
            return self.list(position, param, kind.removesuffix("*").strip())
        if role == "count" and self.count is not None:
            made = self.count[1]
            self.takers.append(lambda found: found.__setitem__(param, int(made[0])))
            return made
        if role == "const" and (kind.startswith("char") or isinstance(self.given.get(param), (str, bytes))):
            return self.keep(self.ffi.new("char[]", _encoded(self.given.get(param, ""))))
        if role in {"const", "struct"}:
            return self.struct(param, kind.rstrip(" *"), wanted=role == "struct")
        return self.out(param, kind)

    def text(self, param: str) -> Any:
        """Room for a text: 4096 bytes, or more where a longer length was given."""
        length = next((int(self.given[name]) for name, _, role in self.params if role == "length" and name in self.given), TEXT_SIZE)
        if length > LONGEST_LIST:
            raise BindingError(f"a text of {length} bytes is not asked for; at most {LONGEST_LIST} are")
        made = self.keep(self.ffi.new("char[]", max(length, TEXT_SIZE)))
        self.takers.append(lambda found: found.__setitem__(param, self.ffi.string(made).decode("utf-8", "surrogateescape")))
        return made

    def list(self, position: int, param: str, item: str) -> Any:
        """A list beside its count; one that was given stays NULL."""
        if param in self.given:
            self.counted = True
            self.takers.append(lambda found: found.__setitem__(param, []))
        elif self.count is not None:
            count = self.count[1]
            rows = Rows(
                self.ffi,
                self.entry or item,
                lambda array: self.places.__setitem__(position, self.ffi.cast(f"{item} *", array)),
                lambda number: count.__setitem__(0, number),
                lambda: int(count[0]),
                spare=SPARE if self.name in tables.entry_changes() else 1,
            )
            self.rows.append(rows)
            self.nullable = True
            if values.is_device(self.ffi.typeof(item)):
                self.handles.append(param)
            self.takers.append(lambda found: found.__setitem__(param, rows.take()))
        return self.ffi.NULL

    def out(self, param: str, kind: str) -> Any:
        """A place for one value, or an array whose size stands in the number beside it."""
        given = {name: int(value) for name, value in self.given.items() if role_of(self.params, name) == "in"}
        item = self.ffi.typeof(kind).item
        if (elements := _elements(param, given, self.params, self.ffi.sizeof(item))) is not None:
            made = self.keep(self.ffi.new(f"{item.cname}[]", elements))
            self.takers.append(lambda found: found.__setitem__(param, self.ffi.unpack(made, elements)))
            return made
        made = self.keep(self.ffi.new(kind))
        read = values.reader(self.ffi, item)
        if values.is_device(item):
            self.handles.append(param)
        self.takers.append(lambda found: found.__setitem__(param, made[0] if read is None else read(made[0])))
        return made

    def struct(self, param: str, kind: str, *, wanted: bool) -> Any:
        """A struct with its version word and the members given; a version other than its own makes it the struct of that version."""
        own = signatures().ALIASES.get(kind, kind)
        versions = signatures().VERSIONS.get(own, {})
        given = self.given.get(f"{param}.version")
        usual = next((version for version, struct in versions.items() if struct == own), signatures().PLAIN_VERSIONS.get(own, 0))
        number = usual if given is None else int(given)
        actual = versions.get(number, own) if versions else kind
        made = self.ffi.new(f"{actual} *")
        if "version" in dict(self.ffi.typeof(actual).fields):  # nvmlC2cModeInfo_v1_t has a version and no word for it
            made.version = self.ffi.sizeof(actual) | number << 24 if versions else number
        self.fill(param, made)
        self.keep(made)
        if wanted:
            self.take_struct(param, made, actual)
        return made if actual in {own, kind} else self.ffi.cast(f"{own} *", made)

    def fill(self, param: str, made: Any) -> None:
        """The members that were given."""
        for key, value in self.given.items():
            owner, _, member = key.partition(".")
            if owner == param and member and member != "version":
                *within, last = member.split(".")
                try:
                    setattr(functools.reduce(getattr, within, made), last, _encoded(value) if isinstance(value, str) else value)
                except AttributeError:
                    raise BindingError(f"{self.name}: {param} has no member {member!r}") from None

    def take_struct(self, param: str, made: Any, actual: str) -> None:
        """What is read of a struct; where it points to a list, that list too."""
        plan = values.members(self.ffi, self.ffi.typeof(actual))
        self.handles += [f"{param}.{member.name}" for member in plan if member.handle]
        self.takers.append(lambda found: values.take(plan, made[0], f"{param}.", found))
        if actual in STRUCT_LISTS:
            count, pointer = STRUCT_LISTS[actual]
            rows = Rows(
                self.ffi,
                dict(self.ffi.typeof(actual).fields)[pointer].type.item.cname,
                lambda array: setattr(made, pointer, array),
                lambda number: setattr(made, count, number),
                lambda: int(getattr(made, count)),
                FIRST_ROOM.get(pointer, 0),
            )
            self.rows.append(rows)
            self.takers.append(lambda found: found.__setitem__(f"{param}.{pointer}", rows.take()))


def role_of(params: Any, name: str) -> str | None:
    """The role of the parameter ``name``; None where there is none."""
    return next((role for param, _, role in params if param == name), None)


def _elements(param: str, given: dict[str, int], params: Any, size: int) -> int | None:
    """How many elements of ``size`` bytes an array has whose size is an input: xSize counts them, ``size`` is in bytes; None for one value."""
    if role_of(params, f"{param}Size") == "in":
        count = given.get(f"{param}Size", 0)
    elif role_of(params, "size") == "in":
        count = given.get("size", 0) // size
    else:
        return None
    if not 0 <= count <= LONGEST_LIST:
        raise BindingError(f"an array of {count} elements is not asked for; at most {LONGEST_LIST} are")
    return count


def _encoded(text: str | bytes) -> bytes:
    """The bytes of a text; surrogates are the bytes that are not UTF-8."""
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
