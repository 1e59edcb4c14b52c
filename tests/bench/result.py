"""A measurement judged by the limits: the JSON document (format 1) and the table that is printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.bench.limits import Limits
from tests.bench.startup import Startup

FORMAT = 1
REFUSED = "refused"
INSTRUCTIONS, RATIO = "instructions", "ratio"


@dataclass(frozen=True)
class Measured:
    """One case: the code it answered (nvmlReturn_t), ns of a call and of the empty call beside it, instructions of a call where they were counted."""

    name: str
    function: str
    kind: str
    code: int
    ns: float
    empty_ns: float
    instructions: float | None

    @property
    def ratio(self) -> float:
        """Time as a multiple of the empty call's."""
        return self.ns / self.empty_ns

    @property
    def judged_as(self) -> str:
        """The class whose limits hold: its own, or ``refused`` where the board's answer is a status."""
        return REFUSED if self.code else self.kind

    def misses(self, limits: Limits) -> list[str]:
        """The figures above their limits: instructions, ratio."""
        limit = limits.of(self.name, self.judged_as)
        over = []
        if self.instructions is not None and self.instructions > limit.instructions:
            over.append(INSTRUCTIONS)
        if self.ratio > limit.ratio:
            over.append(RATIO)
        return over


@dataclass(frozen=True)
class Init:
    """dlopen, dlsym and nvmlInit_v2 in ``runs`` fresh processes, ms: median of the quietest batch, the least, and an empty library's median."""

    name: str
    runs: int
    median_ms: float
    min_ms: float
    empty_ms: float

    def limit_ms(self, limits: Limits) -> float:
        """What the median may be: on a machine that takes longer for an empty library, more."""
        return max(limits.init_ms, limits.init_ratio * self.empty_ms)


@dataclass(frozen=True)
class Measurement:
    """All that one run of the bench measured.

    ``mappings`` are (permissions, file) of the image and state in the measuring process, ``none`` for one that is not mapped; ``not_measured`` says
    what is missing and why.
    """

    machine: Mapping[str, Any]
    library: Mapping[str, Any]
    image: Mapping[str, Any]
    cases: Sequence[Measured]
    inits: Sequence[Init]
    startup: Startup
    mappings: Sequence[tuple[str, str]]
    not_measured: Mapping[str, str]


def misses(measurement: Measurement, limits: Limits) -> list[str]:
    """One line for every figure above its limit, and for a writable mapping; empty when all hold."""
    found = []
    for case in measurement.cases:
        limit, kind = limits.of(case.name, case.judged_as), case.judged_as
        over = case.misses(limits)
        found += [f"{case.name}: {figure} {getattr(case, figure):.2f} is above {getattr(limit, figure):g} ({kind})" for figure in over]
    slow = [init for init in measurement.inits if init.median_ms > init.limit_ms(limits)]
    found += [f"{init.name}: median {init.median_ms:.3f} ms is above {init.limit_ms(limits):.3g} ms" for init in slow]
    if measurement.startup.ratio > limits.startup_ratio:
        found.append(f"nvparity --help: {measurement.startup.ratio:.2f} times python -c '' is above {limits.startup_ratio:g}")
    found += [f"{file}: mapped {permissions}, must be r--" for permissions, file in measurement.mappings if not permissions.startswith("r--")]
    return found


def summary(measurement: Measurement, limits: Limits) -> str:
    """How many figures hold, do not, and were not measured."""
    counted = sum(case.instructions is not None for case in measurement.cases)
    figures = len(measurement.cases) + counted + len(measurement.inits) + 1 + len(measurement.mappings)
    failed, skipped = len(misses(measurement, limits)), len(measurement.cases) - counted
    return f"{figures - failed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")


def _case(case: Measured, limits: Limits) -> dict[str, Any]:
    limit = limits.of(case.name, case.judged_as)
    return {
        "name": case.name,
        "function": case.function,
        "class": case.judged_as,
        "code": case.code,
        "ns": round(case.ns, 2),
        "empty_ns": round(case.empty_ns, 2),
        "ratio": round(case.ratio, 2),
        "instructions": None if case.instructions is None else round(case.instructions, 2),
        "limits": {"instructions": limit.instructions, "ratio": limit.ratio},
        "misses": case.misses(limits),
    }


def document(measurement: Measurement, limits: Limits) -> dict[str, Any]:
    """The JSON document: each case with its figures and limits, then starting, mappings, what was not measured and why, and what misses its limit."""
    startup = measurement.startup
    return {
        "format": FORMAT,
        "machine": dict(measurement.machine),
        "library": dict(measurement.library),
        "image": dict(measurement.image),
        "cases": [_case(case, limits) for case in measurement.cases],
        "init": [
            {
                "name": init.name,
                "runs": init.runs,
                "median_ms": round(init.median_ms, 4),
                "min_ms": round(init.min_ms, 4),
                "empty_ms": round(init.empty_ms, 4),
                "limit_ms": round(init.limit_ms(limits), 4),
            }
            for init in measurement.inits
        ],
        "startup": {
            "command_cpu_ms": round(startup.command_cpu_ms, 2),
            "python_cpu_ms": round(startup.python_cpu_ms, 2),
            "command_ms": round(startup.command_ms, 2),
            "python_ms": round(startup.python_ms, 2),
            "ratio": round(startup.ratio, 2),
            "limit": limits.startup_ratio,
        },
        "mappings": [{"permissions": permissions, "file": file} for permissions, file in measurement.mappings],
        "not_measured": dict(measurement.not_measured),
        "misses": misses(measurement, limits),
    }


def _span(values: Iterable[float], form: str) -> str:
    found = list(values)
    return f"{min(found):{form}} to {max(found):{form}}" if found else "not counted"


def table(measurement: Measurement, limits: Limits, every_case: bool = False) -> list[str]:
    """The measurement as lines of text: one a class of cases (with ``every_case`` one a case), then start-up and what missed its limit."""
    lines = [f"{'case' if every_case else 'class':34} {'calls':>5} {'ns':>16} {'ratio':>14} {'limit':>5} {'instructions':>16} {'limit':>5}"]
    groups: dict[str, list[Measured]] = {}
    for case in measurement.cases:
        groups.setdefault(case.name if every_case else case.judged_as, []).append(case)
    for name, cases in groups.items():
        limit = limits.of(cases[0].name, cases[0].judged_as)
        counted = _span((case.instructions for case in cases if case.instructions is not None), ".0f")
        times, ratios = _span((case.ns for case in cases), ".1f"), _span((case.ratio for case in cases), ".2f")
        lines.append(f"{name:34} {len(cases):5} {times:>16} {ratios:>14} {limit.ratio:5g} {counted:>16} {limit.instructions:5g}")
    lines += [
        f"{init.name}: median {init.median_ms:.3f} ms, least {init.min_ms:.3f} ms of {init.runs} processes, "
        f"an empty library {init.empty_ms:.3f} ms (limit {init.limit_ms(limits):.3g} ms)"
        for init in measurement.inits
    ]
    startup = measurement.startup
    both = f"nvparity --help {startup.command_cpu_ms:.1f} ms of processor, python -c '' {startup.python_cpu_ms:.1f} ms"
    lines.append(f"{both}: {startup.ratio:.2f} times (limit {limits.startup_ratio:g})")
    lines += [f"mapped {permissions}: {file}" for permissions, file in measurement.mappings]
    lines += [f"not measured: {what}: {why}" for what, why in measurement.not_measured.items()]
    return lines + [f"MISS  {miss}" for miss in misses(measurement, limits)]
