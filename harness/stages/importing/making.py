"""The profile that a capture's text derives into, whichever view it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from harness.stages import derive
from harness.stages.importing import listed, source
from harness.stores import profiles
from harness.tables import drivers
from harness.text.listing import Listing
from harness.words.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from harness.stages.importing.source import Source


@dataclass(frozen=True)
class Made:
    """A profile in the making: its ``text``, leaves by kind with their sum (``readings``), texts of ``states`` -> how often, and what no row
    explains, path -> text (``unmodelled``).
    """

    text: str
    readings: dict[str, int]
    states: dict[str, int]
    unmodelled: dict[str, str]


def profile(text: Source, name: str, root: Path) -> Made:
    """The profile of ``text`` for the capture ``name``; driver nodes of the workspace ``root`` win over shipped ones.

    Raises InputError for a text from which none can be made.
    """
    if isinstance(text, Listing):
        leaves = source.leaves(text)
        kept = {leaf: shown for leaf, shown in leaves if "/mig[" in leaf}
        counts = {"elements": len(leaves), "value": len(leaves) - len(kept), "unmodelled": len(kept)}
        return Made(listed.profile(text, name), counts, {}, kept)
    version = text.get("driver_version")
    if version is None:
        raise InputError("the capture has no driver_version: what it prints cannot be told from other drivers")
    derived = derive.derive(text, drivers.load(root).resolve(version), name)
    states = Counter(reading.text for reading in derived.readings if reading.kind in ("state", "literal"))
    return Made(_with_unmodelled(derived.text, derived.verbatim), derived.counts, dict(states.most_common()), derived.verbatim)


def _with_unmodelled(text: str, verbatim: dict[str, str]) -> str:
    """The profile with what no row explains in its origin, so that it is printed again."""
    if not verbatim:
        return text
    written: dict[str, Any] = yaml.safe_load(text)
    written["origin"]["unmodelled"] = verbatim
    return profiles.dump(written)
