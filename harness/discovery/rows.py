"""The rows of `nvidia-smi mig -lgi` and `mig -lci`, in every layout that drivers print.

    |   1  MIG 2g.20gb          14        3          2:2     |
    |   2       5       MIG 1g.10gb          0         1          0:1     |

The two tables differ by the column of the GPU instance, which `-lci` has; one reader takes both.  Columns moved with 470 and 575, and the first
`-lci` had no placement (facts on MIG tables): the reader goes by the order of the columns.  Source: the ledger's rows DM80 to DM86.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness.discovery.blanks import BETWEEN, trim
from harness.discovery.model import UNKNOWN
from harness.text import rawbytes

_ID = r"([0-9]{1,9})"
_PLACEMENT = r"([0-9]{1,9}:[0-9]{1,9})"
_FRAME = re.compile(r"[+|].*")
_PART = re.compile(r"[0-9]+c\.")
_PLACED = "Placement"
CUT = "..."
"""What a profile's name ends with where the column was too narrow for it (up to 570: over 13 characters in -lgi; all: over 14 in -lci)."""
ALL_ENGINES = {64: "+me.all", 65: "+me.all"}
"""Profile id -> what stands behind the memory in its name (facts on MIG tables: two and one slice with every media engine)."""


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The rows of both tables, and of a `-lci` without placements."""

    lci: re.Pattern[str]
    lgi: re.Pattern[str]
    unplaced: re.Pattern[str]


def _patterns(blank: str) -> _Patterns:
    """With the characters ``blank`` between columns."""
    some, name, end = f"[{blank}]+", f"MIG[{blank}]+([^{blank}]+)", rf"[{blank}]*\|"
    lci = rf"\|[{blank}]*{some.join((_ID, _ID, name, _ID, _ID))}"
    lgi = rf"\|[{blank}]*{some.join((_ID, name, _ID, _ID))}"
    return _Patterns(re.compile(f"{lci}{some}{_PLACEMENT}{end}"), re.compile(f"{lgi}{some}{_PLACEMENT}{end}"), re.compile(f"{lci}{end}"))


_PATTERNS = {compatible: _patterns(blank) for compatible, blank in BETWEEN.items()}


@dataclass(frozen=True, slots=True)
class Row:
    """One row: card, profile as printed, its id, GPU instance, compute instance (UNKNOWN in -lgi), ``start:size`` (``""``: no such column)."""

    gpu: int
    profile: str
    profile_id: int
    gpu_instance: int
    compute_instance: int = UNKNOWN
    placement: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The row for JSON; ``placement`` is left out when it is empty (ledger DM94)."""
        placed = {"placement": self.placement} if self.placement else {}
        return {
            "gpu": self.gpu, "profile": self.profile, "profile_id": self.profile_id, "gpu_instance": self.gpu_instance,
            "compute_instance": self.compute_instance, **placed,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a table in the text's order, and the sentences that stood in its place (``No GPU instances found: Not Found``)."""

    rows: tuple[Row, ...] = ()
    said: tuple[str, ...] = ()


def read(text: str | bytes, *, compatible: bool = False) -> Table:
    """The rows of ``text``.  Never raises: rulers, headings and sentences are no rows, and a row whose placement is not start:size is none.

    Rows of a ``-lci`` that has no column for the placement are read, too; ``compatible`` skips them.
    """
    whole = rawbytes.decode(text) if isinstance(text, bytes) else text
    lines = [trim(line) for line in (whole if compatible else whole.removeprefix("\ufeff")).split("\n")]
    unplaced = not compatible and not any(_PLACED in line for line in lines)
    found = _rows(lines, _PATTERNS[compatible], unplaced=unplaced)
    return Table(tuple(found), tuple(line for line in lines if line and not _FRAME.fullmatch(line)))


def _rows(lines: list[str], patterns: _Patterns, *, unplaced: bool) -> Iterator[Row]:
    for line in lines:
        if (lci := patterns.lci.match(line)) is not None:
            yield Row(int(lci[1]), lci[3], int(lci[4]), int(lci[2]), int(lci[5]), lci[6])
        elif (lgi := patterns.lgi.match(line)) is not None:
            yield Row(int(lgi[1]), lgi[2], int(lgi[3]), int(lgi[4]), UNKNOWN, lgi[5])
        elif unplaced and (bare := patterns.unplaced.match(line)) is not None:
            yield Row(int(bare[1]), bare[3], int(bare[4]), int(bare[2]), int(bare[5]))


def completed(rows: Iterable[Row], names: Mapping[int, Iterable[str]], created: Iterable[Row] = ()) -> tuple[Row, ...]:
    """``rows`` with each profile that was cut whole again, where its id or its GPU instance says how it goes on, or one listed name alone fits it.

    ``names``: card -> the profiles that `-L` lists on it.  ``created``: the GPU instances, for `-lci` rows: a compute instance that fills one has its
    name, and one that shares it ``1c.`` and the like before that.  What nothing tells stays cut.
    """
    profiles = {(row.gpu, row.gpu_instance): row.profile for row in created}
    return tuple(_whole(row, names.get(row.gpu, ()), profiles) for row in rows)


def _whole(row: Row, listed: Iterable[str], profiles: Mapping[tuple[int, int], str]) -> Row:
    if not row.profile.endswith(CUT):
        return row
    start = row.profile.removesuffix(CUT)
    if row.compute_instance == UNKNOWN:
        told = start.partition("+")[0] + ALL_ENGINES.get(row.profile_id, "")
    else:
        part = _PART.match(start)
        told = (part[0] if part else "") + profiles.get((row.gpu, row.gpu_instance), "")
    fit = {name for name in listed if _goes_on(name, start)}
    whole = told if _goes_on(told, start) else fit.pop() if len(fit) == 1 else row.profile
    return replace(row, profile=whole)


def _goes_on(name: str, start: str) -> bool:
    return name.startswith(start) and len(name) > len(start) and not name.endswith(CUT)
