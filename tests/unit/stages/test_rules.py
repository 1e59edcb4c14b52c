"""Rules: what they cover and what never, how a file of them is refused, and which fail the gate for having no work."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from harness.stages.compare import Actual, Expected, compare, ruling
from harness.stages.compare.rules import Rule, load
from harness.words.errors import InputError

STATES = frozenset({"N/A", "Requested functionality has been deprecated"})
NAME = "t4-x2_470.74"
BOARD = [
    ("driver_version", "470.74"),
    ("timestamp", "Fri Aug 21 09:23:10 2026"),
    ("gpu[0]/uuid", "GPU-a"),
    ("gpu[0]/temperature/gpu_temp", "34 C"),
    ("gpu[0]/fan_speed", "N/A"),
    ("gpu[1]/uuid", "GPU-b"),
    ("gpu[1]/temperature/gpu_temp", "37 C"),
]


def text(leaves):
    return "".join(f"{path}={value}\n" for path, value in leaves).encode()


def sha(data):
    return hashlib.sha256(data).hexdigest()


def read(data):
    return [tuple(line.split("=", 1)) for line in data.decode().splitlines()]


def case(rules=(), version=(0, 1), name=NAME, more=(), **got):
    """The case of BOARD against BOARD with the elements named otherwise, ``temp=`` for GPU 0's temperature."""
    paths = {"temp": "gpu[0]/temperature/gpu_temp", "temp1": "gpu[1]/temperature/gpu_temp", "time": "timestamp", "fan": "gpu[0]/fan_speed"}
    wanted = {paths[short]: value for short, value in got.items()}
    render = [(path, wanted.get(path, value)) for path, value in BOARD] + list(more)
    expected = Expected(name, "own", list(BOARD), text(BOARD), sha(text(BOARD)), sha(text(BOARD)))
    return compare(expected, Actual("builtin", "470.74", "470.74", text(render), read, sha), STATES, list(rules), version)


def equation(counts, findings):
    told = sum(1 for finding in findings if finding.kind != "invented")
    ruled = counts.volatile + counts.tolerated + counts.gaps + counts.deferred
    return counts.elements == counts.exact + ruled + counts.redacted + counts.unmodelled + told


@pytest.mark.parametrize(
    ("rule", "counter"),
    [
        (Rule("gpu/temperature/gpu_temp", "volatile", "moves"), "volatile"),
        (Rule("gpu[0]/temperature/*", "tolerance", "sensor", within=1.0, unit="C"), "tolerated"),
        (Rule("gpu[*]/**", "gap", "later", expires=(0, 2)), "gaps"),
        (Rule("**/gpu_temp", "deferred", "later"), "deferred"),
    ],
)
def test_a_rule_takes_its_findings_into_its_own_count(rule, counter):
    result = case([rule], temp="35 C")
    assert result.parity
    assert getattr(result.counts, counter) == 1
    assert equation(result.counts, result.findings)


def test_a_volatile_timestamp_leaves_the_temperature_a_finding_unless_that_is_listed_too():
    time = Rule("timestamp", "volatile", "the clock", place="r:1")
    heat = Rule("gpu/temperature/gpu_temp", "volatile", "a sensor", place="r:2")
    other = {"time": "Fri Aug 21 09:23:11 2026", "temp": "35 C"}
    one = case([time], **other)
    assert [finding.path for finding in one.findings] == ["gpu[0]/temperature/gpu_temp"]
    assert one.counts.volatile == 1
    both = case([time, heat], **other)
    assert (both.parity, both.counts.volatile, both.ruled) == (True, 2, {"r:1": 1, "r:2": 1})


@pytest.mark.parametrize("shown", ["36 C", "34.9 W", "35", "N/A", "35 C "])
def test_a_tolerance_ends_where_it_says_and_covers_neither_a_state_nor_another_unit(shown):
    rule = Rule("gpu/temperature/*", "tolerance", "sensor", within=1.0, unit="C")
    left = case([rule], temp=shown).findings
    assert [finding.actual for finding in left] == ([] if shown == "35 C " else [shown])


def test_a_tolerance_of_tenths_reaches_its_end():
    rule = Rule("gpu/temperature/*", "tolerance", "sensor", within=0.1, unit="C")
    assert case([rule], temp="34.1 C").parity
    assert not case([rule], temp="34.2 C").parity


def test_an_expired_gap_covers_nothing_and_is_named():
    rule = Rule("gpu/temperature/*", "gap", "waits for sensors", expires=(0, 1))
    (finding,) = case([rule], temp="39 C").findings
    assert finding.rule == "expired: waits for sensors"
    assert case([rule], (0, 0, 9), temp="39 C").parity


def test_no_rule_hides_an_invented_element():
    result = case([Rule("**", "volatile", "all")], more=[("gpu[1]/fan_speed", "30 %")])
    assert [finding.kind for finding in result.findings] == ["invented"]


@pytest.mark.parametrize(
    ("scope", "covers"),
    [
        ({"boards": ("t4",)}, True),
        ({"boards": ("t*",)}, True),
        ({"boards": ("t",)}, False),
        ({"boards": ("t40",)}, False),
        ({"captures": (NAME,)}, True),
        ({"captures": ("*_470.74",)}, True),
        ({"captures": ("t4-x2_470",)}, False),
        ({"captures": ("*",), "boards": ("l4",)}, False),
    ],
)
def test_a_rule_speaks_of_the_captures_and_boards_it_names(scope, covers):
    assert case([Rule("gpu/temperature/*", "volatile", "moves", **scope)], temp="35 C").parity == covers


def used(rules, version=(0, 1), captures=(NAME,), cases=None, **got):
    listed = [case(rules, version, **got)] if cases is None else cases
    return [use.problem for use in ruling.uses(rules, listed, captures, version)]


def rule(path="gpu/temperature/*", kind="volatile", place="rules.yaml:3", **more):
    return Rule(path, kind, "a reason", place=place, **more)


def test_a_rule_that_does_its_work_has_no_problem_and_its_work_is_counted():
    (use,) = ruling.uses([rule()], [case([rule()], temp="35 C", temp1="3 C")], [NAME], (0, 1))
    assert (use.covers, use.problem) == (2, None)
    assert use.line == "rules.yaml:3: volatile gpu/temperature/* covers 2 (reason: a reason)"


def test_a_rule_that_covers_no_difference_is_a_problem():
    assert used([rule()]) == ["covers no difference: remove it"]


def test_of_two_rules_for_one_difference_the_second_has_no_work():
    assert used([rule(place="r:3"), rule(place="r:6")], temp="35 C") == [None, "covers no difference: remove it"]


def test_a_rule_that_matches_no_element_is_a_problem_with_the_nearest():
    assert used([rule("gpu/temperature/gpu_tmp")], temp="35 C") == [
        "matches no element (did you mean 'gpu/temperature/gpu_temp'?): remove or correct it"
    ]


def test_a_rule_for_no_capture_is_a_problem_with_the_nearest():
    assert used([rule(captures=("t4-x2_470.47",))]) == [f"speaks of no capture of this workspace (did you mean {NAME!r}?): remove or correct it"]


def test_an_expired_gap_is_a_problem_whether_it_would_cover_anything_or_not():
    gap = rule(kind="gap", expires=(0, 1))
    for got in ({}, {"temp": "35 C"}):
        (problem,) = used([gap], **got)
        assert problem.startswith("expired at version 0.1: mend")
    assert used([gap], version=(0, 0, 9), temp="35 C") == [None]


def test_a_rule_for_captures_that_were_not_all_checked_is_not_judged():
    both = (NAME, "t4-x1_595.91.07")
    assert used([rule()], captures=both) == [None]
    assert used([rule(captures=(NAME,))], captures=both) == ["covers no difference: remove it"]
    assert used([rule(captures=("nothing",))], captures=both) == [None]


@pytest.mark.parametrize(
    ("entry", "part"),
    [
        ("{path: a, kind: volatil, reason: x}", "did you mean 'volatile'"),
        ("{path: a, kind: volatile}", "'reason' is missing"),
        ("{path: a, kind: volatile, reason: ' '}", "'reason' is missing"),
        ("{path: a, kind: volatile, reason: x, within: 1}", "a tolerance, and only a tolerance, has 'within'"),
        ("{path: a, kind: tolerance, reason: x}", "a tolerance, and only a tolerance, has 'within'"),
        ("{path: a, kind: tolerance, reason: x, within: true}", "is no number above zero"),
        ("{path: a, kind: tolerance, reason: x, within: 0 C}", "is no number above zero"),
        ("{path: a, kind: tolerance, reason: x, within: C}", "is no number above zero"),
        ("{path: a, kind: gap, reason: x}", "a gap, and only a gap, has 'expires'"),
        ("{path: a, kind: gap, reason: x, expires: 0.3}", "a version of nvparity in quotes"),
        ('{path: a, kind: gap, reason: x, expires: "' + "9" * 5000 + '"}', "a version of nvparity in quotes"),
        ('{path: a, kind: gap, reason: x, expires: "\u0663"}', "a version of nvparity in quotes"),
        ("{path: a, kind: tolerance, reason: x, within: " + "9" * 400 + "}", "no number above zero"),
        ("{path: a, kind: gap, reason: x, expires: 2027-01-01}", "a version of nvparity in quotes"),
        ("{path: a, kind: volatile, reason: x, capture: [b]}", "did you mean 'captures'"),
        ("{path: a, kind: volatile, reason: x, boards: t4}", "'boards' is a list"),
        ("{path: 'gpu[x]/a', kind: volatile, reason: x}", "[x] is no index"),
        ("{path: 'a//b', kind: volatile, reason: x}", "'' is no step"),
        ("gpu/fan_speed", "not a mapping"),
    ],
)
def test_a_rule_that_is_off_is_refused_with_its_place(tmp_path: Path, entry: str, part: str):
    path = tmp_path / "rules.yaml"
    path.write_text(f"format: 1\nrules:\n  - {entry}\n")
    with pytest.raises(InputError, match=r"rules\.yaml:3: rules\[0\]") as caught:
        load(path)
    assert part in str(caught.value)


def test_an_unknown_key_is_named_with_its_own_line(tmp_path: Path):
    path = tmp_path / "rules.yaml"
    path.write_text("format: 1\nrules:\n  - path: a\n    kind: volatile\n    reason: x\n    withim: 1\n")
    with pytest.raises(InputError, match=r"rules\.yaml:6: .*did you mean 'within'"):
        load(path)


def test_a_file_of_rules_is_read(tmp_path: Path):
    path = tmp_path / "rules.yaml"
    rows = ["path: timestamp", "kind: tolerance", "reason: x", "within: 0.5 W", "boards: [t4]"]
    path.write_text("format: 1\nrules:\n  - " + "\n    ".join(rows) + "\n")
    assert load(path) == [Rule("timestamp", "tolerance", "x", boards=("t4",), within=0.5, unit="W", place=f"{path}:3")]


def test_no_file_is_no_rules_unless_it_was_named(tmp_path: Path):
    assert load(tmp_path / "rules.yaml") == []
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "rules.yaml", needed=True)
