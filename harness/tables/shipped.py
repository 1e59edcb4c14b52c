"""Where the data shipped with the package lies: inside the wheel under ``harness/_data``, in a checkout at the repository root."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped(*parts: str) -> Path:
    """The shipped file or folder ``parts`` (for example ``profiles``, ``drivers``)."""
    packed = _PACKAGE / "_data" / Path(*parts)
    return packed if packed.exists() else _PACKAGE.parent / Path(*parts)
