"""What the renderer gets for one row, and where it asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Raw = int | str


@dataclass(frozen=True)
class Place:
    """Where a row is asked.

    ``device``: the handle NVML gave for the GPU, None for the node.  ``index``: the GPU's number.  ``entry``: members of the enclosing
    list's entry (a process, a memory clock), empty outside lists.  ``within``: the row of the nearest element around that collapses on a
    state, which is the call that a list inside it comes from.
    """

    device: Any = None
    index: int | None = None
    entry: Mapping[str, Raw | bytes] = field(default_factory=dict)
    within: str | None = None


@dataclass(frozen=True)
class Reading:
    """The answer for one row: ``code`` is the nvmlReturn_t; ``raw`` the value in NVML's unit, None unless ``code`` is 0."""

    code: int
    raw: Raw | None = None

    @property
    def answered(self) -> bool:
        """Whether there is a value."""
        return self.code == 0


@dataclass(frozen=True)
class Traced:
    """Which call answered which row.

    ``path``: the element (``gpu[0]/pci/tx_util``; an attribute ends in ``/@name``), ``row``: its id, ``route``: the call as text, ``code``: what
    it answered, ``basis``: public, field, slot, assumed or literal, ``answer``: the value, None unless the code is 0.
    """

    path: str
    row: str
    route: str
    code: int
    basis: str
    answer: Raw | None = None
