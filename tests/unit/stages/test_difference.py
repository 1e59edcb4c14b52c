"""The diff of two sides: kinds, renames across drivers, GPUs left out, what rules hide; and how its lines and its JSON tell it."""

from __future__ import annotations

import pytest

from harness.reports import differences
from harness.stages.compare.difference import compare
from harness.stages.compare.rules import Rule
from harness.stages.compare.sides import KEYS, Side, View
from harness.words.errors import InputError

STATES = frozenset({"N/A", "Requested functionality has been deprecated"})
DEPRECATED = "Requested functionality has been deprecated"
ROWS = {"power_limit": "power.limit", "power_state": "power.power_state", "gpu_temp": "temperature.gpu", "uuid": "uuid"}


def leaves(*gpus: dict[str, str]) -> list[tuple[str, str]]:
    listed = [("timestamp", "now")]
    for number, gpu in enumerate(gpus):
        listed += [(f"gpu[{number}]/{name}", text) for name, text in gpu.items()]
    return listed


def side(name: str, listed: list[tuple[str, str]], kind: str = "own", rows: dict[str, str] | None = None, **more) -> Side:
    table = ROWS if rows is None else rows
    found = {path: table[last] for path, _ in listed if (last := path.rpartition("/")[2]) in table}
    data = "\n".join(f"{path}={text}" for path, text in listed).encode()
    return Side(name, "capture", name, "1.0", {"q-x": View(listed, found, STATES, data=data, kind=kind, **more)})


def diff(one: Side, other: Side, rules: list[Rule] | None = None, *, volatile: bool = False):
    (found,) = compare(one, other, rules or [], (0, 1), volatile=volatile)
    return found


def told(one: Side, other: Side, **more) -> list[str]:
    """The lines between the heads and the sums."""
    return list(differences.lines(one, other, [diff(one, other, **more)]))[2:-1]


BOARD = {"uuid": "GPU-a", "gpu_temp": "34 C", "power/power_limit": "70 W"}


def test_equal_sides_are_equal():
    found = diff(side("a", leaves(BOARD)), side("b", leaves(BOARD)))
    assert (found.equal, found.elements, found.hidden) == (True, 4, {})


def test_each_kind_is_told_with_row_and_both_sides():
    other = {"uuid": "GPU-a", "power/power_limit": DEPRECATED, "fan": "3 %"}
    assert told(side("a", leaves(BOARD)), side("b", leaves(other))) == [
        "missing  gpu[0]/gpu_temp (temperature.gpu): '34 C' -> nothing",
        f"state    gpu[0]/power/power_limit (power.limit): '70 W' -> '{DEPRECATED}'",
        "invented gpu[0]/fan: nothing -> '3 %'",
    ]


def test_one_state_for_another_is_a_state_finding():
    found = diff(side("a", leaves({"fan": "N/A"})), side("b", leaves({"fan": DEPRECATED})))
    assert [finding.kind for finding in found.findings] == ["state"]


def test_the_clock_is_hidden_and_counted_unless_asked_for():
    one, other = side("a", leaves(BOARD)), side("b", [("timestamp", "later"), *leaves(BOARD)[1:]])
    found = diff(one, other)
    assert (found.equal, found.hidden) == (True, {"volatile": 1})
    shown = diff(one, other, volatile=True)
    assert ([finding.path for finding in shown.findings], shown.hidden) == (["timestamp"], {})


def test_a_temperature_is_told_unless_a_rule_names_it():
    one, other = side("t4-x1_1.0", leaves(BOARD)), side("t4-x1_2.0", leaves({**BOARD, "gpu_temp": "35 C"}))
    assert not diff(one, other).equal
    assert diff(one, other, [Rule("gpu/gpu_temp", "volatile", "moves", boards=("t4",))]).equal
    assert diff(one, other, [Rule("gpu/gpu_temp", "tolerance", "moves", within=1, unit="C")]).hidden == {"tolerated": 1}
    assert not diff(one, other, [Rule("gpu/gpu_temp", "volatile", "moves", boards=("l4",))]).equal
    assert not diff(one, other, [Rule("gpu/gpu_temp", "volatile", "moves")], volatile=True).equal


def test_a_renamed_element_is_one_rename_and_its_other_text_one_change():
    other = side("b", leaves({"uuid": "GPU-a", "gpu_temp": "34 C", "readings/limit": "60 W"}), rows={**ROWS, "limit": "power.limit"})
    assert told(side("a", leaves(BOARD)), other) == [
        "changed  gpu[0]/power/power_limit (power.limit): '70 W' -> '60 W'",
        "renamed  gpu[0]/power/power_limit -> readings/limit (power.limit)",
    ]


def test_a_rename_alone_is_a_difference():
    other = side("b", leaves({"uuid": "GPU-a", "gpu_temp": "34 C", "readings/limit": "70 W"}), rows={**ROWS, "limit": "power.limit"})
    found = diff(side("a", leaves(BOARD)), other)
    assert (found.findings, found.equal) == ([], False)


def test_two_elements_of_one_row_are_no_rename():
    other = side("b", leaves({"uuid": "GPU-a", "gpu_temp": "34 C", "x/limit": "70 W", "y/limit": "70 W"}), rows={**ROWS, "limit": "power.limit"})
    found = diff(side("a", leaves(BOARD)), other)
    assert (found.renames, [finding.kind for finding in found.findings]) == ([], ["missing", "invented", "invented"])


def test_a_block_that_is_a_line_on_the_other_side_is_no_rename():
    one = side("a", leaves({"power_state": "N/A"}))
    other = side("b", leaves({"power_state/power_state": "P0"}))
    assert [finding.kind for finding in diff(one, other).findings] == ["missing", "invented"]


def test_gpus_that_differ_alike_are_one_line_and_a_block_that_is_lacking_is_one():
    eight = [{"uuid": f"GPU-{number}", "gpu_temp": "34 C", "fan": "1 %", "health/a": "0", "health/b": "0"} for number in range(8)]
    warm = [{"uuid": gpu["uuid"], "gpu_temp": "35 C" if number not in (3, 5) else "36 C", "fan": "1 %"} for number, gpu in enumerate(eight)]
    assert told(side("a", leaves(*eight)), side("b", leaves(*warm))) == [
        "changed  gpu[0-2,4,6-7]/gpu_temp (temperature.gpu): '34 C' -> '35 C'",
        "changed  gpu[3,5]/gpu_temp (temperature.gpu): '34 C' -> '36 C'",
        "missing  gpu[0-7]/health: 2 elements each",
    ]
    assert told(side("a", leaves(*eight)), side("b", leaves(eight[0]))) == ["missing  gpu[1-7]: 5 elements each"]


def test_many_entries_of_a_list_are_one_line():
    lists = [{"uuid": "GPU-a", **{f"clocks/clock[{number}]": f"{number + shift} MHz" for number in range(9)}} for shift in (0, 10)]
    assert told(side("a", leaves(lists[0])), side("b", leaves(lists[1]))) == [
        "changed  gpu[0]/clocks/clock[0-8]: '0 MHz' -> '10 MHz' and 8 entries more"
    ]


def test_an_element_out_of_order():
    moved = {"uuid": "GPU-a", "power/power_limit": "70 W", "gpu_temp": "34 C"}
    (line,) = told(side("a", leaves(BOARD)), side("b", leaves(moved)))
    assert line.startswith("order    gpu[0]/")
    assert ": after gpu[0]/" in line


@pytest.mark.parametrize("swap", [False, True])
def test_gpus_that_a_trimmed_capture_left_out_are_no_difference(swap: bool):
    whole = side("a", leaves({"uuid": "GPU-a"}, {"uuid": "GPU-b"}))
    part = side("b", leaves({"uuid": "GPU-a"}), kind="trimmed")
    one, other = (part, whole) if swap else (whole, part)
    assert diff(one, other).equal
    short = side("b", leaves({"uuid": "GPU-a"}))
    assert not (diff(short, whole) if swap else diff(whole, short)).equal


def test_what_a_giver_hid_is_not_compared_and_counted():
    hidden = side("b", leaves({**BOARD, "uuid": "[REDACTED]"}), redacted=frozenset({"gpu[0]/uuid"}))
    found = diff(side("a", leaves(BOARD)), hidden)
    assert (found.equal, found.redacted) == (True, 1)


def test_bytes_that_differ_though_no_reading_does_are_a_finding_with_the_line():
    one = side("a", leaves(BOARD))
    view = View(one.views["q-x"].leaves, {}, STATES, data=(one.views["q-x"].data or b"").replace(b"gpu_temp", b" gpu_temp"), kind="own")
    found = diff(one, Side("b", "file", "", "1.0", {"q-x": view}))
    assert [finding.path for finding in found.findings] == ["line 3"]
    ends = View(view.leaves, {}, STATES, data=(one.views["q-x"].data or b"").replace(b"\n", b"\r\n") + b"\r\n", kind="own")
    assert diff(one, Side("b", "file", "", "1.0", {"q-x": ends})).equal


def test_sides_without_a_common_view_say_what_to_compare():
    keys = Side("profile:t4", "profile", "", "1.0", {KEYS: View([], {}, frozenset())})
    with pytest.raises(InputError, match="compare a with render:t4"):
        compare(side("a", []), keys, [], (0, 1))
    listed = Side("b", "file", "", None, {"L": View([], {}, frozenset())})
    with pytest.raises(InputError, match="a has q-x and b has L: no view in common"):
        compare(side("a", []), listed, [], (0, 1))


def test_the_json_has_every_entry_with_its_gpus_and_row():
    one, other = side("a", leaves(BOARD, {"gpu_temp": "34 C"})), side("b", leaves({**BOARD, "gpu_temp": "35 C"}, {"gpu_temp": "35 C"}))
    made = differences.document(one, other, [diff(one, other)])
    assert (made["version"], made["equal"], made["a"]) == (1, False, {"name": "a", "kind": "capture", "driver": "1.0"})
    (view,) = made["views"]
    assert view["differences"] == [
        {"kind": "changed", "path": "gpu[0-1]/gpu_temp", "gpus": [0, 1], "row": "temperature.gpu", "label": None, "a": "34 C", "b": "35 C"}
    ]
