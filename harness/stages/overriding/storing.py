"""Overrides as a state holds them: in the record of each GPU its own part of the document and that of all, in the node's the rest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.stages.overriding import document
from harness.stages.overriding.document import Overrides
from harness.words.errors import InputError
from mocklib import state

if TYPE_CHECKING:
    from mocklib.records import RecordView


@dataclass(frozen=True)
class Stored:
    """What a state holds: the records, the overrides whose text is in them, those it was made with, the profile where the image does not name it."""

    node: RecordView
    records: Sequence[RecordView]
    overrides: Overrides
    started: Overrides
    profile: str | None = None

    @property
    def seed(self) -> int:
        """What numbers of dynamic metrics are drawn from that have no seed of their own."""
        return self.node.head.seed

    def behind(self, place: int) -> bool:
        """Whether the record at ``place`` is of an older document for all GPUs: its writer died between two of them."""
        return self.records[place].head.all_text != self.records[0].head.all_text


def stored(node: RecordView, records: Sequence[RecordView], indices: Sequence[int], said: str) -> Stored:
    """The overrides in the texts of the ``node`` and of the ``records`` of the GPUs with ``indices``; InputError, naming ``said``, for what is none.

    That of all GPUs stands in each record; the first is the one that is written first.
    """
    own = {index: document.of_json(record.head.text, said) for index, record in zip(indices, records, strict=True)}
    shared = document.of_json(records[0].head.all_text, said) if records else {}
    kept = document.of_json(node.head.text, said)
    started = kept.get("started") or {}
    if not isinstance(started, dict):
        raise InputError(f"{said}: the overrides in it are no mapping")
    first = document.load(json.dumps(started), said) if started else Overrides()
    rest = document.load(json.dumps({"version": document.VERSION, "node": kept.get("node")}), said)
    overrides = Overrides(shared, {index: tree for index, tree in own.items() if tree}, rest.node)
    return Stored(node, records, overrides, first, _text(kept.get("profile")))


def node_text(overrides: Overrides, started: Overrides, profile: str | None) -> bytes:
    """The text of the node's record."""
    kept = {"profile": profile, "started": started.plain() if started else None, "node": overrides.node or None}
    given = {name: value for name, value in kept.items() if value is not None}
    return document.to_json(given) if given else b""


def profile_of(path: Path) -> str | None:
    """The profile that the state at ``path`` names; None where it names none."""
    return _text(document.of_json(state.read(path).node.head.text, str(path)).get("profile"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
