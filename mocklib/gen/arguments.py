"""What each parameter of a function is: handle, list with its count, text buffer with its length, versioned struct, enum, plain number."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from mocklib.gen.header import Function, Header, Param

NO_PAIRS = ("EncoderStats",)
"""Functions whose ``sessionCount`` counts no array beside it (nvml.h, nvmlDeviceGetEncoderStats and the vGPU one)."""
PLAIN_VERSIONS = {"nvmlGpmMetricsGet_t": 1, "nvmlGpmSupport_t": 1}
"""Structs whose version word is a plain number (nvml.h, NVML_GPM_METRICS_GET_VERSION, NVML_GPM_SUPPORT_VERSION)."""
HANDLE_KINDS = {"nvmlDevice_t": "device", "nvmlEventSet_t": "event_set", "nvmlGpmSample_t": "gpm_sample"}
"""Handles of which a mock can have a valid one; every other kind of handle is invalid."""


@dataclass(frozen=True)
class Arguments:
    """The roles of a function's parameters, by name.

    ``lists`` are the arrays that may be NULL for a count probe, ``count`` their count; ``texts`` maps a char buffer to its length parameter;
    ``refused`` are the lists that the header calls invalid where they are NULL; ``either`` are pointers of which not all may be NULL;
    ``arrays`` maps an array that the caller says the size of to the parameter with that size;
    ``versions`` maps a struct parameter to {version: struct}; version numbers of ``plain`` structs are used as they are.
    """

    devices: tuple[str, ...] = ()
    handles: dict[str, str] = field(default_factory=dict)
    count: str | None = None
    lists: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    texts: dict[str, str | None] = field(default_factory=dict)
    arrays: dict[str, str] = field(default_factory=dict)
    versions: dict[str, dict[int, str]] = field(default_factory=dict)
    plain: tuple[str, ...] = ()
    either: tuple[str, ...] = ()
    enums: dict[str, str] = field(default_factory=dict)


def _lists(function: Function) -> tuple[str | None, tuple[str, ...]]:
    """The count parameter of the count-probe protocol and its arrays; (None, ()) without."""
    if any(word in function.name for word in NO_PAIRS):
        return None, ()
    pointers = [param for param in function.params if param.type.pointers == 1 and not param.type.const]
    for position, param in enumerate(pointers):
        size_of_text = param.name in {"size", "bufferSize", "length"}
        if param.type.name != "unsigned int" or not (re.search("count", param.name, re.IGNORECASE) or size_of_text):
            continue
        after = pointers[position + 1 :]
        arrays = after or pointers[max(position - 1, 0) : position]
        if arrays:
            return param.name, tuple(array.name for array in arrays)
    return None, ()


def _documents(function: Function, header: Header) -> list[str]:
    """What the header says of a function, each comment one line; an older call is documented by its newer one."""
    plain = re.sub(r"_v[0-9]+$", "", function.name)
    found = [header.documents.get(name, "") for name in (function.name, f"{plain}_v2", f"{plain}_v3")]
    return [re.sub(r"\s*\n\s*\*\s*", " ", document) for document in found if document]


def _refused(function: Function, lists: tuple[str, ...], header: Header) -> tuple[str, ...]:
    """Lists whose NULL the header names among what is INVALID_ARGUMENT; NULL for any other is too small a list."""
    own = _documents(function, header)[:1]
    said = [line for document in own for line in re.findall(r"NVML_ERROR_INVALID_ARGUMENT([^@]*?)(?=\\ref|@|$)", document)]
    return tuple(name for name in lists if any(re.search(rf"\\a {name} (?:is|are) NULL", line) for line in said))


def _texts(function: Function) -> dict[str, str | None]:
    """Char buffers to be filled and the parameter that says their length (None where the header fixes it)."""
    found: dict[str, str | None] = {}
    for position, param in enumerate(function.params):
        if param.type.name == "char" and param.type.pointers == 1 and not param.type.const:
            following = function.params[position + 1] if position + 1 < len(function.params) else None
            sized = following is not None and following.type.name == "unsigned int" and following.name in {"length", "size"}
            found[param.name] = following.name if following is not None and sized and not following.type.pointers else None
    return found


def _arrays(function: Function) -> dict[str, str]:
    """Arrays of numbers and the parameter by value that says their size: ``cpuSet`` and ``cpuSetSize``, ``pstates`` and ``size``."""
    lengths = set(_texts(function).values())
    sizes = [param.name for param in function.params if not param.type.pointers and param.type.name == "unsigned int" and param.name not in lengths]
    pointers = [param for param in function.params if param.type.pointers == 1 and not param.type.const]
    found = {param.name: f"{param.name}Size" for param in pointers if f"{param.name}Size" in sizes}
    return found or ({pointers[0].name: "size"} if len(pointers) == 1 and "size" in sizes else {})


def _versions(function: Function, param: Param, header: Header) -> dict[int, str]:
    """Version -> struct that a struct parameter may hold; a function named _vN takes exactly N where its struct says N."""
    struct = header.resolve(param.type.name)
    members = header.structs.get(struct, ())
    if param.type.pointers != 1 or not members or members[0].name != "version" or struct not in header.versions:
        return {}
    family = header.family(struct)
    own = header.versions[struct][1]
    named = re.search(r"_v(\d+)$", function.name)
    return {own: struct} if named and int(named.group(1)) == own else family


EITHER = {"nvmlDeviceGetGpuOperationMode": ("current", "pending")}
"""Functions of which nvidia-smi asks one at a time, though their header calls any NULL invalid: every binary from 340 to 555 does so for
`--query-gpu=gom.current`, and captures of boards without this mode print `[N/A]` there, so a real library does not refuse it.
"""


def _either(function: Function, header: Header) -> tuple[str, ...]:
    """Pointers of which one may be NULL: the header says that the call is invalid if *both* are, or it was measured."""
    if function.name in EITHER:
        return EITHER[function.name]
    names = {param.name for param in function.params}
    for document in _documents(function, header):
        found = re.search(r"both\s+\\a (\w+) and \\a (\w+) are NULL", document)
        if found and names.issuperset(found.groups()):
            return found.groups()
    return ()


def arguments_of(function: Function, header: Header) -> Arguments:
    """The roles of all parameters of ``function``."""
    count, lists = _lists(function)
    by_value = [param for param in function.params if param.type.pointers == 0]
    return Arguments(
        devices=tuple(param.name for param in by_value if param.type.name == "nvmlDevice_t"),
        handles={param.name: param.type.name for param in by_value if header.is_handle(param.type.name) and param.type.name != "nvmlDevice_t"},
        count=count,
        lists=lists,
        refused=_refused(function, lists, header),
        texts=_texts(function),
        arrays=_arrays(function),
        versions={param.name: found for param in function.params if (found := _versions(function, param, header))},
        plain=tuple(param.name for param in function.params if header.resolve(param.type.name) in PLAIN_VERSIONS and param.type.pointers == 1),
        either=_either(function, header),
        enums={param.name: header.resolve(param.type.name) for param in by_value if header.resolve(param.type.name) in header.enums},
    )


def required_pointers(function: Function, roles: Arguments) -> list[str]:
    """The pointer parameters that must not be NULL."""
    return [param.name for param in function.params if param.type.pointers and param.name not in (*roles.lists, *roles.either)]
