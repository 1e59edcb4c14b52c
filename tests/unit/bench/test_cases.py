"""What is measured: cases made from the function tables and from cases.yaml, as the loop program reads them."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from mocklib.fields import FieldDef
from mocklib.gen.handlers import Handler, Item
from mocklib.gen.header import Function, Header, Param, Type
from tests.bench import cases
from tests.bench.cases import Case, CasesError

DEVICE = Param("device", Type("nvmlDevice_t"))
FIELD = FieldDef("power", "u64", None, 1, None, None, "device", 0)
SIZES = {"nvmlMemory_t": 24, "nvmlMemory_v2_t": 40}


def out(name: str, kind: str = "unsigned int") -> Param:
    return Param(name, Type(kind, 1))


FUNCTIONS = {
    "nvmlDeviceGetPowerUsage": (DEVICE, out("power")),
    "nvmlDeviceGetClockInfo": (DEVICE, Param("type", Type("nvmlClockType_t")), out("clock")),
    "nvmlDeviceGetName": (DEVICE, out("name", "char"), Param("length", Type("unsigned int"))),
    "nvmlDeviceGetMemoryInfo": (DEVICE, out("memory", "nvmlMemory_t")),
    "nvmlDeviceGetMemoryInfo_v2": (DEVICE, out("memory", "nvmlMemory_v2_t")),
    "nvmlDeviceGetFieldValues": (DEVICE, Param("valuesCount", Type("int")), out("values", "nvmlFieldValue_t")),
    "nvmlSystemGetCount": (out("count"),),
    "nvmlDeviceSetPowerManagementLimit": (DEVICE, Param("limit", Type("unsigned int"))),
    "nvmlDeviceGetTwice": (DEVICE, out("count"), out("items")),
}


@pytest.fixture
def header() -> Header:
    found = Header("")
    found.functions = {name: Function(name, params) for name, params in FUNCTIONS.items()}
    found.typedefs = {"nvmlDevice_t": ("handle",)}
    found.structs = {"nvmlMemory_t": (out("total"),), "nvmlMemory_v2_t": (Param("version", Type("unsigned int")), out("total"))}
    found.enums = {"nvmlClockType_t": {"A": 0, "B": 5}}
    found.versions = {"nvmlMemory_v2_t": ("Memory", 2)}
    return found


def made(header: Header, **handlers: Handler) -> list[Case]:
    return list(cases.from_tables(header, handlers, SIZES.__getitem__))


def test_a_getter_of_one_number_is_a_scalar(header: Header) -> None:
    handler = Handler("nvmlDeviceGetPowerUsage", outs=(Item("*power", "number", field=FIELD),))
    assert made(header, nvmlDeviceGetPowerUsage=handler) == [
        Case("nvmlDeviceGetPowerUsage", "nvmlDeviceGetPowerUsage", "scalar", ("device", "mem:16:"))
    ]


def test_a_getter_of_several_numbers_is_a_class_of_its_own(header: Header) -> None:
    handler = Handler("nvmlDeviceGetTwice", outs=(Item("*count", "number", field=FIELD), Item("*items", "number", field=FIELD)))
    assert made(header, nvmlDeviceGetTwice=handler) == [Case("nvmlDeviceGetTwice", "nvmlDeviceGetTwice", "numbers", ("device", "mem:16:", "mem:16:"))]


def test_a_getter_of_the_node_has_no_handle(header: Header) -> None:
    assert made(header, nvmlSystemGetCount=Handler("nvmlSystemGetCount", outs=(Item("*count", "number", field=FIELD),)))[0].arguments == ("mem:16:",)


def test_a_getter_with_a_key_is_called_with_the_first_keys_of_its_table(header: Header) -> None:
    item = Item("*clock", "number", keyed={(key,): FIELD for key in (5, 0, 1, 2, 3)})
    found = made(header, nvmlDeviceGetClockInfo=Handler("nvmlDeviceGetClockInfo", outs=(item,), by=("type",)))
    assert [case.name for case in found] == [f"nvmlDeviceGetClockInfo({key})" for key in (0, 1, 2, 3)]
    assert found[1].kind == "enum"
    assert found[1].arguments == ("device", "1", "mem:16:")


def test_a_text_getter_gets_a_buffer_and_its_length(header: Header) -> None:
    handler = Handler("nvmlDeviceGetName", texts=(Item("*name", "text", field=FIELD),))
    assert made(header, nvmlDeviceGetName=handler) == [Case("nvmlDeviceGetName", "nvmlDeviceGetName", "string", ("device", "mem:96:", "96"))]


def test_a_struct_has_its_size_and_where_it_has_one_its_version_word(header: Header) -> None:
    plain = made(header, nvmlDeviceGetMemoryInfo=Handler("nvmlDeviceGetMemoryInfo", outs=(Item("memory->total", "number", field=FIELD),)))
    assert plain[0].arguments == ("device", "mem:24:")
    versioned = made(header, nvmlDeviceGetMemoryInfo_v2=Handler("nvmlDeviceGetMemoryInfo_v2", versions={2: (Item("x", "number", field=FIELD),)}))
    word = struct.pack("=I", 40 | 2 << 24).hex()
    assert versioned == [Case("nvmlDeviceGetMemoryInfo_v2:v2", "nvmlDeviceGetMemoryInfo_v2", "struct", ("device", f"mem:40:{word}"))]


def test_setters_and_handlers_in_c_are_no_cases_of_the_tables(header: Header) -> None:
    setter = Handler("nvmlDeviceSetPowerManagementLimit", program="power_limit")
    custom = Handler("nvmlDeviceGetPowerUsage", custom="power")
    assert made(header, nvmlDeviceSetPowerManagementLimit=setter, nvmlDeviceGetPowerUsage=custom) == []


def test_listed_arguments_become_what_the_loop_reads(header: Header) -> None:
    document = {
        "format": 1,
        "cases": {
            "nvmlDeviceGetFieldValues": {"class": "field_values", "arguments": ["device", 2, "fields:82,185"]},
            "nvmlDeviceGetTwice": {"class": "list", "arguments": ["device", "count:64", "bytes:256"]},
        },
    }
    values, twice = cases.listed(document, header, SIZES.__getitem__)
    assert twice.line == "nvmlDeviceGetTwice nvmlDeviceGetTwice device count:64 mem:256:"
    size, content = values.arguments[2].split(":")[1:]
    assert int(size) == 80
    assert [struct.unpack_from("=I", bytes.fromhex(content), 40 * number)[0] for number in (0, 1)] == [82, 185]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"cases": {}}, "format 1 is expected"),
        ({"format": 1, "cases": {"nvmlNone": {}}}, "nvmlNone: the header declares no such function"),
        ({"format": 1, "cases": {"nvmlDeviceGetName": {"class": "string", "arguments": ["device"]}}}, "nvmlDeviceGetName: class and 3 arguments"),
        ({"format": 1, "cases": {"nvmlDeviceGetName": {"arguments": []}}}, "nvmlDeviceGetName: class and 3 arguments"),
    ],
)
def test_wrong_entries_are_refused_by_name(document: dict[str, Any], message: str, header: Header) -> None:
    with pytest.raises(CasesError, match=message):
        list(cases.listed(document, header, SIZES.__getitem__))


def test_no_batch_calls_a_function_twice_and_none_is_lost() -> None:
    every = [Case(f"{function}({key})", function, "enum", ()) for key in range(3) for function in ("f", "g")] + [Case("h", "h", "scalar", ())]
    found = cases.batches(every)
    assert [[case.function for case in batch] for batch in found] == [["f", "g", "h"], ["f", "g"], ["f", "g"]]
    assert {case for batch in found for case in batch} == set(every)
