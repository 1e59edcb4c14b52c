"""Overrides over a profile, checked whole before anything is written: the schema's errors with the nearest name, then what holds between keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from harness.stages.overriding import merging
from harness.stages.overriding.document import NOT_OF_A_BUCKET, Overrides
from harness.stages.overriding.merging import Tree
from harness.stores.profiles import Profile
from harness.stores.schema import check as schema
from harness.tables.strictyaml import Document
from harness.words.errors import InputError
from harness.words.state import State

SHOWN = 10


def index_of(profile: Profile, place: int) -> int:
    """The index of the GPU at ``place`` of the state, as a document names it (ledger Y03: the physical one)."""
    return int(profile.devices[place].values.get("index", place))


def indices(profile: Profile) -> dict[int, int]:
    """Index -> place, of every GPU of the profile."""
    return {index_of(profile, place): place for place in range(len(profile.devices))}


def trees(profile: Profile, overrides: Overrides) -> list[Tree]:
    """Each GPU's tree with the overrides over it; on one that is not there nothing lies that is meant for all."""
    made = []
    for place, device in enumerate(profile.devices):
        shared, own = overrides.of(index_of(profile, place))
        made.append(merging.laid_over(device, (shared if device.state is None else {}, own)))
    return made


def check(profile: Profile, overrides: Overrides, said: str) -> list[Tree]:
    """The trees of ``trees`` where all of them hold; InputError naming each key that does not, ``said`` in front: where it was given."""
    known = indices(profile)
    if strangers := sorted(set(overrides.devices) - set(known)):
        raise InputError(f"{said}: no GPU {', '.join(map(str, strangers))}; {profile.source} has {_ranges(known)}")
    for bucket in (overrides.all, *overrides.devices.values()):
        if given := [key for key in NOT_OF_A_BUCKET if key in bucket]:
            raise InputError(f"{said}: {given[0]}: is of the profile and cannot be overridden")
    made = trees(profile, overrides)
    found = list(dict.fromkeys(_errors(profile, made, overrides.node)))
    if found:
        more = [f"{said}: {len(found) - SHOWN} more errors"] if len(found) > SHOWN else []
        raise InputError("\n".join([f"{said}: {message}" for message in found[:SHOWN]] + more))
    return made


def _errors(profile: Profile, made: Sequence[Tree], node: Tree) -> Iterable[str]:
    """What is wrong, under the key alone: the same key of two GPUs is told once."""
    entries: list[Any] = []
    for place, (device, tree) in enumerate(zip(profile.devices, made, strict=True)):
        entry = {**tree, "index": index_of(profile, place)}
        if device.state is not None:
            entry["state"] = device.state.value
        states = {key: state for key, state in (tree.get(merging.STATES) or {}).items() if state is not None}
        entries.append({**entry, merging.STATES: states})
    system = {"driver_version": profile.driver_version, **node.get("system", {})}
    for _, message in schema.errors(Document({"version": "1", "system": system, "devices": entries}, profile.source)):
        yield re.sub(r"\bdevices\.\d+\.", "", message)


def _ranges(known: Iterable[int]) -> str:
    listed = sorted(known)
    if not listed:
        return "none"
    whole = listed == list(range(listed[0], listed[-1] + 1)) and len(listed) > 1
    return f"{listed[0]} to {listed[-1]}" if whole else ", ".join(map(str, listed))


def absent(profile: Profile, place: int) -> State | None:
    """Why the GPU at ``place`` has no readings; None for one that has."""
    return profile.devices[place].state
