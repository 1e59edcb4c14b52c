"""Keys of the configuration reference that a profile may give and no call answers from: accepted, checked, kept, and told when they are given.

A key that comes to be served goes from here into ``keys``; a test holds that no key is in neither.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.stores.schema import links
from harness.stores.schema.keys import NODE as NODE_KEYS
from harness.stores.schema.keys import Key
from harness.words.errors import InputError

DEVICE: tuple[Key, ...] = (
    Key("mig.supported_profiles", "mappings"), Key("mig.gpu_instances", "mappings"), Key("mig.instances", "mappings"),
    Key("virtualization.vgpu", "mapping"),
    Key("features", "features"), Key("grace_superchip.enabled", "flag"), Key("grace_superchip.cpu_cores", "uint"),
    Key("grace_superchip.cpu_memory_gb", "uint"), Key("grace_superchip.coherent_memory", "flag"), Key("grace_cpu_pair", "uint"),
)  # fmt: skip
"""Keys of one GPU; the numbers of the words are nvml.h's where it has any, else their order."""

NODE: tuple[Key, ...] = (
    Key("nvlink.multi_node", "flag"),
)  # fmt: skip
"""Keys of the node, by their whole path."""

UNREAD: tuple[str, ...] = ("pcie.device_current_link_gen", "power.module.power_state")
"""Keys with a field that no function of the header, field id or slot gives."""
DESCRIPTIVE: frozenset[str] = frozenset((
    "features", "grace_superchip.enabled", "grace_superchip.cpu_cores", "grace_superchip.cpu_memory_gb", "grace_superchip.coherent_memory",
    "grace_cpu_pair", "power.management_supported",
))  # fmt: skip
"""Keys that say something of the board which no NVML call asks for (the configuration reference calls ``features`` metadata that is not read)."""


@dataclass(frozen=True)
class Unserved:
    """Keys of a profile that no call answers from: not yet, never (they describe), and values passed over."""

    later: tuple[str, ...] = ()
    descriptive: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line for a user; empty where every key is served."""
        parts = [f"accepted, not served yet: {', '.join(self.later)}"] if self.later else []
        parts += [f"{'' if parts else 'accepted, '}descriptive, asked for by no call: {', '.join(self.descriptive)}"] if self.descriptive else []
        return "; ".join((*parts, *self.ignored))


def unserved(profile: Any) -> Unserved:
    """The keys of a profile's document (plain mappings and lists, checked or not) that no call answers from, each once, in the tables' order."""
    if not isinstance(profile, Mapping):
        return Unserved()
    devices = profile.get("devices")
    blocks = [profile.get("device_defaults"), *(devices if isinstance(devices, list) else [])]
    device = [path for path in device_paths() if any(_given(block, path.split(".")) for block in blocks)]
    found = [key.path for key in NODE if _given(profile, key.path.split("."))] + device
    later, descriptive = (tuple(path for path in found if (path in DESCRIPTIVE) is wanted) for wanted in (False, True))
    return Unserved(later, descriptive, tuple(_ignored(profile)))


def _ignored(profile: Mapping[str, Any]) -> Iterator[str]:
    """Values of links that are passed over, and ends of links that are nowhere on the node; what is of the wrong type is left to the schema."""
    node = {key.path: value for key in NODE_KEYS if (value := _value(profile, key.path.split("."))) is not None}
    if not any(path.startswith("nvlink.") for path in node):
        return
    listed = profile.get("devices")
    devices = [device for device in listed if isinstance(device, Mapping)] if isinstance(listed, list) else []
    peers = tuple((_value(device, ["pci", "bus_id"]), None) for device in devices)
    with contextlib.suppress(TypeError, ValueError, KeyError, AttributeError, InputError):
        yield from links.ignored(node)
        for place, device in enumerate(devices or [{}]):
            yield from links.problems({**node, "index": device.get("index", place), "nvlink.peers": peers})


def _value(value: Any, steps: list[str]) -> Any:
    """What stands at a path of blocks; None where nothing does."""
    for step in steps:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def device_paths() -> Iterator[str]:
    """Every key of one GPU that no call answers from."""
    yield from dict.fromkeys((*(key.path for key in DEVICE), *UNREAD, *sorted(DESCRIPTIVE)))


def _given(value: Any, steps: list[str]) -> bool:
    """Whether ``value`` holds the key, in any entry where a list is on its way; null gives none."""
    if isinstance(value, list) and steps:
        return any(_given(item, steps) for item in value)
    if not steps:
        return value is not None
    return isinstance(value, Mapping) and _given(value.get(steps[0]), steps[1:])
