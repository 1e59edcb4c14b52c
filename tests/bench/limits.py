"""The committed limits of the bench (limits.yaml)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
FORMAT = 1
FIGURES = ("instructions", "ratio")


class LimitsError(ValueError):
    """limits.yaml is wrong; the message names the entry."""


@dataclass(frozen=True)
class Limit:
    """What one call may cost: instructions, and time as a multiple of an empty call."""

    instructions: float
    ratio: float


@dataclass(frozen=True)
class Limits:
    """All limits: by class of case, by name of case where one has its own, and those of starting the library (ms, or as a multiple of an empty
    library's start where that is more) and the command (ratio).
    """

    classes: Mapping[str, Limit]
    cases: Mapping[str, Mapping[str, float]]
    init_ms: float
    init_ratio: float
    startup_ratio: float

    def of(self, name: str, kind: str) -> Limit:
        """The limit of case ``name`` of class ``kind``."""
        general, own = self.classes[kind], self.cases.get(name, {})
        return Limit(own.get("instructions", general.instructions), own.get("ratio", general.ratio))


def _figure(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise LimitsError(f"limits.yaml: {where}: {value!r} is not a number above zero")
    return float(value)


def _figures(where: str, entry: Any) -> dict[str, float]:
    if not isinstance(entry, dict) or set(entry) - set(FIGURES):
        raise LimitsError(f"limits.yaml: {where}: the figures are {', '.join(FIGURES)}")
    return {name: _figure(f"{where}.{name}", value) for name, value in entry.items()}


def parse(document: Any) -> Limits:
    """Limits from the parsed YAML; LimitsError names what is wrong."""
    if not isinstance(document, dict) or document.get("format") not in {FORMAT, FORMAT - 1}:
        raise LimitsError(f"limits.yaml: format {FORMAT} is expected first")
    wanted = {"format", "classes", "cases", "init_ms", "init_ratio", "startup_ratio"}
    if set(document) != wanted:
        raise LimitsError(f"limits.yaml: keys missing or unknown: {', '.join(sorted(map(str, set(document) ^ wanted)))}")
    classes = {kind: _figures(f"classes.{kind}", entry) for kind, entry in document["classes"].items()}
    for kind, figures in classes.items():
        if missing := set(FIGURES) - set(figures):
            raise LimitsError(f"limits.yaml: classes.{kind}: no {', '.join(sorted(missing))}")
    return Limits(
        {kind: Limit(**figures) for kind, figures in classes.items()},
        {name: _figures(f"cases.{name}", entry) for name, entry in document["cases"].items()},
        _figure("init_ms", document["init_ms"]),
        _figure("init_ratio", document["init_ratio"]),
        _figure("startup_ratio", document["startup_ratio"]),
    )


def load(path: Path = HERE / "limits.yaml") -> Limits:
    """The limits of a file."""
    return parse(yaml.safe_load(path.read_text("utf-8")))
