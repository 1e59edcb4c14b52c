"""Field ids about NVLink: which number each has on a driver, and what answers it (``nvlink.yaml``)."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.tables import strictyaml


@dataclass(frozen=True)
class LinkAnswer:
    """One id: its name, its numbers from which driver on, and what answers it.

    reading  one of mocklib.spec.LINK_READINGS, of the link ``link`` (None: the call's scope is it; with ``all``, of all
    together); None: the field is the value
    field    the image field that it is made from;  value_type  nvmlValueType_t
    """

    name: str
    numbers: tuple[tuple[tuple[int, ...], int], ...]
    field: str
    value_type: int
    reading: str | None = None
    link: int | None = None
    all: bool = False

    def number(self, version: tuple[int, ...]) -> int | None:
        """The id's number on a driver, by the numbers of its version; None where it has none."""
        return next((number for first, number in reversed(self.numbers) if first <= version), None)


@functools.cache
def _table() -> Any:
    return strictyaml.load_file(Path(__file__).with_name("nvlink.yaml"), "harness/tables/nvlink.yaml").value


def most_links(version: tuple[int, ...]) -> int:
    """How many links a driver knows, whatever the board (NVML_NVLINK_MAX_LINKS), by the numbers of its version."""
    return _since("most_links", version)


def most_threshold(version: tuple[int, ...]) -> int:
    """The largest low power threshold that a driver takes, by the numbers of its version."""
    return _since("most_threshold", version)


def _since(name: str, version: tuple[int, ...]) -> int:
    """The number of a table's newest driver that is no newer; an older one than all takes the first."""
    listed = sorted(_table()[name].items())
    return int(next((number for first, number in reversed(listed) if (first,) <= version), listed[0][1]))


@functools.cache
def answers() -> tuple[LinkAnswer, ...]:
    """Every id."""
    return tuple(answer for name, spec in _table()["ids"].items() for answer in _expanded(str(name), spec))


def _expanded(name: str, spec: dict[str, Any]) -> Iterator[LinkAnswer]:
    """One id a link for a name with ``L*``, one a bin for one that ends in ``*``, else the one there is."""
    numbers = tuple(sorted((tuple(int(part) for part in str(first).split(".")), int(number)) for first, number in spec["numbers"].items()))
    made = LinkAnswer(name, numbers, spec["field"], int(spec["type"]), spec.get("reading"), None, bool(spec.get("all")))
    first, last = spec.get("links", (0, int(spec.get("bins", 1)) - 1))
    if "*" not in name:
        yield made
        return
    for number in range(first, last + 1):
        shifted = tuple((version, start + number - first) for version, start in numbers)
        link = number if "links" in spec else None
        yield LinkAnswer(name.partition("*")[0] + str(number), shifted, made.field, made.value_type, made.reading, link, made.all)
