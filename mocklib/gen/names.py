"""The numbers C and Python share: functions, fields, programs, types, and the layout word; and the private table's trampolines."""

from __future__ import annotations

from mocklib import fields as tables
from mocklib.gen.emit import NOTE, field_macro

NAME_SIZE = 80
"""Room for the longest function name: an array of texts needs no relocation when the library is loaded, an array of pointers one each."""
SLOTS = 512
"""Words of the private table: 0x1000 bytes (facts: slot 0 holds the size, a caller looks past slot 81)."""


def _enum(names: list[str], count: str) -> str:
    return "enum {\n" + "".join(f"    {name},\n" for name in names) + f"    {count}\n}};\n"


def header() -> str:
    """``zz_generated_names.h``."""
    functions = _enum([f"NVP_FN_{name}" for name in tables.since()], "NVP_FUNCTION_COUNT")
    device = _enum([field_macro(field) for field in tables.device_fields().values()], "NVP_DEVICE_FIELD_COUNT")
    system = _enum([field_macro(field) for field in tables.system_fields().values()], "NVP_SYSTEM_FIELD_COUNT")
    programs = _enum([f"NVP_P_{name}" for name in tables.program_steps()], "NVP_PROGRAM_COUNT")
    types = _enum([f"NVP_T_{name}" for name in tables.TYPES], "NVP_TYPE_COUNT")
    return (
        f"{NOTE}#ifndef NVP_NAMES_H\n#define NVP_NAMES_H\n\n#define NVP_LAYOUT 0x{tables.layout_word():016x}ULL\n\n"
        f"{functions}{device}{system}{programs}{types}\nextern const char nvp_function_names[NVP_FUNCTION_COUNT][{NAME_SIZE}];\n"
        "extern const unsigned char nvp_device_types[NVP_DEVICE_FIELD_COUNT];\n"
        "extern const unsigned char nvp_system_types[NVP_SYSTEM_FIELD_COUNT];\n\n#endif\n"
    )


def source() -> str:
    """``zz_generated_names.c``: names of functions, types of fields, and one trampoline for each slot of the private table."""
    names = "".join(f'    "{name}",\n' for name in tables.since())
    device = "".join(f"    NVP_T_{field.type},\n" for field in tables.device_fields().values())
    system = "".join(f"    NVP_T_{field.type},\n" for field in tables.system_fields().values())
    scopes = (("device", tables.device_fields()), ("system", tables.system_fields()))
    kept = "".join(
        f"const uint16_t nvp_{scope}_rooms[NVP_{scope.upper()}_FIELD_COUNT] = {{{', '.join(str(field.room) for field in known.values())}}};\n"
        f"const bool nvp_{scope}_moves[NVP_{scope.upper()}_FIELD_COUNT] = {{{', '.join(str(int(field.moves)) for field in known.values())}}};\n"
        for scope, known in scopes
    )
    jump = (
        "static nvmlReturn_t slot_{0}(void *a, void *b, void *c, void *d, void *e)\n{{\n"
        "    void *const given[NVP_SLOT_ARGUMENTS] = {{a, b, c, d, e}};\n    return nvp_slot_call({0}, given);\n}}\n"
    )
    jumps = "".join(jump.format(number) for number in range(1, SLOTS))
    entries = "".join(f"    (uintptr_t)slot_{number},\n" for number in range(1, SLOTS))
    return (
        f'{NOTE}#include "nvp.h"\n#include "nvp_slots.h"\n\n'
        f"const char nvp_function_names[NVP_FUNCTION_COUNT][{NAME_SIZE}] = {{\n{names}}};\n"
        f"const unsigned char nvp_device_types[NVP_DEVICE_FIELD_COUNT] = {{\n{device}}};\n"
        f"const unsigned char nvp_system_types[NVP_SYSTEM_FIELD_COUNT] = {{\n{system}}};\n\n{kept}\n"
        f"{jumps}\nuintptr_t nvp_slot_table[NVP_SLOT_COUNT] = {{\n    sizeof nvp_slot_table,\n{entries}}};\n"
    )
