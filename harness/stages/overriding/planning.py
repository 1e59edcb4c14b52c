"""What a change makes of a node, worked out and checked before anything of it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.stages.compile_randoms import FIXED_SEED
from harness.stages.overriding import checking, folding, merging
from harness.stages.overriding.document import Overrides
from mocklib import failing
from mocklib.spec import KINDS

if TYPE_CHECKING:
    from harness.stages.overriding.nodes import Node
    from harness.stages.overriding.storing import Stored
    from harness.stores.profiles import Device
    from mocklib.records import RecordView
    from mocklib.spec import FieldValue, ImageSpec

Edit = Callable[[Overrides, Sequence["Device"]], Overrides]
"""The overrides, and the GPUs that they make -> the overrides from then on."""
RAMP = KINDS["ramp"]


@dataclass(frozen=True)
class Folded:
    """``overrides`` with what setters wrote; ``raw``: by place, what of it no key can say; ``spec``, ``devices``: what the texts alone make."""

    overrides: Overrides
    raw: Mapping[int, Mapping[str, FieldValue]]
    spec: ImageSpec
    devices: Sequence[Device]


@dataclass(frozen=True)
class Plan:
    """What is to be published.

    places     the GPUs whose records are made anew
    spec       what the overrides make; ``base``: what a reset of one GPU goes back to, None: the image; ``before``: what they made until now
    raw        by place, fields that stay as setters wrote them
    """

    overrides: Overrides
    places: Sequence[int]
    spec: ImageSpec
    base: ImageSpec | None
    before: ImageSpec
    raw: Mapping[int, Mapping[str, FieldValue]]


def folded(node: Node, found: Stored, places: Sequence[int]) -> Folded:
    """The overrides with what setters wrote on the node and on the GPUs at ``places``."""
    devices = node.overlaid(found.overrides, found.started, str(node.state))
    spec = node.compiled(devices, found.overrides.node, seed=found.seed)
    of_node = folding.of_node(found.node, spec.system)
    own = {index: folding.without(tree, of_node) for index, tree in found.overrides.devices.items()}
    raw: dict[int, Mapping[str, FieldValue]] = {}
    for place in places:
        if node.profile.devices[place].state is not None:
            continue
        index = checking.index_of(node.profile, place)
        marks = spec.marks[place] if place < len(spec.marks) else frozenset()
        compiled = failing.carried(found.records[place], spec, place, 0).devices[place]  # what a failure did to it is no setter's
        kept = own.get(index, {})
        made = folding.fold(found.records[place], compiled, marks, devices[place], kept, index, behind=found.behind(place))
        own[index], raw[place] = made.own, made.raw
    shared = merging.merge(found.overrides.all, of_node)
    return Folded(replace(found.overrides, all=shared, devices={index: tree for index, tree in own.items() if tree}), raw, spec, devices)


def plan(
    node: Node, found: Stored, edit: Edit, places: Sequence[int] | None, *, said: str, dropped: Sequence[int], seed: int | None = None
) -> Plan:  # fmt: skip
    """What ``edit`` makes of the overrides, on the GPUs at ``places`` (None: all, as when what is for all of them changes).

    ``dropped``: GPUs on which nothing stays of what setters wrote; ``seed``: the state's from then on (None: it stays).  A reset goes back to the
    image's record only where nothing was for all GPUs and the seed is the image's.  InputError naming ``said`` for what the schema refuses.
    """
    every = range(len(found.records))
    behind = [place for place in every if found.behind(place)]
    there = every if places is None or folding.written(found.node) else sorted({*places, *behind})
    before = folded(node, found, [place for place in there if place not in dropped])
    wanted = edit(before.overrides, before.devices)
    drawn = found.seed if seed is None else seed
    spec = node.compiled(node.overlaid(wanted, found.started, said), wanted.node, seed=drawn)
    own = wanted.all or found.started or drawn != FIXED_SEED
    base = node.compiled(node.overlaid(Overrides(wanted.all), found.started, said), seed=drawn) if own else None
    raw = {place: {name: value for name, value in fields.items() if spec.devices[place][name] == before.spec.devices[place][name]}
           for place, fields in before.raw.items()}  # fmt: skip
    filled = [{**fields, **raw.get(place, {})} for place, fields in enumerate(spec.devices)]
    return Plan(wanted, there, replace(spec, devices=filled), base, before.spec, raw)


def begun(record: RecordView, of: Plan, place: int, now_ns: int) -> dict[str, FieldValue]:
    """Ramps that begin now: those that an override gave another base, and those that stood still until now."""
    made: dict[str, FieldValue] = {}
    for name, value in of.spec.devices[place].items():
        if value.kind != RAMP or value.start_ns is not None or not value.rate:
            continue
        before, was = of.before.devices[place][name], record.values[name]
        if before.value != value.value or (was.kind != RAMP and not was.status):
            made[name] = replace(value, start_ns=now_ns)
    return made
