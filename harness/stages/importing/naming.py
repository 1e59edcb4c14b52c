"""The id that import proposes: ``<board>-x<count>_<driver>[_<n>]``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from harness.tables import strictyaml
from harness.words.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

_MAKERS = ("nvidia ", "tesla ")
NO_DRIVER = "nodrv"
"""Stands for the driver of a capture that does not say it (`-L`)."""


def slug(product: str) -> str:
    """A product name as part of an id: lower case, the maker left out, everything else but letters and digits as dashes.

    >>> slug("NVIDIA GeForce GT 1030"), slug("Tesla T4")
    ('geforce-gt-1030', 't4')
    """
    name = product.lower()
    for maker in _MAKERS:
        name = name.removeprefix(maker)
    return re.sub(r"[^a-z0-9]+", "-", name).strip("-")[:48].strip("-") or "gpu"


def products(boards: Path) -> dict[str, str]:
    """Product name -> board, from ``products`` of profiles/boards.yaml: names that do not say the board (``H100 80GB HBM3`` is the SXM5 one).

    Empty when the file is not there; InputError for another shape.
    """
    if not boards.is_file():
        return {}
    loaded = strictyaml.load_file(boards, kind="boards").value
    listed = loaded.get("products", {}) if isinstance(loaded, dict) else None
    if not isinstance(listed, dict) or not all(isinstance(name, str) for name in listed.values()):
        raise InputError(f"{boards}: 'products' is a mapping of product name to board")
    return {str(product): board for product, board in listed.items()}


def propose(names: list[str], driver: str | None, known: Mapping[str, str], taken: Collection[str]) -> str:
    """The first free id for a capture of GPUs called ``names`` on ``driver``; a mixed node joins its boards with ``+`` spelt ``-and-``."""
    boards: list[str] = []
    for name in names:
        board = known.get(name) or slug(name)
        if board not in boards:
            boards.append(board)
    base = f"{'-and-'.join(boards) or 'node'}-x{len(names)}_{driver or NO_DRIVER}"
    if base not in taken:
        return base
    number = 2
    while f"{base}_{number}" in taken:
        number += 1
    return f"{base}_{number}"
