"""The line about calls without data, and the counts it is made of."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from harness.stages.unanswered import summary, total


def test_the_counts_of_several_processes_are_added_up_and_other_lines_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "unanswered"
    path.write_bytes(b"2 nvmlDeviceGetX\n1 nvmlDeviceGetY\n\xff\n-1 nvmlDeviceGetX\n3 nvmlDeviceGetX\n9 nvmlDeviceGetZ extra\n7 cut")
    assert total(path) == {"nvmlDeviceGetX": 5, "nvmlDeviceGetY": 1}
    assert total(tmp_path / "none") == Counter()


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        ({}, ""),
        ({"nvmlDeviceGetX": 1}, "1 call without data: nvmlDeviceGetX (1)"),
        ({"nvmlDeviceGetY": 4, "nvmlDeviceGetX": 5}, "9 calls without data: nvmlDeviceGetX (5), nvmlDeviceGetY (4)"),
        (
            {"nvmlDeviceGetB": 2, "nvmlDeviceGetA": 1, "nvmlDeviceGetY": 4, "nvmlDeviceGetX": 5},
            "12 calls without data: nvmlDeviceGetX (5), nvmlDeviceGetY (4), 2 more",
        ),
        ({"nvmlDeviceGetB": 2, "nvmlDeviceGetA": 2}, "4 calls without data: nvmlDeviceGetA (2), nvmlDeviceGetB (2)"),
    ],
)
def test_the_line_names_the_most_frequent_functions(counts: dict[str, int], line: str) -> None:
    assert summary(Counter(counts)) == line
