"""What setters wrote into a record, as keys over the profile: so that a later override is compiled over it, and that the document says it (Y14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.stages.answers import inverting, node_keys
from harness.stages.answers.told import Told
from harness.stages.overriding import arguments, merging
from harness.stages.overriding.merging import Tree
from harness.words.state import State
from mocklib import fields
from mocklib.answers import Asked

if TYPE_CHECKING:
    from harness.stores.profiles import Device
    from mocklib.records import RecordView
    from mocklib.spec import FieldValue

_SETTER = Asked("setter", None, ())
NODE_FIELDS = {"nvlink.node_bw_mode.mode": "nvlink.bw_mode.mode"}
"""Field of the node that a setter writes -> the key of its GPUs that it is compiled from."""


@dataclass(frozen=True)
class Folded:
    """``own``: the GPU's bucket with what setters wrote in it; ``raw``: fields that they wrote and no key can say."""

    own: Tree
    raw: Mapping[str, FieldValue] = field(default_factory=dict)


def fold(
    record: RecordView, compiled: Mapping[str, FieldValue], marks: frozenset[str], device: Device, own: Tree, index: int, *, behind: bool = False
) -> Folded:  # fmt: skip
    """The bucket ``own`` of a GPU with what its ``record`` has otherwise than its overrides alone.

    ``compiled`` and ``marks`` are the fields that profile and overrides make, and what hides the GPU; ``device`` is what they are compiled from.
    ``behind``: the record is not made from these overrides yet, what it has otherwise is a setter's only where that marked it.
    """
    hidden = {} if behind else {mark: mark in record.head.marks for mark in fields.MARKS if (mark in record.head.marks) != (mark in marks)}
    own = merging.merge(own, hidden)
    written = {name: record.values[name] for name in fields.device_fields() if _written(name, record, compiled, behind=behind)}
    if not written:
        return Folded(own)
    beside = {name: record.values[name] for name in fields.device_fields() if _beside(name, written)}
    told = {name: Told(name, _SETTER, value.value, value.status) for name, value in {**beside, **written}.items() if not value.kind}
    made = inverting.settle(told, index, device, node_keys.PATHS)
    changes = _changes(device, made.values, made.states)
    kept = {name for name, value in written.items() if value.kind} | {said.name for said in made.unheld}
    return Folded(merging.merge(own, changes), {name: written[name] for name in sorted(kept)})


def _written(name: str, record: RecordView, compiled: Mapping[str, FieldValue], *, behind: bool) -> bool:
    """Whether a setter wrote the field: it is marked, or it stands still and is other than the overrides make it (what a setter took back)."""
    now, made = record.values[name], compiled[name]
    if name in record.overridden:
        return now != made
    still = not behind and not now.kind and not made.kind and not fields.device_fields()[name].moves
    return still and now != made


def _beside(name: str, written: Mapping[str, FieldValue]) -> bool:
    """Whether the field is a list of the same block as one that was written: a key is made of several of them (``fan.controls``)."""
    definition = fields.device_fields()[name]
    block = name.partition(".")[0]
    return definition.source is not None and definition.type in ("u32list", "bytes") and any(other.partition(".")[0] == block for other in written)


def _changes(device: Device, values: Mapping[str, Any], states: Mapping[str, State]) -> Tree:
    """What makes ``device`` one of these values and states."""
    changes: dict[str, Any] = {key: value for key, value in values.items() if key not in device.values or device.values[key] != value}
    changes.update({key: None for key in device.values if key not in values and key != "index"})
    made = arguments.tree_of(changes)
    changed: dict[str, str | None] = {key: state.value for key, state in states.items() if device.states.get(key) is not state}
    changed.update({key: None for key in device.states if key not in states and key not in changes})
    if changed:
        made[merging.STATES] = changed
    return made


def written(record: RecordView) -> bool:
    """Whether a setter wrote into the ``record`` of the node what is its GPUs' keys."""
    return bool(record.overridden & NODE_FIELDS.keys())


def of_node(record: RecordView, compiled: Mapping[str, FieldValue]) -> Tree:
    """What setters wrote into the ``record`` of the node, as keys of all its GPUs (ledger Y15); ``compiled``: what profile and overrides make."""
    names = [name for name in NODE_FIELDS if name in record.overridden and record.values[name] != compiled[name]]
    return arguments.tree_of({NODE_FIELDS[name]: record.values[name].value for name in names})


def without(tree: Tree, taken: Tree) -> Tree:
    """``tree`` without the keys that ``taken`` gives: what is set for the node is no GPU's own any more."""
    return merging.without(tree, set(merging.paths(taken)))
