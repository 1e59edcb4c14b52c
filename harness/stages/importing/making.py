"""The profile that a capture's text derives into, whichever view it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import yaml

from harness.stages import compile as compiling
from harness.stages import derive, derive_gpus, seen
from harness.stages.importing import answered, listed, source
from harness.stores import profiles
from harness.tables import drivers
from harness.text.document import EDITED
from harness.text.listing import Listing
from harness.words.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from harness.stages.importing.given import Recorded
    from harness.stages.importing.source import Source
    from harness.tables.drivers import Driver


@dataclass(frozen=True)
class Made:
    """A profile in the making: its ``text``; leaves by kind with their sum (``readings``); texts of ``states`` -> how often; what no row explains,
    path -> text (``unmodelled``); what is not served yet, reason -> how many elements (``deferrals``); ``notes`` on the node's GPUs; why an
    element is unmodelled, by path (``reasons``).  Of a recording: how many answers its keys explain (``explained``), and function -> how many
    answers it keeps beside them (``residual``).
    """

    text: str
    readings: dict[str, int]
    states: dict[str, int]
    unmodelled: dict[str, str]
    deferrals: dict[str, int]
    notes: tuple[str, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)
    explained: int = 0
    residual: Mapping[str, int] = field(default_factory=dict)


def profile(texts: Mapping[str, Source], name: str, root: Path, recorded: Recorded | None = None) -> Made:
    """The profile of the capture ``name``; driver nodes of the workspace ``root`` win over shipped ones.

    ``texts``: by view; the first, a query or a list alone, is what the profile says; of a list beside a query only those rows are kept that no
    NVML call of ours answers.  ``recorded``: what a recording has beside texts, whose answers win, or all there is.  Raises InputError for what
    none can be made from.
    """
    if recorded is not None:
        made = profile(texts, name, root) if texts else Made("", _counts({}, source.apart({}.items(), {})), {}, {}, {})
        settled, explained, residual = answered.text(made.text or None, recorded, name, root)
        return replace(made, text=settled, explained=explained, residual=residual)
    tree = drivers.load(root)
    text, *beside = texts.values()
    leaves = source.leaves(text)
    if isinstance(text, Listing):
        node = derive_gpus.of_list(text, tree.resolve(listed.DRIVER))
        apart = source.apart(leaves, listed.unmodelled(text))
        shown = {path: kept for path, kept in leaves if path in apart.unmodelled}
        return Made(listed.profile(text, name, node), _counts(dict.fromkeys(dict(leaves), "value"), apart), {}, shown, apart.deferrals(), node.notes)
    version = source.driver_of(text)
    if version is None:
        raise InputError(
            f"the capture has no {source.driver_label(text)}: what it prints cannot be told from other drivers; if it was changed by hand, "
            "--kind edited keeps it without comparing it"
        )
    derived = derive.derive(text, seen.by(text, tree.resolve(version)), name)
    states = Counter(reading.text for reading in derived.readings if reading.kind in ("state", "literal"))
    apart = source.apart(leaves, derived.verbatim)
    readings = _counts({reading.path: reading.kind for reading in derived.readings}, apart)
    unmodelled = {path: kept for path, kept in derived.verbatim.items() if path in apart.unmodelled}
    rows = {path: row for other in beside for path, row in _beside(other, tree.resolve(version), name).items()}
    return Made(
        text=_with_unmodelled(derived.text, {**derived.verbatim, **rows}),
        readings=readings,
        states=dict(states.most_common()),
        unmodelled=unmodelled,
        deferrals=apart.deferrals(),
        notes=derived.notes,
        reasons={reading.path: reading.why for reading in derived.unmodelled if reading.path in unmodelled},
    )


def _beside(text: Source, driver: Driver, name: str) -> dict[str, str]:
    """What no row explains of a text beside the one that the profile says: path -> text, or the row of a list."""
    if isinstance(text, Listing):
        return listed.unmodelled(text)
    return derive.derive(text, seen.by(text, driver), name).verbatim


def due(texts: Mapping[str, Source], name: str, root: Path, recorded: Recorded | None = None) -> Made | str:
    """As ``profile``, or why a capture that was changed by hand has none: what was edited need not make sense.

    Raises InputError for any other text from which none can be made.
    """
    if not any(text.kind == EDITED for text in texts.values()):
        return profile(texts, name, root, recorded)
    try:
        made = profile(texts, name, root, recorded)
        read = profiles.parse(made.text.encode())
        compiling.compile_profile(read, drivers.load(root).resolve(read.driver_version))
    except InputError as error:
        return str(error).split("; if it was changed", maxsplit=1)[0].splitlines()[0]
    return made


def _counts(kinds: Mapping[str, str], apart: source.Apart) -> dict[str, int]:
    """Leaves by kind; ``elements`` is their sum."""
    counted = Counter(dict.fromkeys(("value", "state", "literal", "list", "unmodelled", "redacted", "deferred"), 0))
    for path, kind in kinds.items():
        counted[apart.kind_of(path) or kind] += 1
    return {"elements": len(kinds), **counted}


def _with_unmodelled(text: str, verbatim: dict[str, str]) -> str:
    """The profile with what no row explains in its origin, so that it is printed again."""
    if not verbatim:
        return text
    written: dict[str, Any] = yaml.safe_load(text)
    written["origin"]["unmodelled"] = verbatim
    return profiles.dump(written)
