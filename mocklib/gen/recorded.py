"""Recorded answers in the generated C: what each parameter is to one, and the block of a function's cold copy that looks for one."""

from __future__ import annotations

from collections.abc import Mapping

from mocklib import fields as tables
from mocklib.calls import STRUCT_LISTS
from mocklib.gen.arguments import HANDLE_KINDS, Arguments, arguments_of, required_pointers
from mocklib.gen.handlers import Handler
from mocklib.gen.header import Function, Header, Param
from mocklib.questions import UNRECORDED

NONE = "NVP_NO_PARAMETER"
IN_BYTES = frozenset({"bufferSize", "size"})
"""Counts of a list or sizes of an array that count bytes, not items (nvml.h: nvmlDeviceGetVgpuMetadata, nvmlDeviceGetSupportedPerformanceStates)."""
TEXT_SIZE = 64
"""The room for a text whose length no parameter says (nvml.h, NVML_GSP_FIRMWARE_VERSION_BUF_SIZE)."""
CODE_PER_ENTRY = frozenset({"nvmlDeviceGetFieldValues"})
"""Functions that answer SUCCESS with a code in each entry, for a lost device, too; entries are recorded one by one."""


def _number(function: Function, name: str | None) -> str:
    """The position of a parameter."""
    names = [param.name for param in function.params]
    return str(names.index(name)) if name is not None else NONE


def _parameter(function: Function, param: Param, roles: Arguments) -> str:
    """One parameter as the initialiser of ``struct nvp_parameter``."""
    name, read_only = param.name, int(param.type.const)
    if not param.type.pointers or param.type.name == "void":
        return f"{{NVP_IS_VALUE, {NONE}, 1, 0, 0}}"
    if name == roles.count:
        return f"{{NVP_IS_COUNT, {NONE}, 1, 0, sizeof(unsigned int)}}"
    if name in roles.texts:
        beside = roles.texts[name] or (roles.count if name in roles.lists else None)
        return f"{{NVP_IS_TEXT, {_number(function, beside)}, 0, 0, {1 if beside else TEXT_SIZE}}}"
    if param.type.name == "char":
        return f"{{NVP_IS_READ_TEXT, {NONE}, 1, 0, 0}}"
    if name in roles.lists:
        unit = "1" if roles.count in IN_BYTES else f"sizeof({param.type.name})"
        return f"{{NVP_IS_LIST, {_number(function, roles.count)}, 0, 0, {unit}}}"
    if name in roles.arrays:
        unit = "1" if roles.arrays[name] in IN_BYTES else f"sizeof({param.type.name})"
        return f"{{NVP_IS_ARRAY, {_number(function, roles.arrays[name])}, 0, 0, {unit}}}"
    if name not in roles.versions:
        return f"{{NVP_IS_PLACE, {NONE}, {read_only}, 0, sizeof({param.type.name})}}"
    length = next((other.name for other in function.params if other.name == "length"), None)
    return f"{{NVP_IS_WORDED, {_number(function, length)}, {read_only}, 0, sizeof({param.type.name})}}"


def parameters(function: Function, header: Header) -> list[str]:
    """Every parameter of a function as the initialiser of ``struct nvp_parameter``."""
    roles = arguments_of(function, header)
    return [_parameter(function, param, roles) for param in function.params]


def source(header: Header, handlers: Mapping[str, Handler]) -> str:
    """``zz_generated_parameters.c``, in the order of the functions' numbers."""
    rows: list[str] = []
    starts = [0]
    for name in tables.since():
        rows += [f"    {text}," for text in parameters(header.functions[name], header)]
        starts.append(len(rows))
    numbers = ", ".join(map(str, starts))
    lines = "\n".join(rows)
    listed = "\n".join(_rows(header))
    countable = ", ".join(str(int(_countable(name, handlers.get(name)))) for name in tables.since())
    return (
        '#include "nvp.h"\n\n'
        f"const struct nvp_parameter nvp_parameters[] = {{\n{lines}\n}};\n\n"
        f"const uint16_t nvp_parameters_of[NVP_FUNCTION_COUNT + 1] = {{{numbers}}};\n\n"
        f"const struct nvp_rows nvp_rows[] = {{\n{listed}\n}};\n\nconst unsigned int nvp_rows_count = sizeof nvp_rows / sizeof nvp_rows[0];\n\n"
        f"const unsigned char nvp_countable[NVP_FUNCTION_COUNT] = {{{countable}}};\n"
    )


def _countable(name: str, handler: Handler | None) -> bool:
    """Whether a call of a function may be one that nothing known answers: no handler, a key without a field, an entry without a row."""
    return handler is None or bool(handler.by) or name in CODE_PER_ENTRY


def _rows(header: Header) -> list[str]:
    """The lists that structs point to, as initialisers of ``struct nvp_rows``."""
    found = []
    for name in tables.since():
        for position, param in enumerate(header.functions[name].params):
            own = header.resolve(param.type.name)
            for struct in {own, *header.family(own).values()} & STRUCT_LISTS.keys() if param.type.pointers == 1 else ():
                count, pointer = STRUCT_LISTS[struct]
                row = next(member.type.name for member in header.structs[struct] if member.name == pointer)
                places = f"offsetof({struct}, {pointer}), offsetof({struct}, {count})"
                found.append(f"    {{NVP_FN_{name}, {position}, sizeof({struct}), {places}, sizeof({row})}},")
    return sorted(found)


def _conditions(function: Function, roles: Arguments) -> list[str]:
    """What must hold before the image is asked: a live library, sound handles, and the pointers that must be there."""
    found = [f"nvp_asked{number} != NULL" for number in range(len(roles.devices))] or ["nvp_initialised()"]
    found += [f"nvp_{HANDLE_KINDS[kind]}_check({name}) == NVML_SUCCESS" for name, kind in roles.handles.items() if kind in HANDLE_KINDS]
    found += [f"{name} != NULL" for name in required_pointers(function, roles)]
    if roles.count and roles.refused:
        found.append(f"(*{roles.count} == 0 || ({' && '.join(f'{name} != NULL' for name in roles.refused)}))")
    if roles.either:
        found.append(f"({' || '.join(f'{name} != NULL' for name in roles.either)})")
    return found


def lookup(function: Function, roles: Arguments) -> str:
    """The block of the cold copy; nothing for a function that no recording holds."""
    if function.name in UNRECORDED | CODE_PER_ENTRY:
        return ""
    lines = [f"const struct nvp_device *const nvp_asked{number} = nvp_device_of({name});" for number, name in enumerate(roles.devices)]
    indices = {name: f"(nvp_asked{number}->record - 1)" for number, name in enumerate(roles.devices)}
    values = [_value(param, indices) for param in function.params]
    lines += [f"if ({' && '.join(_conditions(function, roles))}) {{"]
    if values:
        lines.append(f"    const uint64_t nvp_given[] = {{{', '.join(values)}}};")
    device = indices[roles.devices[0]] if roles.devices else "NVP_NODE"
    lines += [
        f"    if (nvp_recorded(NVP_FN_{function.name}, {device}, {'nvp_given' if values else 'NULL'}, &nvp_code))",
        f"        return nvp_traced(NVP_FN_{function.name}, nvp_code);",
        "}",
    ]
    body = "".join(f"        {line}\n" for line in lines)
    return f"    if (NVP_FLAGS(NVP_FN_{function.name}) & NVP_FLAG_RECORDED) {{\n{body}    }}\n"


def _value(param: Param, indices: dict[str, str]) -> str:
    """A parameter as a number of 64 bits: a device as its index, a pointer as its address."""
    if param.name in indices:
        return indices[param.name]
    return f"(uint64_t){param.name}" if not param.type.pointers else f"(uint64_t)(uintptr_t){param.name}"
