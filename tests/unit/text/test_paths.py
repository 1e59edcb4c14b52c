"""Paths with wildcards: what a pattern names and what it does not."""

from __future__ import annotations

import pytest

from harness.text import paths
from harness.words.errors import InputError

PATH = "gpu[2]/supported_clocks/supported_mem_clock[10]/value"


@pytest.mark.parametrize(
    "pattern",
    [
        PATH,
        "gpu/supported_clocks/supported_mem_clock/value",
        "gpu[*]/supported_clocks/supported_mem_clock[*]/value",
        "gpu[0-3]/supported_clocks/supported_mem_clock[9-12]/value",
        "gpu[0,2,5-7]/supported_clocks/*/value",
        "gpu/supported_*/*clock/v*e",
        "gpu/**",
        "**/value",
        "**",
        "gpu/**/value",
        "gpu/supported_clocks/supported_mem_clock/**/value",
    ],
)
def test_a_pattern_names_the_path(pattern: str):
    assert paths.matches(pattern, PATH)


@pytest.mark.parametrize(
    "pattern",
    [
        "gpu[1]/supported_clocks/supported_mem_clock/value",
        "gpu[0-1]/**",
        "gpu/*/value",
        "*",
        "gpu/supported_clocks",
        "gpu/supported_clocks/supported_mem_clock[1]/value",
        "gpu/supported.clocks/supported_mem_clock/value",
        "supported_mem_clock/value",
        "value",
        "gpu[2]/supported_clocks/supported_mem_clock[10]/value/**",
    ],
)
def test_a_pattern_names_nothing_else(pattern: str):
    assert not paths.matches(pattern, PATH)


def test_an_attribute_and_an_element_without_index():
    assert paths.matches("gpu/@id", "gpu[0]/@id")
    assert not paths.matches("gpu/id", "gpu[0]/@id")
    assert not paths.matches("timestamp[*]", "timestamp")


@pytest.mark.parametrize("pattern", ["", "/", "gpu[", "gpu]", "gpu[0]x", "gpu[]", "gpu[3-1]", "gpu[0-999999]", "gpu[-1]", "gpu//uuid"])
def test_what_is_no_pattern_is_refused(pattern: str):
    with pytest.raises(InputError, match="path "):
        paths.check(pattern)


def test_numbers_as_ranges_and_a_path_without_indices():
    assert paths.ranges([7, 0, 1, 2, 5, 5]) == "0-2,5,7"
    assert paths.ranges([]) == ""
    assert paths.distinct(PATH) == "gpu/supported_clocks/supported_mem_clock/value"
