"""A node that is served: its state, its image, and the profile that the image was made from, as the image serves it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.stages import compile as compiling
from harness.stages import retargeting
from harness.stages.overriding import checking, following, identity, storing
from harness.stages.overriding.document import Overrides
from harness.stages.render import serving
from harness.stores import profiles
from harness.tables import drivers
from harness.words.errors import InputError, MissingError, UsageError, did_you_mean
from mocklib import image, state
from mocklib.spec import KINDS

if TYPE_CHECKING:
    from harness.stages.overriding.merging import Tree
    from harness.stages.overriding.places import Places
    from harness.stores.profiles import Device, Profile
    from harness.stores.workspace import Workspace
    from mocklib.image import FieldValue, ImageSpec, ImageView

TRACK = KINDS["track"]


@dataclass(frozen=True)
class Node:
    """``state`` need not be there yet; ``image`` are the bytes of the image it is or will be of."""

    state: Path
    image: bytes
    view: ImageView
    profile: Profile
    space: Workspace

    def indices(self) -> dict[int, int]:
        """Index of a GPU, as documents and ``--gpu`` name it -> its place in the state."""
        return checking.indices(self.profile)

    def target(self, gpu: str) -> int | None:
        """The index that ``--gpu`` names: itself, or that of the GPU whose UUID the profile declares; None for ``all`` (ledger X02, Y03).

        UsageError for one that is not there.  A UUID that is not declared is made from the index when the profile is compiled and names nothing.
        """
        if gpu == "all":
            return None
        known = self.indices()
        if gpu.isascii() and gpu.isdigit() and len(gpu) <= 6:
            if int(gpu) not in known:
                raise UsageError(f"--gpu {gpu}: there is no such GPU; {self.profile.source} has {', '.join(map(str, sorted(known))) or 'none'}")
            return int(gpu)
        uuids = {str(device.values["uuid"]): checking.index_of(self.profile, place) for place, device in enumerate(self.profile.devices)
                 if device.values.get("uuid") is not None}  # fmt: skip
        if gpu not in uuids:
            raise UsageError(f"--gpu {gpu!r}: neither an index, nor all, nor a UUID that {self.profile.source} declares{did_you_mean(gpu, uuids)}")
        return uuids[gpu]

    def overlaid(self, overrides: Overrides, started: Overrides, said: str) -> list[Device]:
        """Each GPU with the overrides over it, checked; ``started``: those that were there when the state was made, which alone change identities."""
        made = checking.check(self.profile, overrides, said)
        trees = identity.kept(made, checking.trees(self.profile, started))
        return [self._device(place, tree, overrides) for place, tree in enumerate(trees)]

    def _device(self, place: int, tree: Tree, overrides: Overrides) -> Device:
        base = self.profile.devices[place]
        if base.state is not None:
            return base
        return following.device(base, tree, following.overridden(*overrides.of(checking.index_of(self.profile, place))))

    def compiled(self, devices: Sequence[Device], node: Tree | None = None, *, seed: int) -> ImageSpec:
        """What ``devices`` in place of the profile's, and keys of the ``node``, compile into; what they change does not move by the time line.

        ``seed`` is that of the state.
        """
        changed = self._spec(tuple(devices), node or {}, seed, timeline=False)
        if self.profile.timeline is None:
            return changed
        still, moving = self._unchanged(seed, timeline=False).devices, self._unchanged(seed, timeline=True)
        fields = [
            {name: moving.devices[place][name] if value == still[place][name] else _behind(value, len(moving.tracks))
             for name, value in device.items()}
            for place, device in enumerate(changed.devices)
        ]
        return replace(changed, devices=fields, tracks=(*moving.tracks, *changed.tracks), clock=moving.clock)

    @functools.cached_property
    def _made(self) -> dict[tuple[int, bool], ImageSpec]:
        """What the profile alone compiles into, by seed and whether its time line plays; filled as it is asked for."""
        return {}

    def _unchanged(self, seed: int, *, timeline: bool) -> ImageSpec:
        if (seed, timeline) not in self._made:
            self._made[seed, timeline] = self._spec(self.profile.devices, {}, seed, timeline=timeline)
        return self._made[seed, timeline]

    def _spec(self, devices: tuple[Device, ...], node: Tree, seed: int, *, timeline: bool) -> ImageSpec:
        driver = drivers.load(self.space.root).resolve(self.profile.driver_version)
        system = {**self.profile.system, **node.get("system", {})}
        given = replace(self.profile, devices=devices, system=system, timeline=self.profile.timeline if timeline else None)
        return compiling.compile_profile(given, driver, seed)


def open_node(places: Places, space: Workspace) -> Node:
    """The node at ``places``; MissingError or InputError, one message, where its image or the profile of that is not there or is another one."""
    if places.image.path is None:
        raise MissingError(f"no image to work on: {places.image.by}; name a profile that is compiled with --config, or a state with --state")
    if places.state.path is None:
        raise MissingError("no place for a state: name one with --state")
    try:
        data = places.image.path.read_bytes()
        view = image.read(data, devices=False)
    except (OSError, image.ImageError) as error:
        raise MissingError(f"{places.image.path}: cannot be used as image: {error}") from error
    named = storing.profile_of(places.state.path) if view.source is None and state.there(places.state.path) else None
    profile = _profile(places, view, named)
    served = str(view.system["system.driver_version"].value)
    if served != profile.driver_version:
        profile = retargeting.retarget(profile, space, served).profile
    if view.source is None and image.known_by(places.image.path) != _known(serving.packed(profile, space)):
        raise InputError(f"{places.image.path} was not made from {profile.source} as it is now; nvparity compile makes it again")
    return Node(places.state.path, data, view, profile, space)


def _behind(value: FieldValue, tracks: int) -> FieldValue:
    """A field of one spec in one that has ``tracks`` tracks before its own."""
    return replace(value, rate=value.rate + tracks) if value.kind == TRACK else value


def _known(data: bytes) -> tuple[int, int]:
    view = image.read(data, devices=False)
    return view.crc, view.size


def _profile(places: Places, view: ImageView, named: str | None) -> Profile:
    """The profile that the image was made from, unchanged since; ``named``: the one that the state names."""
    source = view.source
    path = places.profile.path if places.profile.path is not None else None if named is None else Path(named)
    if path is None:
        raise InputError(f"{places.image.path} names no profile that it was made from (it is served as another driver, say); name it with --config")
    again = "put it back, or run nvparity compile and start what is served again"
    if not path.is_file():
        raise MissingError(f"{path}: the profile that {places.image.path} was made from is gone; {again}")
    profile = profiles.load(path)
    if source is not None and bytes.fromhex(profile.sha256) != source.sha256:
        raise MissingError(f"{path}: was changed since {places.image.path} was made from it, or that was made from another ({source.path}); {again}")
    return profile
