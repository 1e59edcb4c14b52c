"""The raw captures by their MANIFEST, for tests that are one a file."""

from __future__ import annotations

import csv
import os
from pathlib import Path

NONE = "none"
"""The one parameter where NVPARITY_CAPTURES is not set: its test asks for the fixture, which says so."""


def listed(kind: str, *, real: bool = True) -> list[str]:
    """Files of one kind (qx, L) as paths in the folder of raw captures; ``real``: without those the MANIFEST calls edited."""
    named = os.environ.get("NVPARITY_CAPTURES")
    manifest = Path(named or "/nonexistent") / "MANIFEST.tsv"
    if not manifest.is_file():
        return [NONE]
    with manifest.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE) if row["kind"] == kind]
    return [row["file"] for row in rows if not real or row["real_or_edited"].startswith("real")]
