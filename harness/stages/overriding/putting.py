"""Overrides in a state: read, changed as one under the writer's lock, in force in every process as soon as each GPU's record is published.

The record of a GPU holds the document's part of it, and that of all, so one generation publishes the readings and what made them.  What setters wrote
since is folded into the GPU's part before it is compiled anew: so the later of a setter and an override wins, and an export says both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.stages.overriding import checking, document, merging, nodes, planning, wanting
from harness.stages.overriding.document import Overrides
from harness.stages.overriding.merging import Tree
from harness.stages.overriding.storing import Stored, node_text, stored
from harness.stores.schema import keys, links, readers
from harness.words.errors import NvparityError
from mocklib import state

if TYPE_CHECKING:
    from harness.stages.overriding.nodes import Node
    from harness.stages.overriding.places import Places
    from harness.stages.overriding.planning import Edit, Plan
    from harness.stages.overriding.wanting import Verb
    from harness.stores.profiles import Device
    from harness.stores.workspace import Workspace


def read(node: Node) -> Stored:
    """What the state of ``node`` holds; what the image says where there is none yet."""
    view = state.read(node.state) if state.there(node.state) else state.of_image(node.image)
    return stored(view.node, view.devices, _indices(node), str(node.state))


def _indices(node: Node) -> list[int]:
    return [checking.index_of(node.profile, place) for place in range(len(node.profile.devices))]


def overrides(node: Node) -> Overrides:
    """Everything that is in force over the profile, whoever set it: what ``export`` writes."""
    found = read(node)
    return planning.folded(node, found, range(len(found.records))).overrides


def kept(found: Places, space: Workspace) -> Overrides:
    """As ``overrides``; where the image or its profile is not found, what was put by overrides alone, without what setters wrote."""
    if found.state.path is None or not state.there(found.state.path):
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
        put_now[:] = [wanting.wanted(node, target, verb, devices)]
        return wanting.merged(node, now, put_now[0])

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


def passed_over(node: Node, given: Overrides) -> list[str]:
    """One line for each value of links that ``given`` leaves in force and that is passed over, with what holds in its place (ledger S26)."""
    if not any("nvlink" in tree for tree in (given.all, *given.devices.values())):
        return []
    found = read(node)
    devices = node.overlaid(wanting.merged(node, found.overrides, given), found.started, str(node.state))
    return list(dict.fromkeys(line for device in devices for line in links.ignored(device.values)))


def put_node(node: Node, changes: Tree, *, dry_run: bool = False) -> Tree:
    """Put keys of the node in force; what was put."""
    given = document.load(document.to_json({"version": document.VERSION, "node": changes}), "overrides").node

    def edit(now: Overrides, _: Sequence[Device]) -> Overrides:
        return replace(now, node=merging.merge(now.node, given))

    _change(node, edit, [], said="overrides", dry_run=dry_run)
    return given


def apply(node: Node, given: Overrides, said: str, *, dry_run: bool = False) -> None:
    """Put the document ``given`` in force in place of everything that is over the profile; errors name ``said``."""
    _change(node, lambda _, __: given, None, said=said, dropped=range(len(node.profile.devices)), dry_run=dry_run)


def reset(node: Node, target: int | None, *, everything: bool = False, dry_run: bool = False) -> Overrides:
    """Drop what is over GPU ``target`` (None: what is for all of them as one), or ``everything``; what is left.

    What is for all GPUs stays when one is reset (ledger Y13).
    """
    left: list[Overrides] = []

    def edit(now: Overrides, _: Sequence[Device]) -> Overrides:
        left[:] = [Overrides() if everything else now.without(target)]
        return left[0]

    one = None if everything or target is None else [node.indices()[target]]
    dropped = range(len(node.profile.devices)) if everything else one or []
    _change(node, edit, one, said="overrides", dropped=dropped, fresh=True, dry_run=dry_run)
    return left[0]


def reseed(node: Node, seed: int) -> None:
    """Make ``seed`` what the state draws from: every GPU whose dynamic metrics have no seed of their own moves along other numbers (ledger U01).

    What setters and overrides wrote stays, and a reset goes back to numbers of this seed.  StateError where the state cannot be written.
    """
    _change(node, lambda now, _: now, None, said=str(node.state), seed=seed)


def seed_of(found: Places) -> int | None:
    """What the state draws from; None where there is no state yet."""
    return state.read(found.state.path).node.head.seed if found.state.path is not None and state.there(found.state.path) else None


def _change(
    node: Node, edit: Edit, places: Sequence[int] | None, *, said: str, dropped: Sequence[int] = (), fresh: bool = False, dry_run: bool = False,
    seed: int | None = None,
) -> None:  # fmt: skip
    """Make what ``edit`` makes of the overrides theirs, on the GPUs at ``places`` (None: all), under the lock; checked before anything is written.

    ``dropped``: GPUs on which nothing stays of what setters wrote; ``fresh``: what moves on these begins again; ``seed``: the
    state's from then on.
    """
    if dry_run or not state.there(node.state):  # a refusal makes no state
        planning.plan(node, read(node), edit, places, said=said, dropped=dropped, seed=seed)
    if dry_run:
        return
    ensure(node)
    with state.writing(node.state) as held:
        if held.opened.head.image_crc != node.view.crc:
            raise state.StateError(f"{node.state}: is the state of another image by now")
        records = [held.record(place) for place in range(len(node.profile.devices))]
        found = stored(held.record(None), records, _indices(node), str(node.state))
        made = planning.plan(node, found, edit, places, said=said, dropped=dropped, seed=seed)
        if seed is not None:
            state.set_seed(held, seed)
        _publish(held, node, found, made, frozenset(dropped if fresh else ()))


def _publish(held: state.Writing, node: Node, found: Stored, made: Plan, fresh: frozenset[int]) -> None:
    """Put the plan in force: each GPU of it, then the node where anything of that changed."""
    now_ns, shared = held.now_ns(), made.overrides.all
    for place in made.places:
        own = made.overrides.devices.get(checking.index_of(node.profile, place), {})
        begun = planning.begun(found.records[place], made, place, now_ns)
        fields = {**made.spec.devices[place], **begun}
        spec = replace(made.spec, devices=[fields if number == place else other for number, other in enumerate(made.spec.devices)])
        state.publish(held, place, spec, made.base, text=document.to_json(own) if own else b"", all_text=document.to_json(shared) if shared else b"",
                      fresh=fields if place in fresh else begun, marked=made.raw.get(place, {}))  # fmt: skip
    text = node_text(made.overrides, found.started, found.profile)
    if text != found.node.head.text or any(found.node.values[name] != value for name, value in made.spec.system.items()):
        state.publish(held, None, made.spec, text=text)


def ensure(node: Node) -> None:
    """The state of the node, made where there is none yet."""
    if not state.there(node.state):
        with state.locked(node.state):
            if not state.there(node.state):
                state.create(node.state, node.image)
