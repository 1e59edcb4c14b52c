"""The JSON of a check and its text."""

from __future__ import annotations

import io
import json

from rich.console import Console

from harness.reports import document, table
from harness.stages.compare import Case, Counts, Finding

NAMES = ["elements", "exact", "volatile", "tolerated", "gaps", "redacted", "unmodelled", "deferred", "invented", "assumed", "clock_lines"]


def cases():
    good = Case("a", "own", "builtin", "470.74", "470.74", 1, Counts(elements=5, exact=5), Counts(elements=4, exact=4), "equal")
    finding = Finding("GPU-1", "gpu[0]/fan_speed", "changed", "3 %", "4 %")
    bad = Case("b", "own", "builtin", "580.105.08", "580.105.08", 8, Counts(elements=5, exact=4), Counts(elements=4, exact=3), "differs", [finding])
    return [good, bad]


def test_a_case_has_the_keys_of_version_1():
    made = document.check(cases())
    assert made["version"] == 1
    for case in made["cases"]:
        assert set(case) >= {"id", "kind", "renderer", "driver", "layout", "gpus", "bytes", "rows", "findings", *NAMES}
        assert set(case["rows"]) >= set(NAMES)
    assert made["cases"][1]["findings"] == [
        {"gpu": "GPU-1", "path": "gpu[0]/fan_speed", "kind": "changed", "expected": "3 %", "actual": "4 %", "rule": None}
    ]


def test_totals_are_sums():
    totals = document.check(cases())["totals"]
    assert (totals["cases"], totals["parity"], totals["elements"], totals["exact"], totals["findings"]) == (2, 1, 10, 9, 1)
    assert totals["rows"]["elements"] == 8


def test_the_text_is_json_with_one_last_line_end():
    text = document.text(document.check(cases()))
    assert json.loads(text)["version"] == 1
    assert text.endswith("}\n")


def test_the_table_says_each_finding_and_the_outcome():
    stream = io.StringIO()
    table.check(cases(), Console(file=stream, width=200))
    shown = stream.getvalue()
    assert "b: changed gpu[0]/fan_speed: expected '3 %', got '4 %'" in shown
    assert "parity: 1 of 2 captures, 10 elements, 1 findings" in shown


def test_text_of_a_capture_is_not_read_as_markup():
    stream = io.StringIO()
    case = Case("[red]x[/red]", "own", "builtin", "1.2", "1.2", 1, Counts(), Counts(), "differs", [Finding(None, "p[0]", "changed", "[b]", "[/b]")])
    table.check([case], Console(file=stream, width=200))
    assert "[red]x[/red]: changed p[0]: expected '[b]', got '[/b]'" in stream.getvalue()
