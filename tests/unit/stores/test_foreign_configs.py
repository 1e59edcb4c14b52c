"""Profiles of another public mock, written to the same reference, are taken as they are."""

from __future__ import annotations

from pathlib import Path

import yaml

from harness.stages import compile as compiling
from harness.stages.render import serving
from harness.stores import profiles
from harness.stores.schema import kept, readers
from harness.tables import drivers
from mocklib import image


def flat(value: object, path: str = "") -> dict[str, object]:
    """Dotted key -> value of nested mappings, lists left whole."""
    if not isinstance(value, dict):
        return {path: value}
    return {key: held for name, inner in value.items() for key, held in flat(inner, f"{path}.{name}" if path else str(name)).items()}


def blocks_of(key: str) -> list[str]:
    """The key and every block it stands in."""
    steps = key.split(".")
    return [".".join(steps[: length + 1]) for length in range(len(steps))]


def test_they_load_compile_and_pack_unchanged(foreign_configs: list[Path]) -> None:
    for path in foreign_configs:
        read = profiles.load(path)
        view = image.read(image.pack(compiling.compile_profile(read, drivers.load().resolve(read.driver_version))))
        written = yaml.safe_load(path.read_text("utf-8"))
        assert len(view.devices) == len(written["devices"])
        for device, entry in zip(view.devices, written["devices"], strict=True):
            assert device["uuid"].value == entry["uuid"]
            assert device["name"].value == written["device_defaults"]["name"]
            assert device["pci.bus_id"].value == f"0000{entry['pci']['bus_id']}"
            assert device["memory.total_bytes"].value == written["device_defaults"]["memory"]["total_bytes"]


def test_each_of_their_keys_is_read_by_a_call_or_named(foreign_configs: list[Path]) -> None:
    for path in foreign_configs:
        written = yaml.safe_load(path.read_text("utf-8"))
        named = kept.unserved(written)
        told = {*named.later, *named.descriptive}
        given = {key: held for block in (written["device_defaults"], *written["devices"]) for key, held in flat(block).items() if held is not None}
        node = {name: block for name, block in written.items() if name not in ("device_defaults", "devices", "version")}
        given |= flat(node)
        dropped = [key for key in given if not any(readers.of_key(block) or block in told for block in blocks_of(key))]
        assert dropped == []
        assert serving.unserved(path).startswith(f"{path}: accepted, ")
