"""MANIFEST.tsv of a folder of captures: where each file comes from, and whether it was changed by hand."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from harness.stores import golden_reader
from harness.stores.captures import Source
from harness.words.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

NAME = "MANIFEST.tsv"
COLUMNS = ("file", "repo", "path", "commit", "licence", "real_or_edited", "note")
"""The columns that must be there; ``sha256`` is checked where it is, others are for people."""
_KIND = re.compile(r"(real|edited)\b", re.IGNORECASE)
"""How a cell of real_or_edited begins; the rest says more."""
_LICENCE_FILE = re.compile(r"\s*\[[^\]]*\]$")


@dataclass(frozen=True)
class Row:
    """One file: its ``source`` for the sidecar, whether the text was changed by hand (``edited``), its ``sha256`` where given, its ``line``."""

    source: Source
    edited: bool
    sha256: str
    line: int


def load(folder: Path) -> dict[str, Row]:
    """The rows of ``folder``'s MANIFEST.tsv by file, the path below the folder; empty where there is none.

    Raises InputError with the line for a file that is no such table, a column that is not there or there twice, a cell that cannot be
    meant, and a file that stands in it twice.
    """
    path = folder / NAME
    if not path.is_file():
        return {}
    try:
        lines = [line.removesuffix("\r") for line in path.read_bytes().decode("utf-8-sig").split("\n")]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text: {error}") from error
    names = lines[0].split("\t")
    for column in COLUMNS:
        if column not in names:
            raise InputError(f"{path}:1: no column {column!r}{did_you_mean(column, names)}; it needs {', '.join(COLUMNS)}, parted by tabs")
    twice = [column for column, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"{path}:1: column {twice[0]!r} stands there twice; leave one")
    found: dict[str, Row] = {}
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) != len(names):
            raise InputError(f"{path}:{number}: {len(cells)} cells, the head has {len(names)} columns")
        row = dict(zip(names, (cell.strip() for cell in cells), strict=True))
        _check_cells(row, f"{path}:{number}")
        if row["file"] in found:
            raise InputError(f"{path}:{number}: {row['file']} stands in line {found[row['file']].line} already")
        found[row["file"]] = _row(row, number)
    return found


def check(row: Row | None, data: bytes, name: str) -> None:
    """Raises InputError where ``data``, the bytes of the file, are not those that ``row`` names."""
    if row is not None and row.sha256 and golden_reader.sha256(data) != row.sha256:
        raise InputError(f"{name}: its sha256 is not the one in {NAME}:{row.line}; fetch the file again, or mend the line")


def _check_cells(row: dict[str, str], where: str) -> None:
    """Refuse a file that no path below the folder can be, and a kind that is neither real nor edited: nothing is guessed."""
    file = PurePosixPath(row["file"].strip("\"'"))
    if not row["file"] or str(file) != row["file"] or file.is_absolute() or ".." in file.parts:
        raise InputError(f"{where}: {row['file']!r} is no file of the folder; write its path below the folder, as sub/query.xml, without quotes")
    if _KIND.match(row["real_or_edited"]) is None:
        raise InputError(f"{where}: real_or_edited is {row['real_or_edited']!r}; it begins with real or EDITED, and may say more after it")


def _row(row: dict[str, str], number: int) -> Row:
    words = "; ".join(text for text in (row["real_or_edited"], row["note"]) if text)
    source = Source(
        repository=row["repo"] or None,
        commit=row["commit"] or None,
        path=row["path"] or None,
        licence=_LICENCE_FILE.sub("", row["licence"]) or None,
        text=words or None,
    )
    return Row(source, row["real_or_edited"].lower().startswith("edited"), row.get("sha256", "").lower(), number)
