"""The generator on small headers: what it reads, what it checks, and what a wrong table entry is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mocklib import fields
from mocklib.fields import TableError
from mocklib.gen import emit, handlers
from mocklib.gen.arguments import arguments_of, required_pointers
from mocklib.gen.header import HeaderMissingError, Param, Type, find_header, parse

TEXT = """
typedef enum nvmlReturn_enum { NVML_SUCCESS = 0, NVML_ERROR_UNKNOWN = 999 } nvmlReturn_t;
typedef struct nvmlDevice_st* nvmlDevice_t;
typedef struct nvmlUnit_st* nvmlUnit_t;
typedef unsigned int nvmlVgpuInstance_t;
typedef enum { A = 0, B, C = 5, D_COUNT } nvmlKind_t;
typedef struct { unsigned int version; unsigned long long used; char text[8]; struct { int deep; } inner[2]; } nvmlThing_v1_t;
typedef struct { unsigned int version; unsigned long long used; unsigned char more[1 << 2]; } nvmlThing_v2_t;
typedef nvmlThing_v2_t nvmlThing_t;
nvmlReturn_t nvmlDeviceGetThing(nvmlDevice_t device, nvmlThing_t *thing);
nvmlReturn_t nvmlDeviceGetThing_v2(nvmlDevice_t device, nvmlThing_v2_t *thing);
nvmlReturn_t nvmlDeviceGetWord(nvmlDevice_t device, nvmlKind_t kind, unsigned int *word);
nvmlReturn_t nvmlDeviceGetTwo(nvmlDevice_t device, unsigned int *one, unsigned int *two);
nvmlReturn_t nvmlDeviceGetText(nvmlDevice_t device, char *text, unsigned int length);
nvmlReturn_t nvmlDeviceGetList(nvmlDevice_t device, unsigned int *itemCount, unsigned int *items);
nvmlReturn_t nvmlDeviceGetPages(nvmlDevice_t device, unsigned int *pageCount, unsigned int *pages, unsigned int *stamps);
nvmlReturn_t nvmlUnitGetWord(nvmlUnit_t unit, unsigned int *word);
nvmlReturn_t nvmlVgpuInstanceGetWord(nvmlVgpuInstance_t vgpuInstance, unsigned int *word);
"""
RETURNS = "nvmlReturn_t DECLDIR"
SOURCE = f"""
#define nvmlThing_v1 NVML_STRUCT_VERSION(Thing, 1)
#define nvmlThing_v2 NVML_STRUCT_VERSION(Thing, 2)
/**
 * \\ref NVML_ERROR_INVALID_ARGUMENT if both \\a one
 *      and \\a two are NULL
 */
{RETURNS} nvmlDeviceGetTwo(
/**
 * \\ref NVML_ERROR_INVALID_ARGUMENT if \\a pageCount is NULL or
 *      \\a pages is NULL
 * \\ref NVML_ERROR_NOT_SUPPORTED if \\a stamps is NULL
 */
{RETURNS} nvmlDeviceGetPages(
/**
 * \\ref NVML_ERROR_NOT_FOUND if there is none
 */
{RETURNS} nvmlVgpuInstanceGetWord(
"""


@pytest.fixture(scope="module")
def header() -> Any:
    """The small header, parsed."""
    return parse(TEXT, SOURCE)


def test_structs_enums_and_aliases_are_read(header: Any) -> None:
    assert header.structs["nvmlThing_v2_t"][2] == Param("more", Type("unsigned char", 0, (4,)))
    assert header.structs["nvmlThing_v1_t.inner"] == (Param("deep", Type("int")),)
    assert header.enums["nvmlKind_t"] == {"A": 0, "B": 1, "C": 5, "D_COUNT": 6}
    assert header.enum_ends["nvmlKind_t"] == 5
    assert header.resolve("nvmlThing_t") == "nvmlThing_v2_t"
    assert header.is_handle("nvmlUnit_t")
    assert not header.is_handle("nvmlVgpuInstance_t")


def test_a_struct_takes_every_version_unless_the_function_names_one(header: Any) -> None:
    assert arguments_of(header.functions["nvmlDeviceGetThing"], header).versions == {"thing": {1: "nvmlThing_v1_t", 2: "nvmlThing_v2_t"}}
    assert arguments_of(header.functions["nvmlDeviceGetThing_v2"], header).versions == {"thing": {2: "nvmlThing_v2_t"}}


def test_lists_texts_and_pairs_are_told_apart(header: Any) -> None:
    listed = arguments_of(header.functions["nvmlDeviceGetList"], header)
    assert (listed.count, listed.lists) == ("itemCount", ("items",))
    assert required_pointers(header.functions["nvmlDeviceGetList"], listed) == ["itemCount"]
    assert arguments_of(header.functions["nvmlDeviceGetText"], header).texts == {"text": "length"}
    two = arguments_of(header.functions["nvmlDeviceGetTwo"], header)
    assert two.either == ("one", "two")
    assert required_pointers(header.functions["nvmlDeviceGetTwo"], two) == []


def test_a_list_is_refused_without_a_place_only_where_the_header_says_so(header: Any) -> None:
    pages = arguments_of(header.functions["nvmlDeviceGetPages"], header)
    assert (pages.lists, pages.refused) == (("pages", "stamps"), ("pages",))
    assert "(pages == NULL)" in written(header, "nvmlDeviceGetPages")
    assert "items == NULL" not in written(header, "nvmlDeviceGetList")


def written(header: Any, name: str, entry: dict[str, Any] | None = None) -> str:
    """The C of one function."""
    function = header.functions[name]
    handler = handlers._Checker(function, header, "test.yaml").handler(entry) if entry is not None else None
    return emit.FunctionWriter(function, header, handler).text()


def test_checks_come_in_the_order_of_nvml(header: Any) -> None:
    text = written(header, "nvmlDeviceGetWord", {"by": ["kind"], "out": {"word": {0: "brand", 5: "minor_number"}}})
    places = [text.index(part) for part in ("return nvp_bad_handle()", "word == NULL", "(unsigned int)kind != 5U", "nvp_table_", "NVP_READ_BEGIN")]
    assert places[0] < places[1] < places[2] < places[4]
    assert "{NVP_PLACE(NVP_F_brand), 0, 0, 0, 0, NVP_PLACE(NVP_F_minor_number)}" in text


def test_a_function_without_a_handler_is_not_supported_after_its_checks(header: Any) -> None:
    text = written(header, "nvmlDeviceGetThing")
    assert "NVML_ERROR_ARGUMENT_VERSION_MISMATCH" in text
    assert text.index("VERSION_MISMATCH") < text.index("NVML_ERROR_NOT_SUPPORTED")


def test_things_a_mock_has_none_of_are_invalid_or_not_found(header: Any) -> None:
    assert "return NVML_ERROR_INVALID_ARGUMENT;\n}" in written(header, "nvmlUnitGetWord")
    assert "return NVML_ERROR_NOT_FOUND;" in written(header, "nvmlVgpuInstanceGetWord")


@pytest.mark.parametrize(
    ("name", "entry", "said"),
    [
        ("nvmlDeviceGetWord", {"out": {"wrd": "brand"}}, "no parameter 'wrd'"),
        ("nvmlDeviceGetWord", {"out": {"word": "brnd"}}, "no field 'brnd'"),
        ("nvmlDeviceGetWord", {"outs": {}}, "unknown key outs"),
        ("nvmlDeviceGetThing_v2", {"out": {"thing.usd": "brand"}}, "has no member 'usd'"),
        ("nvmlDeviceGetThing_v2", {"out": {"thing.more": "brand"}}, "is a number and goes to an array"),
        ("nvmlDeviceGetThing", {"version": {3: {"out": {"thing.used": "brand"}}}}, "has no version 3; it has 1, 2"),
        ("nvmlDeviceGetWord", {"out": {"word": "clocks.supported"}}, "needs a handler written in C"),
        ("nvmlDeviceGetWord", {"program": "nothing"}, "no program 'nothing'"),
        ("nvmlDeviceGetWord", {"by": ["kind"], "out": {"word": {0: {1: "brand"}}}}, "no field"),
    ],
)
def test_a_wrong_entry_is_named(header: Any, name: str, entry: dict[str, Any], said: str) -> None:
    with pytest.raises(TableError, match=rf"functions/test.yaml: {name}: .*{said}"):
        handlers._Checker(header.functions[name], header, "test.yaml").handler(entry)


def test_a_missing_header_names_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NVPARITY_NVML_HEADER", str(tmp_path / "none.h"))
    with pytest.raises(HeaderMissingError, match="pip install 'nvidia-nvml-dev"):
        find_header()


def test_every_function_of_the_tables_is_one_of_the_known() -> None:
    named = {name for path in (fields.TABLES / "functions").glob("*.yaml") for name in fields.load_yaml(path) if name != "format"}
    assert named <= set(fields.since())
