"""Boards for the tests of setters: profiles in the reference's keys, compiled, and asked in this process and in another."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from harness.stages import compile as compiling
from harness.stores import profiles
from harness.tables import drivers
from mocklib.image import ImageSpec

ROOT = Path(__file__).resolve().parents[2]
SUCCESS, INVALID, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, FUNCTION_NOT_FOUND, MISMATCH = 0, 2, 3, 4, 6, 13, 25
class _Plain(yaml.SafeDumper):
    """A profile has no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write every value out."""
        return True


_ASK = """
import json, sys
from mocklib import binding
nvml = binding.open_library(sys.argv[1])
assert nvml.init() == 0
device, given = nvml.device(int(sys.argv[4])), json.loads(sys.argv[3])
if "field" in given:
    answer = nvml.field_values(device, [tuple(given["field"])])[0]
    print(json.dumps([answer.code, {"value": answer.value}]))
else:
    answer = nvml.call(sys.argv[2], device, given)
    print(json.dumps([answer.code, {key: value for key, value in answer.out.items() if not isinstance(value, bytes)}]))
"""


def spec(*devices: Mapping[str, Any], driver: str = "580.105.08") -> ImageSpec:
    """The image of GPUs with these keys (blocks as they stand in a profile)."""
    listed = [{"index": index, **device} for index, device in enumerate(devices)]
    document = {"version": "1.0", "system": {"driver_version": driver}, "devices": listed}
    profile = profiles.parse(yaml.dump(document, Dumper=_Plain).encode(), "p.yaml")
    return compiling.compile_profile(profile, drivers.load().resolve(profile.driver_version))


def elsewhere(library: Path, function: str, arguments: Mapping[str, Any] | None = None, gpu: int = 0) -> tuple[int, dict[str, Any]]:
    """Code and answer of a call in another process, which sees this one's environment."""
    run = subprocess.run(
        [sys.executable, "-c", _ASK, str(library), function, json.dumps(dict(arguments or {})), str(gpu)],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    code, out = json.loads(run.stdout)
    return int(code), out


def field_elsewhere(library: Path, field: int, scope: int = 0) -> Any:
    """The value of a field id in another process."""
    code, out = elsewhere(library, "nvmlDeviceGetFieldValues", {"field": [field, scope]})
    assert code == SUCCESS
    return out["value"]


def shipped(name: str, *given: Mapping[str, Any], **node: Any) -> ImageSpec:
    """The image of a profile of the repository; ``given``: more keys of its first GPUs, one mapping each, ``node``: blocks in place of its own.

    More mappings than it has GPUs make further ones of the same board.
    """
    document = yaml.safe_load((ROOT / "profiles" / f"{name}.yaml").read_text())
    listed = document["devices"]
    for place, keys in enumerate(given):
        if place == len(listed):
            uuid, bus = f"GPU-{place:08d}-0000-0000-0000-000000000000", f"0000:{0x80 + place:02x}:00.0"
            listed.append({"index": place, "uuid": uuid, "minor_number": place, "pci": {"bus_id": bus}})
        listed[place] |= keys
    document["system"].pop("num_devices", None)
    profile = profiles.parse(yaml.dump({**document, **node}, Dumper=_Plain).encode(), f"{name}.yaml")
    return compiling.compile_profile(profile, drivers.load().resolve(profile.driver_version))
