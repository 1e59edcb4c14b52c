"""The committed limits and their reader."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench import limits
from tests.bench.limits import Limit, LimitsError


def document(**changes: Any) -> dict[str, Any]:
    classes = {"scalar": {"instructions": 45, "ratio": 4}}
    whole = {"format": 1, "classes": classes, "cases": {}, "init_ms": 0.25, "init_ratio": 3.5, "startup_ratio": 8}
    return {**whole, **changes}


def test_the_committed_limits_hold_the_bars_the_library_promises() -> None:
    found = limits.load()
    assert found.classes["scalar"].instructions <= 45
    assert {found.classes[kind].ratio for kind in ("scalar", "enum")} == {4}
    assert {found.classes[kind].ratio for kind in ("string", "struct")} == {6}
    assert found.classes["field_values"].ratio == 45
    assert (found.init_ms, found.init_ratio, found.startup_ratio) == (0.25, 3.5, 8)


def test_a_case_takes_its_classs_limit_and_its_own_figures_in_their_place() -> None:
    found = limits.parse(document(cases={"nvmlDeviceGetX": {"instructions": 60}}))
    assert found.of("nvmlDeviceGetX", "scalar") == Limit(60, 4)
    assert found.of("nvmlDeviceGetY", "scalar") == Limit(45, 4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 3}, "format 1 is expected"),
        ({"limits": {}}, "keys missing or unknown: limits"),
        ({"classes": {"scalar": {"ratio": 4}}}, "classes.scalar: no instructions"),
        ({"classes": {"scalar": {"ratio": 4, "instructions": 45, "ns": 3}}}, "classes.scalar: the figures are"),
        ({"classes": {"scalar": {"ratio": 0, "instructions": 45}}}, "classes.scalar.ratio: 0 is not a number above zero"),
        ({"cases": {"x": {"ratio": "4"}}}, "cases.x.ratio: '4' is not a number"),
        ({"init_ms": True}, "init_ms: True is not a number"),
    ],
)
def test_wrong_limits_are_refused_by_entry(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(LimitsError, match=message):
        limits.parse(document(**changes))


@pytest.mark.parametrize("content", [None, [], "text", {}])
def test_what_is_no_document_is_refused(content: Any) -> None:
    with pytest.raises(LimitsError, match="format 1 is expected"):
        limits.parse(content)
