"""What nvidia-smi makes of samples: the pairs were printed by the binaries of 470 and 550 of lists served to them."""

from __future__ import annotations

import pytest

from harness.stages.render import samples
from harness.tables import formats

MOST = 2**32 - 1
MEASURED = [
    ([(1000000, 1000), (1500000, 2001), (3234567, 2999)], (2234567, 3, 2999, 1000, 2775)),
    ([(5, 10), (7, 11), (10000005, 11)], (10000000, 3, 11, 10, 11)),
    ([(9000000, 50), (1000000, 1)], (8000000, 2, 50, 1, 1)),
    ([(100, 3), (200, 4), (0, 0)], (200, 3, 4, 0, 1)),
    ([(10, 7), (10, 9)], (0, 2, 9, 7, 7)),
    ([(1, 7)], (0, 1, 7, 7, 7)),
    ([], (0, 0, 0, 0, 0)),
    ([(1, MOST), (2, MOST)], (1, 2, MOST, MOST, MOST - 1)),
    ([(0, MOST), (3, MOST)], (3, 2, MOST, MOST, 1431655764)),
    ([(1, 2619), (2, 2619)], (1, 2, 2619, 2619, 5238)),
    ([(second * 1000000, 2**31) for second in range(20)], (19000000, 20, 2**31, 2**31, 2**31 + 113)),
]


@pytest.mark.parametrize(("listed", "made"), MEASURED)
def test_samples_are_summed_up_as_the_binaries_do(listed: list[samples.Sample], made: tuple[int, ...]) -> None:
    assert tuple(summary(listed) for summary in samples.SUMMARIES.values()) == made


def test_the_number_read_of_a_union_is_its_first_four_bytes() -> None:
    entries: list[dict[str, int | bytes]] = [{"timeStamp": 7, "sampleValue": b"\x2c\x01\0\0\xff\0\0\0"}, {"timeStamp": 9, "sampleValue": 2**32 + 5}]
    assert samples.read(entries) == [(7, 300), (9, 5)]


@pytest.mark.parametrize(
    ("form", "raw", "text"),
    [
        ("sample_watts", 2775, "2.77 W"), ("sample_watts", 68575, "68.58 W"), ("sample_watts", 68565, "68.56 W"),
        ("sample_watts", MOST, "4294967.29 W"), ("sample_watts", 400, "0.40 W"), ("sample_seconds", 995000, "0.99 sec"),
        ("sample_seconds", 4995000, "5.00 sec"), ("sample_seconds", 5000, "0.01 sec"), ("sample_seconds", 19000000, "19.00 sec"),
    ],
)  # fmt: skip
def test_watts_and_seconds_of_samples_are_rounded_in_double_precision(form: str, raw: int, text: str) -> None:
    assert formats.get(form).text(raw) == text
