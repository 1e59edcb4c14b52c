"""Overrides in a state: read, changed as one under the writer's lock, in force in every process as soon as each GPU's record is published.

The record of a GPU holds the document's part of it, and that of all, so one generation publishes the readings and what made them.  What setters wrote
since is folded into the GPU's part before it is compiled anew: so the later of a setter and an override wins, and an export says both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.stages.overriding import checking, document, folding, merging, nodes
from harness.stages.overriding.document import Overrides
from harness.stages.overriding.merging import Tree
from harness.stages.overriding.storing import Stored, node_text, stored
from harness.stores.schema import keys, readers
from harness.words.errors import NvparityError
from mocklib import state
from mocklib.spec import KINDS

if TYPE_CHECKING:
    from harness.stages.overriding.nodes import Node
    from harness.stages.overriding.places import Places
    from harness.stores.profiles import Device
    from harness.stores.workspace import Workspace
    from mocklib.records import RecordView
    from mocklib.spec import FieldValue, ImageSpec

Verb = Callable[[Mapping[str, Any]], Mapping[Any, Any]]
"""The values of a GPU -> dotted keys or a tree to put over it."""
Edit = Callable[[Overrides, Sequence["Device"]], Overrides]
RAMP = KINDS["ramp"]


def read(node: Node) -> Stored:
    """What the state of ``node`` holds; what the image says where there is none yet."""
    view = state.read(node.state) if node.state.exists() else state.of_image(node.image)
    return stored(view.node, view.devices, _indices(node), str(node.state))


def _indices(node: Node) -> list[int]:
    return [checking.index_of(node.profile, place) for place in range(len(node.profile.devices))]


def overrides(node: Node) -> Overrides:
    """Everything that is in force over the profile, whoever set it: what ``export`` writes."""
    found = read(node)
    return _folded(node, found, range(len(found.records)))[0]


def kept(found: Places, space: Workspace) -> Overrides:
    """As ``overrides``; where the image or its profile is not found, what was put by overrides alone, without what setters wrote."""
    if found.state.path is None or not found.state.path.exists():
        return Overrides()
    try:
        return overrides(nodes.open_node(found, space))
    except NvparityError:
        view = state.read(found.state.path)
        return stored(view.node, view.devices, range(len(view.devices)), str(found.state.path)).overrides


def put(node: Node, target: int | None, verb: Verb, *, dry_run: bool = False) -> Overrides:
    """Put what ``verb`` makes for GPU ``target`` (an index; None: all of them) in force; what was put, as a document.

    For all GPUs what is the same on each goes into the bucket of all, and what is not into its own.  UsageError, InputError, StateError: nothing is
    written.
    """
    put_now: list[Overrides] = []

    def edit(now: Overrides, devices: Sequence[Device]) -> Overrides:
        wanted = _wanted(node, target, verb, devices)
        put_now[:] = [wanted]
        return _merged(node, now, wanted)

    _change(node, edit, None if target is None else [node.indices()[target]], said="overrides", dry_run=dry_run)
    return put_now[0]


def as_recorded(node: Node, written: Overrides) -> list[str]:
    """One line for each function that goes on answering a GPU as it was recorded, whatever keys that were just put say."""
    found: dict[str, list[str]] = {}
    for place, device in enumerate(node.profile.devices):
        recorded = {residual.asked.function for residual in device.answers}
        for key in merging.paths(merging.merge(*written.of(checking.index_of(node.profile, place)))) if recorded else ():
            for function in sorted(recorded.intersection(readers.of_key(key) if key in keys.device_keys() else ())):
                found.setdefault(function, []).append(key)
    return [f"{function} answers as it was recorded, and does not follow {', '.join(dict.fromkeys(of))}" for function, of in sorted(found.items())]


def put_node(node: Node, changes: Tree, *, dry_run: bool = False) -> Tree:
    """Put keys of the node in force; what was put."""
    given = document.load(document.to_json({"version": document.VERSION, "node": changes}), "overrides").node

    def edit(now: Overrides, _: Sequence[Device]) -> Overrides:
        return replace(now, node=merging.merge(now.node, given))

    _change(node, edit, [], said="overrides", dry_run=dry_run)
    return given


def apply(node: Node, given: Overrides, said: str, *, dry_run: bool = False) -> None:
    """Put the document ``given`` in force in place of everything that is over the profile; errors name ``said``."""
    _change(node, lambda _, __: given, None, said=said, folded=False, dry_run=dry_run)


def reset(node: Node, target: int | None, *, everything: bool = False, dry_run: bool = False) -> Overrides:
    """Drop what is over GPU ``target`` (None: what is for all of them as one), or ``everything``; what is left.

    What is for all GPUs stays when one is reset (ledger Y13, W61).
    """
    left: list[Overrides] = []

    def edit(now: Overrides, _: Sequence[Device]) -> Overrides:
        left[:] = [Overrides() if everything else now.without(target)]
        return left[0]

    one = target is not None and not everything
    _change(node, edit, [node.indices()[target]] if one and target is not None else None, said="overrides", folded=not (everything or one),
            fresh=everything or one, dry_run=dry_run)  # fmt: skip
    return left[0]


def _wanted(node: Node, target: int | None, verb: Verb, devices: Sequence[Device]) -> Overrides:
    """What ``verb`` makes: for one GPU its bucket, for all the part that each has and what only some have."""
    indices = node.indices()
    if target is not None:
        return Overrides({}, {target: _tree(verb(devices[indices[target]].values))})
    each = {index: _tree(verb(devices[place].values)) for index, place in indices.items() if devices[place].state is None}
    if not each:
        return Overrides(_tree(verb({})))
    shared = _common(list(each.values()))
    own = {index: rest for index, tree in each.items() if (rest := _rest(tree, shared))}
    return Overrides(shared, own)


def _tree(changes: Mapping[Any, Any]) -> Tree:
    """Dotted keys as a tree; a tree stays what it is."""
    made: Tree = {}
    for path, value in changes.items():
        steps = str(path).split(".") if isinstance(path, str) and path != merging.STATES else [path]
        tree = value
        for step in reversed(steps):
            tree = {step: tree}
        made = merging.merge(made, tree)
    return made


def _common(trees: Sequence[Tree]) -> Tree:
    """What all of ``trees`` say alike."""
    first, *others = trees
    made: Tree = {}
    for name, value in first.items():
        if all(name in other and other[name] == value for other in others):
            made[name] = value
        elif isinstance(value, dict) and all(isinstance(other.get(name), dict) for other in others):
            made[name] = _common([value, *(other[name] for other in others)])
    return {name: value for name, value in made.items() if value != {} or first[name] == {}}


def _rest(tree: Tree, shared: Tree) -> Tree:
    """What ``tree`` says beside ``shared``."""
    made: Tree = {}
    for name, value in tree.items():
        if name not in shared:
            made[name] = value
        elif isinstance(value, dict) and isinstance(shared[name], dict) and (rest := _rest(value, shared[name])):
            made[name] = rest
    return made


def _merged(node: Node, now: Overrides, wanted: Overrides) -> Overrides:
    """``wanted`` over ``now``; a block that null took away stays so but for the keys that are given now."""
    made = now
    if wanted.all:
        below: Tree = {}
        for device in node.profile.devices:
            below = merging.merge(below, merging.tree_of(device))
        made = replace(made, all=merging.opened(made.all, wanted.all, below)).merged(None, wanted.all)
    for index, tree in wanted.devices.items():
        below = merging.laid_over(node.profile.devices[node.indices()[index]], (made.all,))
        opened = merging.opened(made.devices.get(index, {}), tree, below)
        made = replace(made, devices={**made.devices, index: opened}).merged(index, tree)
    return made


def _folded(node: Node, found: Stored, places: Sequence[int]) -> tuple[Overrides, dict[int, Mapping[str, FieldValue]], ImageSpec, list[Device]]:
    """The overrides with what setters wrote on the GPUs at ``places``; that of it which no key says; what the texts alone make."""
    devices = node.overlaid(found.overrides, found.started, str(node.state))
    spec = node.compiled(devices, found.overrides.node)
    own, raw = dict(found.overrides.devices), {}
    for place in places:
        if node.profile.devices[place].state is not None:
            continue
        index = checking.index_of(node.profile, place)
        folded = folding.fold(found.records[place], spec.devices[place], devices[place], own.get(index, {}), index)
        own[index], raw[place] = folded.own, folded.raw
    return replace(found.overrides, devices={index: tree for index, tree in own.items() if tree}), raw, spec, devices


def _change(
    node: Node, edit: Edit, places: Sequence[int] | None, *, said: str, folded: bool = True, fresh: bool = False, dry_run: bool = False
) -> None:  # fmt: skip
    """Make what ``edit`` makes of the overrides theirs, on the GPUs at ``places`` (None: all), under the lock; checked before anything is written.

    ``folded``: what setters wrote stays, as keys; ``fresh``: what moves begins again.
    """
    if dry_run or not node.state.exists():  # a refusal makes no state
        _plan(node, read(node), edit, places, said=said, folded=folded)
    if dry_run:
        return
    ensure(node)
    with state.writing(node.state) as held:
        if held.opened.head.image_crc != node.view.crc:
            raise state.StateError(f"{node.state}: is the state of another image by now")
        count = len(node.profile.devices)
        found = stored(held.record(None), [held.record(place) for place in range(count)], _indices(node), str(node.state))
        plan = _plan(node, found, edit, places, said=said, folded=folded)
        _publish(held, node, found, plan, range(count) if places is None else places, fresh=fresh)


def _publish(held: state.Writing, node: Node, found: Stored, plan: _Plan, places: Sequence[int], *, fresh: bool) -> None:
    """Put the plan in force: the GPUs at ``places``, then the node where anything of it changed."""
    now_ns, shared = held.now_ns(), plan.overrides.all
    for place in places:
        own = plan.overrides.devices.get(checking.index_of(node.profile, place), {})
        started = _started(found.records[place], plan, place, now_ns)
        spec = replace(plan.spec, devices=[{**fields, **(started if number == place else {})} for number, fields in enumerate(plan.spec.devices)])
        state.publish(held, place, spec, plan.base, text=document.to_json(own) if own else b"", all_text=document.to_json(shared) if shared else b"",
                      fresh=spec.devices[place] if fresh else started, marked=plan.raw.get(place, {}))  # fmt: skip
    text = node_text(plan.overrides, found.started, found.profile)
    if text != found.node.head.text or any(found.node.values[name] != value for name, value in plan.spec.system.items()):
        state.publish(held, None, plan.spec, text=text)


@dataclass(frozen=True)
class _Plan:
    """``spec``: what the overrides make; ``base``: what a reset of one GPU goes back to, None: the image; ``before``: what they made until now."""

    overrides: Overrides
    spec: ImageSpec
    base: ImageSpec | None
    before: ImageSpec
    raw: Mapping[int, Mapping[str, FieldValue]]


def _plan(node: Node, found: Stored, edit: Edit, places: Sequence[int] | None, *, said: str, folded: bool) -> _Plan:
    every = range(len(found.records)) if places is None else places
    now, raw, before, devices = _folded(node, found, every if folded else [])
    wanted = edit(now, devices)
    spec = node.compiled(node.overlaid(wanted, found.started, said), wanted.node)
    shared = Overrides(wanted.all)
    base = node.compiled(node.overlaid(shared, found.started, said)) if wanted.all or found.started else None
    left = {place: {name: value for name, value in fields.items() if spec.devices[place][name] == before.devices[place][name]}
            for place, fields in raw.items()}  # fmt: skip
    filled = [{**fields, **left.get(place, {})} for place, fields in enumerate(spec.devices)]
    return _Plan(wanted, replace(spec, devices=filled), base, before, left)


def _started(record: RecordView, plan: _Plan, place: int, now_ns: int) -> dict[str, FieldValue]:
    """Ramps that begin now: those that an override gave another base, and those that stood still until now."""
    made: dict[str, FieldValue] = {}
    for name, value in plan.spec.devices[place].items():
        if value.kind != RAMP or value.start_ns is not None or not value.rate:
            continue
        before, was = plan.before.devices[place][name], record.values[name]
        if before.value != value.value or (was.kind != RAMP and not was.status):
            made[name] = replace(value, start_ns=now_ns)
    return made


def ensure(node: Node) -> None:
    """The state of the node, made where there is none yet."""
    if not node.state.exists():
        with state.locked(node.state):
            if not node.state.exists():
                state.create(node.state, node.image)
