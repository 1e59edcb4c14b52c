"""A state made for what is served from now on: fresh, or one that is there; overrides it starts with change what its GPUs are known by, too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.stages import compile_dynamic
from harness.stages.overriding import checking, document, nodes, putting, storing
from harness.stages.overriding.document import Overrides
from harness.stages.render import serving
from harness.stores import profiles
from harness.words.errors import InputError
from mocklib import image, state

if TYPE_CHECKING:
    from harness.stores.workspace import Workspace
    from mocklib.spec import Clock


@dataclass(frozen=True)
class Served:
    """What is served: the profile's file, as ``driver`` where that is another than its own, and its image."""

    profile: Path
    image: Path
    driver: str | None
    space: Workspace


@dataclass(frozen=True)
class Seed:
    """What the state draws from: ``asked`` for, whatever it drew from before; else ``drawn``, which a state takes when it is made for GPUs that need
    one; else what it has.
    """

    asked: int | None = None
    drawn: int | None = None


def start(
    served: Served, target: Path, clock: Clock | None = None, overrides: Overrides | None = None, *, as_user: bool = False, seed: Seed | None = None
) -> None:  # fmt: skip
    """The state at ``target``, made where there is none of this image; InputError where something else lies there, or for overrides that are refused.

    ``clock``: the time it is served by; ``as_user``: callers are no root; ``seed``: what its dynamic metrics are drawn from.
    """
    fresh = not _there(target, served.image)
    if fresh:
        serving.make_state(served.image, target, clock)
    elif clock is not None:
        state.set_clock(target, clock)
    if as_user:
        state.set_privilege(target, user=True)
    if overrides or served.driver is not None:
        _begin(served, target, overrides or Overrides())
    if seed is not None:
        _seed(served, target, seed, overrides or Overrides(), fresh=fresh)


def _there(target: Path, made_from: Path) -> bool:
    """Whether a state of the image is there."""
    try:
        return state.there(target) and state.made_of(target) == image.known_by(made_from)
    except state.StateError as error:
        raise InputError(f"{target}: is there and is no state; name another file") from error


def _begin(served: Served, target: Path, overrides: Overrides) -> None:
    """Put ``overrides`` in force as what the state was made with, and the profile where the image does not say it."""
    node, drawn = _node(served, target), state.read(target).node.head.seed
    read = node.profile
    named = str(served.profile.resolve()) if node.view.source is None else None
    spec = node.compiled(node.overlaid(overrides, overrides, "--overrides"), overrides.node, seed=drawn)
    only_all = node.overlaid(replace(overrides, devices={}), overrides, "--overrides")
    base = node.compiled(only_all, overrides.node, seed=drawn) if overrides else None
    shared = document.to_json(overrides.all) if overrides.all else b""
    with state.writing(target) as held:
        for place in range(len(read.devices)) if overrides else ():
            own = overrides.devices.get(checking.index_of(read, place), {})
            state.publish(held, place, spec, base, text=document.to_json(own) if own else b"", all_text=shared)
        state.publish(held, None, spec, text=storing.node_text(overrides, overrides, named))


def _node(served: Served, target: Path) -> nodes.Node:
    """What is served, with its state at ``target``."""
    data = served.image.read_bytes()
    read = profiles.load(served.profile) if served.driver is None else serving.retargeted(served.profile, served.space, served.driver).profile
    return nodes.Node(target, data, image.read(data, devices=False), read, served.space)


def _seed(served: Served, target: Path, seed: Seed, overrides: Overrides, *, fresh: bool) -> None:
    """Have the state draw from the seed asked for; from the drawn one, where it was made just now and there is something to draw."""
    if seed.asked is not None:
        putting.reseed(_node(served, target), seed.asked)
        return
    if not fresh or seed.drawn is None or not (overrides or b"dynamic_metrics" in served.profile.read_bytes()):
        return
    node = _node(served, target)
    if any(compile_dynamic.drawn_by_node(device.values) for device in node.overlaid(overrides, overrides, "--overrides")):
        putting.reseed(node, seed.drawn)
