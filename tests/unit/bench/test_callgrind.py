"""Reading callgrind's out file: names, costs, refusals."""

from __future__ import annotations

import pytest

from tests.bench.callgrind import CallgrindError, Calls, calls_from

HEAD = "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\n\npositions: line\nevents: Ir\nsummary: 100\n\n"

PLAIN = (
    HEAD
    + """ob=/lib/libnvidia-ml.so.1
fl=(1) ???
fn=(7) nvmlDeviceGetSerial
0 40
cfi=(2) string.S
cfn=(8) memcpy
calls=10 0
0 60

fn=(3) warm_calls
12 6
cfn=(7)
calls=3 0
+1 900

fn=(4) counted_calls
12 21
cob=(2) /lib/libnvidia-ml.so.1
cfi=(1)
cfn=(7)
calls=10 0
* 70
cfn=(9) nvparity_empty
calls=5 0
-2 10
+3 30
cfn=(7)
calls=10 0
15 80
"""
)


def test_calls_of_one_caller_are_added_up_and_those_of_others_left_out() -> None:
    assert calls_from(PLAIN, "counted_calls") == {"nvmlDeviceGetSerial": Calls(20, 150), "nvparity_empty": Calls(5, 10)}


def test_instructions_of_one_call_are_the_mean() -> None:
    assert calls_from(PLAIN, "counted_calls")["nvmlDeviceGetSerial"].each == 7.5


def test_a_function_without_short_names_is_read() -> None:
    text = HEAD + "fn=counted_calls\n1 5\ncfn=f(int)\ncalls=2 0\n1 8\n"
    assert calls_from(text, "counted_calls") == {"f(int)": Calls(2, 8)}


def test_a_caller_that_calls_nothing_has_no_calls() -> None:
    assert calls_from(HEAD + "fn=(1) counted_calls\n1 5\n", "counted_calls") == {}


def test_the_column_of_instructions_is_found_behind_positions_and_other_events() -> None:
    text = HEAD.replace("positions: line", "positions: instr line").replace("events: Ir", "events: Dr Ir Dw")
    text += "fn=(1) counted_calls\n0x10 5 1 2 3\ncfn=(2) f\ncalls=4 0x20 0\n0x14 6 100 200 300\n"
    assert calls_from(text, "counted_calls") == {"f": Calls(4, 200)}


def test_numbers_shared_with_other_tables_name_functions_only() -> None:
    text = HEAD + "fl=(1) file.c\nob=(2) lib.so\nfn=(1) counted_calls\n1 5\ncfi=(2) other.c\ncfn=(2) f\ncalls=1 0\n1 9\n"
    assert calls_from(text, "counted_calls") == {"f": Calls(1, 9)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PLAIN.replace("counted_calls", "other"), "no function counted_calls"),
        (PLAIN.replace("events: Ir", "events: Dr"), "Ir .instructions. is not among them"),
        (PLAIN.replace("(9) nvparity_empty", "(9)"), r"line 3\d: function \(9\) has no name yet"),
        (PLAIN.replace("* 70", "jump=1"), "a line of costs is expected after calls="),
        (PLAIN.replace("* 70", "*"), "a line of costs is expected after calls="),
        (PLAIN[: PLAIN.rindex("15 80")], "ends after calls="),
        (PLAIN.replace("events: Ir\n", ""), "calls= before events:"),
        ("", "no function counted_calls"),
    ],
)
def test_what_is_no_callgrind_file_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(CallgrindError, match=message):
        calls_from(text, "counted_calls")
