"""Clock lists as runs: one line a list, and the same list again."""

from __future__ import annotations

import pytest

from harness.text import clocklists
from harness.text.model import PLAIN, Node, leaf, tree


def listed(value: str, *clocks: str) -> Node:
    return tree("supported_mem_clock", [leaf("value", value), *(leaf("supported_graphics_clock", clock) for clock in clocks)])


def mhz(*numbers: int) -> list[str]:
    return [f"{number} MHz" for number in numbers]


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (listed("1215 MHz", *mhz(*range(1410, 209, -15))), "{1215 MHz: 1410..210/-15}"),
        (listed("3996 MHz", *mhz(*(int(1965 - 7.5 * step) for step in range(247)))), "{3996 MHz: 1965..120/-8-7}"),
        (listed("405 MHz", *mhz(405)), "{405 MHz: 405}"),
        (listed("405 MHz", *mhz(405, 390, 375)), "{405 MHz: 405 390 375}"),
        (listed("405 MHz", *mhz(900, 600, 585, 570, 555)), "{405 MHz: 900 600..555/-15}"),
        (listed("405 MHz", *mhz(1, 2, 3, 4, 5)), "{405 MHz: 1..5/+1}"),
        (listed("N/A", "N/A"), '{"N/A": "N/A"}'),
        (listed("405 MHz", "600 MHz", "GPU is lost", "0600 MHz"), '{405 MHz: 600 "GPU is lost" "0600 MHz"}'),
        (listed("405 MHz", *mhz(7, 7, 7, 7, 7)), "{405 MHz: 7 7 7 7 7}"),
        (listed("405 MHz", *mhz(1, 2, 1, 2, 1, 2)), "{405 MHz: 1 2 1 2 1 2}"),
    ],
)
def test_a_list_is_written_as_runs_and_read_back(node, text):
    assert clocklists.encode(node) == text
    assert clocklists.decode(text) == node


@pytest.mark.parametrize(
    "node",
    [
        tree("supported_mem_clock", [leaf("value", "405 MHz")]),
        tree("supported_mem_clock", [leaf("supported_graphics_clock", "405 MHz"), leaf("value", "405 MHz")]),
        tree("supported_mem_clock", [leaf("value", "405 MHz"), leaf("other", "405 MHz")]),
        tree("supported_mem_clock", [leaf("value", "405 MHz"), leaf("supported_graphics_clock", "1 & 2", PLAIN)]),
        tree("clocks", [leaf("value", "405 MHz"), leaf("supported_graphics_clock", "405 MHz")]),
        tree("supported_mem_clock", [leaf("value", "405 MHz"), leaf("supported_graphics_clock", "405 MHz")], {"id": "1"}),
    ],
)
def test_an_element_of_another_shape_is_no_list(node):
    assert clocklists.encode(node) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{1215 MHz: 1410..215/-15}", "never comes to 215"),
        ("{1215 MHz: 1..9999999/+1}", "never comes to"),
        ("{1215 MHz: 1..2/+0}", "never comes to"),
        ("{1215: 1410}", "no clock list"),
        ("{1215 MHz: 14x}", "no run"),
        ("{1215 MHz: " + "1..4000/+1 1..4000/+1" + "}", "more than 4095 clocks"),
        ('{1215 MHz: "\\q"}', "no escape"),
        ("{}", "no clock list"),
    ],
)
def test_a_list_that_makes_no_sense_is_refused(text, said):
    with pytest.raises(ValueError, match=said):
        clocklists.decode(text)
