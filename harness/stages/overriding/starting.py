"""A state made for what is served from now on: fresh, or one that is there; overrides it starts with change what its GPUs are known by, too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.stages.overriding import checking, document, nodes, storing
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


def start(served: Served, target: Path, clock: Clock | None = None, overrides: Overrides | None = None, *, as_user: bool = False) -> None:
    """The state at ``target``, made where there is none of this image; InputError where something else lies there, or for overrides that are refused.

    ``clock``: the time it is served by; ``as_user``: callers are no root.
    """
    if not _there(target, served.image):
        serving.make_state(served.image, target, clock)
    elif clock is not None:
        state.set_clock(target, clock)
    if as_user:
        state.set_privilege(target, user=True)
    if overrides or served.driver is not None:
        _begin(served, target, overrides or Overrides())


def _there(target: Path, made_from: Path) -> bool:
    """Whether a state of the image is there."""
    if not target.exists() or (target.is_file() and target.stat().st_size == 0):
        return False
    try:
        return state.made_of(target) == image.known_by(made_from)
    except state.StateError as error:
        raise InputError(f"{target}: is there and is no state of this version of nvparity; name another file") from error


def _begin(served: Served, target: Path, overrides: Overrides) -> None:
    """Put ``overrides`` in force as what the state was made with, and the profile where the image does not say it."""
    data = served.image.read_bytes()
    read = profiles.load(served.profile)
    if served.driver is not None:
        read = serving.retargeted(served.profile, served.space, served.driver).profile
    node = nodes.Node(target, data, image.read(data, devices=False), read, served.space)
    named = str(served.profile.resolve()) if node.view.source is None else None
    spec = node.compiled(node.overlaid(overrides, overrides, "--overrides"), overrides.node)
    base = node.compiled(node.overlaid(replace(overrides, devices={}), overrides, "--overrides"), overrides.node) if overrides else None
    shared = document.to_json(overrides.all) if overrides.all else b""
    with state.writing(target) as held:
        for place in range(len(read.devices)) if overrides else ():
            own = overrides.devices.get(checking.index_of(read, place), {})
            state.publish(held, place, spec, base, text=document.to_json(own) if own else b"", all_text=shared)
        state.publish(held, None, spec, text=storing.node_text(overrides, overrides, named))
