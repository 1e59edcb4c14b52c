"""Routes evaluated on a library made here: which call is made, with what, and what its answer means."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from harness.stages.render import lists
from harness.stages.render.reading import Place, Reading
from harness.stages.render.source import NvmlSource
from harness.tables import formats, rows
from harness.tables.drivers import SlotDef
from harness.words.errors import GateError, InputError

GPU = Place(device="handle", index=0)


class Library:
    """Answers by name; remembers what was asked."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    def _answer(self, name, *what):
        self.asked.append((name, *what))
        code, out = self.answers.get(name, (3, {}))
        return SimpleNamespace(code=code, out=out)

    def call(self, name, device=None, args=None):
        return self._answer(name, device, args or {})

    def field_value(self, device, identifier, scope):
        return self._answer("field", device, identifier, scope)

    def slot(self, number, shape, device=None, key=None):
        return self._answer("slot", number, shape, device, key)

    def handle(self, index):
        return f"handle {index}"


def source(routes, **answers):
    made = {name: rows.parse_route(spec, "test") for name, spec in routes.items()}
    driver: Any = SimpleNamespace(
        node="1.2", routes=made, field_ids={"POWER": 186}, slots={"part": SlotDef(231, "string")}, form=lambda _: formats.get("mib")
    )
    library = Library(**answers)
    return NvmlSource(library, driver, 1000), library


def test_a_call_answers_with_its_out_parameter_and_is_made_once():
    asked, library = source({"a": {"call": "nvmlA", "args": {"type": 2}, "out": "clock"}}, nvmlA=(0, {"clock": 405}))
    assert asked.read("a", GPU) == asked.read("a", GPU) == Reading(0, 405)
    assert library.asked == [("nvmlA", "handle", {"type": 2})]


def test_two_gpus_are_two_calls():
    asked, library = source({"a": {"call": "nvmlA", "out": "x"}}, nvmlA=(0, {"x": 1}))
    asked.read("a", GPU)
    asked.read("a", Place("other", 1))
    assert len(library.asked) == 2


def test_members_and_bits_are_picked_from_what_comes_back():
    asked, _ = source({"a": {"call": "nvmlA", "out": "info.mask", "bits": [4, 2]}}, nvmlA=(0, {"info.mask": 0b110000}))
    assert asked.read("a", GPU) == Reading(0, 3)


@pytest.mark.parametrize("code", [3, 4, 15, 26, 999])
def test_a_code_is_handed_on(code):
    asked, _ = source({"a": {"call": "nvmlA", "out": "x"}}, nvmlA=(code, {}))
    assert asked.read("a", GPU) == Reading(code)


def test_a_route_may_print_one_code_for_all_others():
    asked, _ = source({"a": {"call": "nvmlA", "out": "x", "refusal": 3}}, nvmlA=(999, {}))
    assert asked.read("a", GPU) == Reading(3)


def test_a_route_may_print_one_code_as_another():
    asked, _ = source({"a": {"call": "nvmlA", "out": "x", "refusals": {27: 3}}}, nvmlA=(27, {}))
    assert asked.read("a", GPU) == Reading(3)
    asked, _ = source({"a": {"call": "nvmlA", "out": "x", "refusals": {27: 3}}}, nvmlA=(26, {}))
    assert asked.read("a", GPU) == Reading(26)


@pytest.mark.parametrize(("text", "fits"), [("x" * 15, True), ("x" * 16, False), ("\u20ac" * 5, True), ("\u20ac" * 6, False)])
def test_a_text_that_has_no_room_in_the_binarys_buffer_is_of_insufficient_size(text, fits):
    asked, _ = source({"a": {"call": "nvmlA", "out": "x", "room": 16}}, nvmlA=(0, {"x": text}))
    assert asked.read("a", GPU) == (Reading(0, text) if fits else Reading(7))


def test_a_sum_that_64_bits_do_not_hold_is_of_insufficient_size():
    routes = {"a": {"call": "nvmlA", "out": "x"}, "b": {"call": "nvmlB", "out": "x"}, "c": {"sum": ["a", "b"]}}
    asked, _ = source(routes, nvmlA=(0, {"x": 2**64 - 2}), nvmlB=(0, {"x": 1}))
    assert asked.read("c", GPU) == Reading(0, 2**64 - 1)
    asked, _ = source(routes, nvmlA=(0, {"x": 2**64 - 1}), nvmlB=(0, {"x": 1}))
    assert asked.read("c", GPU) == Reading(7)


def test_a_gate_of_the_same_call_hands_its_code_on_and_one_of_another_call_does_not():
    gated = {"call": "nvmlA", "out": "y", "gate": ["a", 3]}
    asked, _ = source({"a": {"call": "nvmlA", "out": "x"}, "b": gated, "c": {**gated, "call": "nvmlC"}}, nvmlA=(4, {}), nvmlC=(0, {"y": 1}))
    assert (asked.read("b", GPU), asked.read("c", GPU)) == (Reading(4), Reading(3))


def test_a_mask_of_what_is_supported_that_is_refused_hands_its_code_on():
    asked, _ = source({"a": {"call": "nvmlA", "out": "x", "bits": [0, 1], "supported": "nvmlS"}}, nvmlA=(0, {"x": 1}), nvmlS=(15, {}))
    assert asked.read("a", GPU) == Reading(15)


def test_a_byte_array_may_hold_a_text():
    asked, _ = source({"a": {"call": "nvmlA", "out": "x", "text": True}}, nvmlA=(0, {"x": b"AB1\0\0"}))
    assert asked.read("a", GPU) == Reading(0, "AB1")


def test_text_keeps_its_odd_bytes_and_byte_arrays_become_digits():
    asked, _ = source({"a": {"call": "nvmlA", "out": "name"}}, nvmlA=(0, {"name": "x\udcff"}))
    assert asked.read("a", GPU) == Reading(0, "x\uf7ff")
    asked, _ = source({"a": {"call": "nvmlA", "out": "uuid"}}, nvmlA=(0, {"uuid": b"\x01\xab"}))
    assert asked.read("a", GPU) == Reading(0, "01ab")


def test_a_field_value_is_asked_by_the_drivers_id_and_scope():
    asked, library = source({"a": {"fieldvalue": "POWER", "scope": 1}}, field=(0, {"value": 7}))
    assert asked.read("a", GPU) == Reading(0, 7)
    assert library.asked == [("field", "handle", 186, 1)]


def test_a_field_without_an_id_on_this_driver_is_an_error_of_the_tables():
    asked, _ = source({"a": {"fieldvalue": "OTHER"}})
    with pytest.raises(InputError, match="OTHER"):
        asked.read("a", GPU)


def test_a_slot_is_called_by_number_and_one_that_the_table_lacks_is_not_supported():
    asked, library = source({"a": {"slot": "part"}, "b": {"slot": "none"}}, slot=(0, {"value": "1EB8"}))
    assert asked.read("a", GPU) == Reading(0, "1EB8")
    assert asked.read("b", GPU) == Reading(3)
    assert library.asked == [("slot", 231, "string", "handle", 0)]


def test_a_literal_is_printed_without_asking():
    asked, library = source({"a": {"literal": "deprecated"}})
    assert asked.read("a", GPU) == Reading(26)
    assert library.asked == []


def test_the_clock_is_the_one_handed_in():
    asked, _ = source({"a": {"clock": "now"}})
    assert asked.read("a", Place()) == Reading(0, 1000)


def test_a_gate_that_does_not_hold_asks_nothing_further():
    routes = {"mode": {"call": "nvmlMode", "out": "on"}, "a": {"call": "nvmlA", "out": "x", "gate": ["mode", 1]}}
    closed, library = source(routes, nvmlMode=(0, {"on": 0}), nvmlA=(0, {"x": 5}))
    assert closed.read("a", GPU) == Reading(3)
    assert [name for name, *_ in library.asked] == ["nvmlMode"]
    opened, _ = source(routes, nvmlMode=(0, {"on": 1}), nvmlA=(0, {"x": 5}))
    assert opened.read("a", GPU) == Reading(0, 5)


def test_a_bit_counts_only_where_the_board_supports_it():
    routes = {"a": {"call": "nvmlReasons", "out": "mask", "bits": [2, 1], "supported": "nvmlSupported"}}
    assert source(routes, nvmlSupported=(0, {"m": 4}), nvmlReasons=(0, {"mask": 4}))[0].read("a", GPU) == Reading(0, 1)
    assert source(routes, nvmlSupported=(0, {"m": 3}), nvmlReasons=(0, {"mask": 4}))[0].read("a", GPU) == Reading(3)


SUM = {"a": {"call": "nvmlA", "out": "x"}, "b": {"call": "nvmlB", "out": "x"}, "s": {"sum": ["a", "b"]}, "d": {"difference": ["a", "b"]}}
MIB = 1 << 20


def test_a_sum_takes_the_rows_that_answer():
    assert source(SUM, nvmlA=(0, {"x": 2}), nvmlB=(0, {"x": 3}))[0].read("s", GPU) == Reading(0, 5)
    assert source(SUM, nvmlA=(0, {"x": 2}), nvmlB=(4, {}))[0].read("s", GPU) == Reading(0, 2)
    assert source(SUM, nvmlA=(4, {}), nvmlB=(3, {}))[0].read("s", GPU) == Reading(4)


def test_a_difference_is_of_the_figures_printed():
    asked, _ = source(SUM, nvmlA=(0, {"x": 10 * MIB + 1}), nvmlB=(0, {"x": 4 * MIB + 9}))
    assert asked.read("d", GPU) == Reading(0, 6 * MIB)
    assert source(SUM, nvmlA=(0, {"x": 1}), nvmlB=(3, {}))[0].read("d", GPU) == Reading(3)


def test_a_member_is_read_from_the_entry_and_an_argument_may_be_one():
    routes = {"pid": {"member": "pid"}, "name": {"call": "nvmlSystemGetProcessName", "args": {"pid": "$pid"}, "out": "name"}}
    asked, library = source(routes, nvmlSystemGetProcessName=(0, {"name": "x"}))
    place = Place("handle", 0, {"pid": 7})
    assert asked.read("pid", place) == Reading(0, 7)
    assert asked.read("name", place) == Reading(0, "x")
    assert library.asked[-1][2] == {"pid": 7}


def test_gpus_are_as_many_as_the_library_says():
    asked, _ = source({"system.num_devices": {"call": "nvmlDeviceGetCount_v2", "out": "n"}}, nvmlDeviceGetCount_v2=(0, {"n": 2}))
    assert asked.entries("gpus", Place()) == [Place("handle 0", 0), Place("handle 1", 1)]


def test_clock_lists_nest():
    routes = {
        "supported_clocks.memory": {"call": "nvmlMemory", "out": "clocks"},
        "supported_clocks.graphics": {"call": "nvmlGraphics", "args": {"memory": "$memory_clock"}, "out": "clocks"},
    }
    asked, library = source(routes, nvmlMemory=(0, {"clocks": [405]}), nvmlGraphics=(0, {"clocks": [2, 1]}))
    (memory,) = asked.entries("memory_clocks", GPU)
    assert asked.read("supported_clocks.memory", memory) == Reading(0, 405)
    assert [asked.read("supported_clocks.graphics", each).raw for each in asked.entries("graphics_clocks", memory)] == [2, 1]
    assert library.asked[-1][2] == {"memory": 405}


PROCESSES = {f"processes.{name}": {"slot": name} for name in ("compute", "mps", "graphics")}


def processes(routes, lists, way="by_pid"):
    made = {name: rows.parse_route(spec, "test") for name, spec in routes.items()}

    class Listing(Library):
        def slot(self, number, shape, device=None, key=None):
            return SimpleNamespace(**dict(zip(("code", "out"), lists[number], strict=True)))

        def call(self, name, device=None, args=None):
            return SimpleNamespace(**dict(zip(("code", "out"), lists[name], strict=True)))

    slots = {name: SlotDef(number, "processes") for number, name in enumerate(("compute", "mps", "graphics"))}
    driver: Any = SimpleNamespace(node="1.2", routes=made, field_ids={}, slots=slots, lists={"processes": way})
    places = NvmlSource(Listing(), driver, 0).entries("processes", GPU)
    return [(place.entry["pid"], place.entry["type"]) for place in places]


def entry(*pids):
    return (0, {"value": [{"pid": pid} for pid in pids]})


def test_processes_are_printed_by_pid_once_with_all_types():
    assert processes(PROCESSES, {0: entry(3, 2), 1: entry(2), 2: entry(2, 1)}) == [(1, 4), (2, 7), (3, 1)]


def test_a_pid_twice_in_one_list_is_printed_twice():
    assert processes(PROCESSES, {0: entry(1, 1), 1: entry(), 2: entry(1)}) == [(1, 5), (1, 1)]


def test_a_list_is_sorted_by_pids_with_a_sign_and_two_are_merged_without():
    assert processes(PROCESSES, {0: entry(16, 2**32 - 2), 1: entry(), 2: entry()}) == [(2**32 - 2, 1), (16, 1)]
    assert processes(PROCESSES, {0: entry(2**32 - 1), 1: entry(), 2: entry(85027)}) == [(85027, 4), (2**32 - 1, 1)]


def test_the_mps_list_brings_no_process_of_its_own():
    assert processes(PROCESSES, {0: entry(), 1: entry(1, 2), 2: entry(2)}) == [(2, 7)]


@pytest.mark.parametrize(
    ("mps", "by_pid", "in_step"),
    [
        ((2, 3), [(1, 1), (2, 3), (3, 7)], [(1, 1), (2, 3), (3, 7)]),
        ((0, 2), [(1, 1), (2, 3), (3, 4)], [(1, 1), (2, 1), (3, 4)]),
        ((3, 2, 9), [(1, 1), (2, 3), (3, 7)], [(1, 1), (2, 3), (3, 7)]),
    ],
)
def test_in_step_a_pid_that_no_other_list_names_ends_the_marking(mps, by_pid, in_step):
    """Binaries 390 to 535 mark in step, 550 and 555 by pid."""
    given = {0: entry(1, 2), 1: entry(*mps), 2: entry(3)}
    assert (processes(PROCESSES, given), processes(PROCESSES, given, way="in_step")) == (by_pid, in_step)


def test_a_process_listed_twice_is_marked_once_in_step_and_twice_by_pid():
    given = {0: entry(1, 1), 1: entry(1), 2: entry()}
    assert processes(PROCESSES, given) == [(1, 3), (1, 3)]
    assert processes(PROCESSES, given, way="in_step") == [(1, 3), (1, 1)]


def test_lists_come_from_functions_of_the_header_as_well():
    routes = {**PROCESSES, "processes.mps": {"call": "nvmlMps", "out": "infos"}}
    assert processes(routes, {0: entry(1), "nvmlMps": (0, {"infos": [{"pid": 1}]}), 2: entry(2)}) == [(1, 3), (2, 4)]


@pytest.mark.parametrize("refused", [0, 1, 2])
def test_no_process_is_printed_unless_all_three_lists_answer(refused):
    assert processes(PROCESSES, {0: entry(1), 1: entry(1), 2: entry(2), refused: (4, {})}) == []


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"call": "nvmlA", "args": {"type": 2}, "out": "clock"}, "call nvmlA(type=2) clock"),
        ({"fieldvalue": "POWER", "scope": 1}, "fieldvalue POWER(scope=1)"),
        ({"slot": "part"}, "slot part()"),
    ],
)
def test_the_trace_says_the_route(spec, text):
    assert source({"a": spec})[0].asked("a") == text


def test_where_two_lists_name_a_pid_twice_the_first_of_one_goes_with_the_first_of_the_other():
    assert processes(PROCESSES, {0: entry(1, 1), 1: entry(), 2: entry(1, 1, 1)}) == [(1, 5), (1, 5), (1, 4)]


def test_a_count_of_gpus_beyond_reason_is_told_and_not_counted_through():
    routes = {"system.num_devices": {"call": "nvmlDeviceGetCount_v2", "out": "deviceCount"}}
    asked, _ = source(routes, nvmlDeviceGetCount_v2=(0, {"deviceCount": 1 << 31}))
    with pytest.raises(GateError, match="the library counts 2147483648 GPUs; a node has at most 4000"):
        lists.entries(asked, "lost_gpus", Place(None, None))
