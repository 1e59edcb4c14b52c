"""Keys of the node out of what its GPUs say: a profile says them once, and every GPU is compiled from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.stages import compile_nvlink
from harness.stages.answers import inverting_links, inverting_places
from harness.stores.profiles import Device
from harness.stores.schema import keys, links
from harness.text import answers

if TYPE_CHECKING:
    from harness.stages.answers.gathering import Gathered
    from harness.stages.answers.keys_made import Keys

PATHS = frozenset(key.path for key in keys.NODE) - frozenset(keys.device_keys())
"""Keys that a node has and no GPU of it can have of its own."""


@dataclass(frozen=True)
class NodeKeys:
    """``values`` by key; ``origin``: key -> the call that said it; ``beside``: what compiling adds to a GPU's keys to know the others."""

    values: Mapping[str, Any] = field(default_factory=dict)
    origin: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, Any] = field(default_factory=dict)

    def under(self, base: Device | None) -> Device:
        """What a GPU is settled over: these keys and what its text says."""
        given = base or Device({}, {})
        return Device({**given.values, **self.values, **self.beside}, given.states)


def of_gpus(made: Mapping[int, Keys], node: Gathered, version: tuple[int, ...]) -> NodeKeys:
    """The keys that the GPUs ``made`` of a node say alike, and their lists as one; ``node``: what its own answers say.

    A key that two GPUs say differently is none of the node's.  ``version``: the numbers of the driver's version.
    """
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for path in sorted(PATHS):
        said = [gpu for gpu in made.values() if path in gpu.origin and path in gpu.values]
        together = _TOGETHER.get(path, _alike)([gpu.values[path] for gpu in said])
        if together is not None:
            values[path], origin[path] = together, said[0].origin[path]
    mode = node.fields.get("nvlink.node_bw_mode.mode")
    if made and mode is not None and not mode.code and mode.value in links.NAMED and "nvlink.bw_mode.scope" not in values:
        values |= {"nvlink.bw_mode.scope": "system", "nvlink.bw_mode.mode": mode.value}
        origin |= dict.fromkeys(("nvlink.bw_mode.scope", "nvlink.bw_mode.mode"), answers.call(mode.asked))
    return NodeKeys(values, origin, compile_nvlink.known([Device(gpu.values, {}) for gpu in made.values()], version) if values else {})


def _alike(said: Sequence[Any]) -> Any:
    """What all of them say; None where two say it differently, or none says it."""
    return said[0] if said and all(value == said[0] for value in said) else None


def _one_after_the_other(said: Sequence[Sequence[Any]]) -> list[Any] | None:
    return [entry for listed in said for entry in listed] or None


_TOGETHER: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    inverting_links.LISTS: _one_after_the_other, inverting_places.ROOTS: lambda said: inverting_places.together(said) or None,
}  # fmt: skip
"""Key of which each GPU says its own part -> what makes one of them."""


def take(made: Mapping[int, Keys], node: NodeKeys) -> None:
    """Take out of the GPUs what stands in the node."""
    for gpu in made.values():
        for path in {*PATHS, *node.values, *node.beside} & gpu.values.keys():
            if gpu.values[path] == node.values.get(path) or path not in keys.device_keys():
                gpu.values.pop(path)
