"""The JSON document of a measurement, its verdicts and its table."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from tests.bench import result
from tests.bench.limits import Limit, Limits
from tests.bench.result import Init, Measured, Measurement
from tests.bench.startup import Startup

LIMITS = Limits({"scalar": Limit(45, 4), "struct": Limit(150, 6), "refused": Limit(120, 12)}, {}, init_ms=0.25, init_ratio=3.5, startup_ratio=8)


def case(**changes: Any) -> Measured:
    whole = {"name": "power", "function": "nvmlDeviceGetPowerUsage", "kind": "scalar", "code": 0, "ns": 6.0, "empty_ns": 2.0, "instructions": 20.0}
    return Measured(**{**whole, **changes})


def measurement(*cases: Measured, **changes: Any) -> Measurement:
    whole = Measurement(
        machine={"id": "m", "cpu": "c"},
        library={"sha256": "aa"},
        image={"profile": "p", "sha256": "bb"},
        cases=cases or (case(),),
        inits=(Init("init", 100, 0.1, 0.08, 0.05),),
        startup=Startup(40.0, 10.0, 41.0, 11.0),
        mappings=(("r--s", "image"),),
        not_measured={},
    )
    return dataclasses.replace(whole, **changes)


def test_a_case_within_its_limits_misses_nothing() -> None:
    assert result.misses(measurement(), LIMITS) == []


@pytest.mark.parametrize(
    ("changes", "over"),
    [
        ({"instructions": 45.01}, ["instructions"]),
        ({"instructions": 45.0}, []),
        ({"ns": 8.1}, ["ratio"]),
        ({"ns": 8.0}, []),
        ({"instructions": None}, []),
        ({"instructions": 50.0, "ns": 9.0}, ["instructions", "ratio"]),
        ({"instructions": 50.0, "ns": 9.0, "kind": "struct"}, []),
        ({"instructions": 50.0, "ns": 9.0, "code": 3}, []),
        ({"instructions": 121.0, "code": 3, "kind": "struct"}, ["instructions"]),
    ],
)
def test_a_figure_above_its_limit_is_a_miss(changes: dict[str, Any], over: list[str]) -> None:
    assert case(**changes).misses(LIMITS) == over


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"inits": (Init("init", 9, 0.26, 0.1, 0.05),)}, "init: median 0.260 ms is above 0.25 ms"),
        ({"inits": (Init("init", 9, 0.36, 0.1, 0.1),)}, "init: median 0.360 ms is above 0.35 ms"),
        ({"startup": Startup(90.0, 10.0, 90.0, 10.0)}, "nvparity --help: 9.00 times python -c '' is above 8"),
        ({"mappings": (("rw-s", "state"),)}, "state: mapped rw-s, must be r--"),
        ({"mappings": (("none", "state"),)}, "state: mapped none, must be r--"),
    ],
)
def test_starting_too_slowly_and_writable_mappings_are_misses(changes: dict[str, Any], line: str) -> None:
    assert result.misses(measurement(**changes), LIMITS) == [line]


def test_the_document_has_every_figure_beside_its_limit() -> None:
    document = json.loads(json.dumps(result.document(measurement(case(ns=9.0)), LIMITS)))
    assert list(document) == ["format", "machine", "library", "image", "cases", "init", "startup", "mappings", "not_measured", "misses"]
    assert document["format"] == 1
    assert document["cases"] == [
        {
            "name": "power",
            "function": "nvmlDeviceGetPowerUsage",
            "class": "scalar",
            "code": 0,
            "ns": 9.0,
            "empty_ns": 2.0,
            "ratio": 4.5,
            "instructions": 20.0,
            "limits": {"instructions": 45, "ratio": 4},
            "misses": ["ratio"],
        }
    ]
    assert document["init"] == [{"name": "init", "runs": 100, "median_ms": 0.1, "min_ms": 0.08, "empty_ms": 0.05, "limit_ms": 0.25}]
    assert document["startup"] == {
        "command_cpu_ms": 40.0,
        "python_cpu_ms": 10.0,
        "command_ms": 41.0,
        "python_ms": 11.0,
        "ratio": 4.0,
        "limit": 8,
    }
    assert document["mappings"] == [{"permissions": "r--s", "file": "image"}]
    assert document["misses"] == ["power: ratio 4.50 is above 4 (scalar)"]


def test_what_was_not_counted_is_null_and_said() -> None:
    why = {"instructions": "valgrind is not installed"}
    found = measurement(case(instructions=None), not_measured=why)
    document = result.document(found, LIMITS)
    assert document["cases"][0]["instructions"] is None
    assert document["not_measured"] == why
    assert "not measured: instructions: valgrind is not installed" in result.table(found, LIMITS)


def test_the_summary_counts_figures_held_missed_and_not_measured() -> None:
    found = measurement(case(), case(ns=9.0, instructions=46.0), case(instructions=None))
    assert result.summary(found, LIMITS) == "6 passed, 2 failed, 1 skipped"
    assert result.summary(measurement(), LIMITS) == "5 passed, 0 failed"


def test_the_table_has_a_line_for_each_class_and_for_each_miss() -> None:
    found = measurement(case(), case(name="fan", code=3), case(name="memory", kind="struct", instructions=151.0))
    lines = result.table(found, LIMITS)
    assert [line.split()[0] for line in lines[1:4]] == ["scalar", "refused", "struct"]
    assert lines[-1] == "MISS  memory: instructions 151.00 is above 150 (struct)"


def test_the_long_table_has_a_line_for_each_case() -> None:
    lines = result.table(measurement(case(), case(name="fan")), LIMITS, every_case=True)
    assert [line.split()[0] for line in lines[1:3]] == ["power", "fan"]
