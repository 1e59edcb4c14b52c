"""What `nvidia-smi -q -d POWER,UTILIZATION,CLOCK` makes of the samples of nvmlDeviceGetSamples: their span, number, extremes and average.

Measured with the binaries of 470 and 550, which agree on lists that no driver would give, too (out of order, at one instant, past 32 bits).
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Sample = tuple[int, int]
"""Time in microseconds and value."""
U32, U64 = 2**32, 2**64


def read(entries: Sequence[Mapping[str, int | bytes]]) -> list[Sample]:
    """Samples as the call gave them: of the union, whatever its type is said to be, the number without a sign of 32 bits is read."""
    return [(int(entry["timeStamp"]), _number(entry["sampleValue"])) for entry in entries]


def _number(value: int | bytes) -> int:
    return int.from_bytes(value[:4], "little") if isinstance(value, bytes) else int(value) % U32


def _span(samples: list[Sample]) -> int:
    times = [time for time, _ in samples] or [0]
    return max(times) - min(times)


def _average(samples: list[Sample]) -> int:
    """Each value counts for the microseconds since the sample before it, the first for one: 64 bits are added up, 32 are printed."""
    if not samples:
        return 0
    steps = [(abs(time - before), value) for (before, _), (time, value) in itertools.pairwise(samples)]
    total = samples[0][1] + sum(step * value for step, value in steps)
    return total % U64 // (sum(step for step, _ in steps) or 1) % U32


SUMMARIES: dict[str, Callable[[list[Sample]], int]] = {
    "duration": _span,
    "count": len,
    "max": lambda samples: max((value for _, value in samples), default=0),
    "min": lambda samples: min((value for _, value in samples), default=0),
    "avg": _average,
}
