"""Structs as the C compiler lays them out and as the binding does: sizes, and where each member stands."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from mocklib import build, calls, fields, structs


def c_layout(folder: Path, includes: list[str], wanted: dict[str, list[str]], flags: list[str]) -> dict[str, list[int]]:
    """Struct -> [size, offset of each member] by the C compiler, read from the text of its preprocessed and evaluated constants."""
    rows = []
    for struct, members in wanted.items():
        numbers = ", ".join([f"sizeof({struct})", *(f"offsetof({struct}, {member})" for member in members)])
        rows.append(f'    {{"{struct}", {len(members) + 1}, {{{numbers}}}}},')
    source = folder / "layout.c"
    head = "".join(f"#include {name}\n" for name in ["<stddef.h>", "<stdio.h>", *includes])
    table = "\n".join(rows)
    body = (
        f"static const struct {{ const char *name; int count; long numbers[64]; }} rows[] = {{\n{table}\n}};\n"
        'int main(void) { for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) { printf("%s|", rows[i].name);'
        ' for (int j = 0; j < rows[i].count; j++) printf(" %ld", rows[i].numbers[j]); printf("\\n"); } return 0; }\n'
    )
    source.write_text(head + body, encoding="ascii")
    program = folder / "layout"
    build.find_compiler().run("-std=c11", "-w", *flags, str(source), "-o", str(program))
    lines = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: [int(word) for word in numbers.split()] for name, _, numbers in (line.partition("|") for line in lines)}


def python_layout(ffi: Any, names: list[str]) -> dict[str, list[str]]:
    """Struct -> its named members."""
    found = {}
    for name in names:
        members = [member for member, _ in ffi.typeof(name).fields or () if member]
        found[name] = members[:60]
    return found


def compare(ffi: Any, wanted: dict[str, list[str]], by_compiler: dict[str, list[int]]) -> None:
    """Every number agrees."""
    assert len(by_compiler) == len(wanted)
    for struct, members in wanted.items():
        mine = [ffi.sizeof(struct), *(ffi.offsetof(struct, member) for member in members)]
        assert by_compiler[struct] == mine, struct


def test_structs_of_nvml_are_laid_out_alike(tmp_path: Path) -> None:
    ffi = calls.ffi()
    names = [name for name in ffi.list_types()[0] if ffi.typeof(name).kind == "struct"]
    assert len(names) > 150
    wanted = python_layout(ffi, names)
    flags = ["-DNVML_NO_UNVERSIONED_FUNC_DEFS", f"-I{build.nvml_header().parent}"]
    compare(ffi, wanted, c_layout(tmp_path, ["<nvml.h>"], wanted, flags))


def test_structs_of_image_and_state_are_laid_out_alike(tmp_path: Path) -> None:
    ffi = structs.structs()
    names = [f"struct {name}" for name in ffi.list_types()[1]]
    assert len(names) > 15
    wanted = python_layout(ffi, names)
    compare(ffi, wanted, c_layout(tmp_path, ['"nvp_image.h"'], wanted, [f"-I{fields.INCLUDE}"]))


@pytest.mark.parametrize(("struct", "size"), [("nvmlMemory_v2_t", 40), ("nvmlPciInfo_t", 68), ("nvmlFieldValue_t", 40), ("nvmlProcessInfo_v1_t", 16)])
def test_sizes_known_from_clients(struct: str, size: int) -> None:
    assert calls.ffi().sizeof(struct) == size
