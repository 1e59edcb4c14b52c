"""Keys of the configuration reference that a profile may give and no call answers from: accepted, checked, kept, and told when they are given.

A key that comes to be served goes from here into ``keys``; a test holds that no key is in neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.stores.schema.keys import Key

DEVICE: tuple[Key, ...] = (
    Key("mig.supported_profiles", "mappings"), Key("mig.gpu_instances", "mappings"), Key("mig.instances", "mappings"),
    Key("virtualization.vgpu", "mapping"),
    Key("nvlink_error.rate", "fraction"), Key("nvlink_error.links", "links"),
    Key("features", "features"), Key("grace_superchip.enabled", "flag"), Key("grace_superchip.cpu_cores", "uint"),
    Key("grace_superchip.cpu_memory_gb", "uint"), Key("grace_superchip.coherent_memory", "flag"), Key("grace_cpu_pair", "uint"),
)  # fmt: skip
"""Keys of one GPU; the numbers of the words are nvml.h's where it has any, else their order."""

NODE: tuple[Key, ...] = (
    Key("system.hic", "cards"),
    Key("nvlink.version", "uint"), Key("nvlink.links_per_gpu", "link_count"), Key("nvlink.bandwidth_per_link_mbps", "uint"),
    Key("nvlink.multi_node", "flag"), Key("nvlink.nvle_enabled", "flag"), Key("nvlink.bw_mode", "bw_mode"),
    Key("nvlink.firmware", "nvlink_firmware"), Key("nvlink.links", "nvlinks"), Key("nvlink.device_links", "anything"),
    Key("nvlink.switches", "switches"), Key("nvlink.defaults", "nvlink_defaults"),
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
    """Keys of a profile that no call answers from: those whose serving is still to come, and those that only describe."""

    later: tuple[str, ...] = ()
    descriptive: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line for a user; empty where every key is served."""
        parts = [f"accepted, not served yet: {', '.join(self.later)}"] if self.later else []
        parts += [f"{'' if parts else 'accepted, '}descriptive, asked for by no call: {', '.join(self.descriptive)}"] if self.descriptive else []
        return "; ".join(parts)


def unserved(profile: Any) -> Unserved:
    """The keys of a profile's document (plain mappings and lists, checked or not) that no call answers from, each once, in the tables' order."""
    if not isinstance(profile, Mapping):
        return Unserved()
    devices = profile.get("devices")
    blocks = [profile.get("device_defaults"), *(devices if isinstance(devices, list) else [])]
    device = [path for path in device_paths() if any(_given(block, path.split(".")) for block in blocks)]
    found = [key.path for key in NODE if _given(profile, key.path.split("."))] + device
    return Unserved(tuple(path for path in found if path not in DESCRIPTIVE), tuple(path for path in found if path in DESCRIPTIVE))


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
