"""A capture against that of an earlier driver: what appeared, vanished, has another name or another state, GPUs grouped."""

from __future__ import annotations

import pytest

from harness.reports import successions
from harness.stages.compare import succession
from harness.stages.compare.sides import CAPTURE, Side, View
from harness.words.errors import InputError


def side(name: str, driver: str, gpus: list[dict[str, str]], rows: dict[str, str] | None = None, node: dict[str, str] | None = None) -> Side:
    """A capture whose GPUs have these readings; ``rows``: name of an element -> row."""
    leaves = [*(node or {}).items(), *((f"gpu[{number}]/{path}", text) for number, gpu in enumerate(gpus) for path, text in gpu.items())]
    known = {path: row for path, _ in leaves for element, row in (rows or {}).items() if path.endswith(f"/{element}")}
    redacted = frozenset(path for path, text in leaves if text == "[REDACTED]")
    return Side(name, CAPTURE, name, driver, {"q-x": View(leaves, known, frozenset({"N/A", "[Gone]"}), redacted)})


def told(earlier: Side, later: Side) -> list[str]:
    return list(successions.lines(succession.follow(earlier, later)))


def test_nodes_with_other_numbers_of_gpus_and_the_same_elements_are_the_same():
    found = succession.follow(side("a", "1.1", [{"x": "1"}] * 8), side("b", "1.2", [{"x": "2"}]))
    assert (found.steps, found.kept, found.moved, found.gpus) == ((), 1, 1, (8, 1))


def test_what_appeared_and_vanished_is_told_with_its_text_and_a_whole_block_as_one():
    earlier = side("a", "1.1", [{"x": "1", "old": "N/A", "gone/p": "1", "gone/q": "2"}])
    later = side("b", "1.2", [{"x": "1", "new": "7 W", "came/p": "1", "came/q": "2", "came/r": "3"}])
    assert told(earlier, later) == [
        "compared with a: driver 1.1 -> 1.2, GPUs 1 -> 1",
        "  appeared (not printed before): 4",
        "    gpu/new: '7 W'",
        "    gpu/came: 3 elements, p, q, r",
        "  vanished (no longer printed): 3",
        "    gpu/old: 'N/A'",
        "    gpu/gone: 2 elements, p, q",
        "  the same: 1 elements, 0 of them with other values",
    ]


def test_one_row_under_another_name_is_a_rename_and_its_state_is_told_too():
    rows = {"limit": "power.limit", "requested": "power.limit", "draw": "power.draw"}
    earlier = side("a", "1.1", [{"power/limit": "70 W", "power/draw": "9 W"}], rows)
    later = side("b", "1.2", [{"gpu_power/requested": "N/A", "gpu_power/draw": "8 W"}], rows)
    assert told(earlier, later)[1:] == [
        "  renamed (the same reading): 2",
        "    gpu/power -> gpu/gpu_power: 2 elements",
        "      limit -> requested",
        "  state (value or not): 1",
        "    gpu/gpu_power/requested: a value -> 'N/A'",
        "  the same: 0 elements, 0 of them with other values",
    ]
    alone = side("b", "1.2", [{"power/requested": "70 W", "power/draw": "9 W"}], rows)
    assert told(earlier, alone)[2] == "    gpu/power/limit -> gpu/power/requested"


def test_two_elements_of_one_row_are_not_guessed_to_be_renames():
    rows = {"a": "r", "b": "r", "c": "r"}
    found = succession.follow(side("a", "1.1", [{"a": "1"}], rows), side("b", "1.2", [{"b": "1", "c": "1"}], rows))
    assert [step.kind for step in found.steps] == ["appeared", "appeared", "vanished"]


def test_a_state_is_told_for_the_gpus_that_show_it_and_a_value_is_only_counted():
    earlier = side("a", "1.1", [{"fan": "3 %", "t": "1 C"}] * 4)
    later = side("b", "1.2", [{"fan": "3 %", "t": "2 C"}, {"fan": "N/A", "t": "2 C"}, {"fan": "N/A", "t": "2 C"}, {"fan": "4 %", "t": "2 C"}])
    assert told(earlier, later)[1:] == [
        "  state (value or not): 1",
        "    gpu/fan (GPU 1-2): a value -> a value or 'N/A'",
        "  the same: 1 elements, 1 of them with other values",
    ]


def test_a_state_never_equals_another_state_and_the_empty_text_is_a_value():
    found = succession.follow(side("a", "1.1", [{"x": "N/A", "y": ""}]), side("b", "1.2", [{"x": "[Gone]", "y": "1"}]))
    assert [(step.path, step.old, step.new) for step in found.steps] == [("gpu/x", ("N/A",), ("[Gone]",))]


def test_a_list_that_is_empty_on_one_side_is_one_line():
    earlier = side("a", "1.1", [{"processes": "", "clocks": "N/A"}])
    later = side("b", "1.2", [{"processes/process_info[0]/pid": "1", "processes/process_info[1]/pid": "2", "clocks/mem": "1 MHz"}])
    assert told(earlier, later)[1:3] == ["  state (value or not): 2", "    gpu/processes: empty -> a block: 1 elements, process_info/pid"]
    assert told(later, earlier)[3] == "    gpu/clocks: a block -> 'N/A': 1 elements, mem"


def test_what_a_giver_hid_is_neither_here_nor_there():
    assert succession.follow(side("a", "1.1", [{"x": "1", "y": "1"}]), side("b", "1.2", [{"x": "1", "y": "[REDACTED]"}])).count("state") == 0


def test_the_json_has_every_element_and_its_row():
    rows = {"fan": "fan.speed"}
    found = succession.follow(side("a", "1.1", [{"x": "1"}]), side("b", "1.2", [{"x": "1", "fan": "N/A"}], rows, {"cuda": "12"}))
    made = successions.document(found)
    assert (made["with"], made["drivers"], made["appeared"], made["kept"]) == ("a", ["1.1", "1.2"], 2, 1)
    assert [(step["path"], step["row"], step["new"]) for step in made["steps"]] == [("cuda", None, ["12"]), ("gpu/fan", "fan.speed", ["N/A"])]


def test_a_list_has_no_elements_to_compare():
    with pytest.raises(InputError, match="a has no q-x"):
        succession.follow(Side("a", CAPTURE, "a", None, {}), side("b", "1.2", [{}]))
