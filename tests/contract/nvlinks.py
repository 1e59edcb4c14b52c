"""Profiles with NVLinks, compiled for the tests of what the library answers from them."""

from __future__ import annotations

import functools
from typing import Any

import yaml

from harness.stages import compile as compiling
from harness.stores import profiles
from harness.tables import drivers
from mocklib.image import ImageSpec

AT = "2026-08-21T08:54:01Z"
HOPPER, BLACKWELL = "580.105.08", "590.48.01"


def spec(nvlink: dict[str, Any], *, version: str = HOPPER, architecture: str = "hopper", device: dict[str, Any] | None = None) -> ImageSpec:
    """The image of two GPUs at 0000:01:00.0 and 0000:02:00.0; ``device`` holds more keys of each."""
    document = {
        "version": "1.0", "system": {"driver_version": version}, "clock": {"mode": "frozen", "at": AT},
        "device_defaults": {"architecture": architecture, "brand": "nvidia", **(device or {})}, "nvlink": nvlink,
        "devices": [{"index": index, "pci": {"bus_id": f"0000:{index + 1:02x}:00.0", "device_id": 0x233010DE}} for index in range(2)],
    }  # fmt: skip
    profile = profiles.parse(yaml.safe_dump(document).encode(), "p.yaml")
    return compiling.compile_profile(profile, _tree().resolve(version))


@functools.cache
def _tree() -> drivers.DriverTree:
    return drivers.load()


def direct(*ends: tuple[int, str]) -> list[list[dict[str, Any]]]:
    """``device_links`` of two GPUs, joined by links 0, 1, ...; each end is (the other GPU's link, the state)."""
    return [
        [
            {"link": number, "state": state, "remote_device_type": "GPU", "remote_index": 1 - gpu, "remote_link": far}
            for number, (far, state) in enumerate(ends)
        ]
        for gpu in range(2)
    ]


SWITCHED: dict[str, Any] = {
    "version": 6, "links_per_gpu": 4, "bandwidth_per_link_mbps": 26562, "switches": [{"bdf": "0000:05:00.0"}, {"bdf": "0000:06:00.0"}],
}  # fmt: skip
