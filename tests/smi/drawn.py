"""Random profiles: one document a seed, the same on every machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random
from typing import Any

from harness.stages import compile_device
from harness.stores.profiles import Device
from harness.stores.schema import keys, within
from harness.words.state import State
from tests.smi import drawn_values

MOST_GPUS = 16
STATES = tuple(sorted(state.value for state in State if state.in_profile))
GPU_STATES = tuple(sorted({state for state in STATES if State(state).code not in (None, 3)} | {State.GPU_LOST.value}))
"""Why a handle may not be given."""
NOT_DRAWN_FROM = {
    "nvlink.": "no view of the query prints it",
    "nvlink_error.": "no view of the query prints it",
    "dynamic_metrics.": "takes the place of readings, which are drawn",
    "failure.": "has the GPU fail while it is printed",
    "fan.controls": "takes the place of the fan's speed, which is drawn",
    "power.smoothing.active_profile": "no view prints it",
    "power.smoothing.profiles": "no view prints it",
    "encoder_stats.sessions": "no view prints it",
    "fbc_stats.sessions": "no view prints it",
    "gpm.": "no view of the query prints it",
    "clocks.offsets.graphics.set_mhz": "no view prints it",
    "clocks.offsets.memory.set_mhz": "no view prints it",
}
NOT_DRAWN = {
    **dict.fromkeys(("removed", "draining", "excluded"), "it hides the GPU, and no view would show what was drawn for it"),
    **{key: why for key in keys.device_keys() for start, why in NOT_DRAWN_FROM.items() if key.startswith(start)},
}
"""Keys that no profile is drawn with, and why."""
NOT_WORDS: dict[str, tuple[str, str]] = {
    "virtualization.mode": ("host_vgpu", "nvidia-smi prints blocks of vGPU capabilities that no capture shows"),
}
"""Words of a key that are not drawn, and why."""
GIVEN = frozenset(("pci.bus_id", "pci.device_id", "pci.subsystem_id", "minor_number"))
"""Keys that every GPU has; without the first three nvmlDeviceGetPciInfo is refused (see ``NOT_STATED``)."""
NOT_STATED: dict[str, str] = {
    "processes.graphics_listed": "the binary of 390 ends with an internal error where slot 157 is refused",
    "pci.": "nvmlDeviceGetPciInfo refused: nvidia-smi prints the id of the GPU from memory it never wrote, or an error in place of the log",
}
"""Keys and image fields, by how they begin, that answer no state, and why."""
STALE = (418, 450, 460, 525, *((535,) if os.environ.get("NVPARITY_SANITIZED") == "threads" else ()))
"""Branches of which no GPU is drawn whose architecture is refused: what nvidia-smi then prints of ECC hangs on what memory held before.  535 prints
the same each time, but another family where the thread sanitizer's runtime has laid out the memory."""
LIMITS: dict[str, tuple[int, str]] = {
    "mig.max_gpu_instances": (8, "nvidia-smi asks for each of them: with 2^32 it asks for minutes"),
    "bridge_chip.type": (1, "nvml.h names two; nvidia-smi leaves out the line of any other"),
}
"""Keys that are drawn up to a number of their own, and why."""
MOST = {"memory.total_bytes": 2**64 - 2**32 - 1}
"""Keys whose largest numbers are not drawn: 450 and 460 print N/A for a share of memory that is refused where the upper half of the total, which lay
in the same place before, is the mark of a figure that is not known."""


VIEWS = ("q-x", "q", "L")
LIST = ("L",)


def views_of(document: dict[str, Any]) -> tuple[str, ...]:
    """The views that are compared of a profile: the list alone where a GPU's handle is not given.

    Asked for `-q`, nvidia-smi prints one line for such a GPU and nothing of the others, where captures have theirs: builtin follows the captures.
    """
    return LIST if any("state" in device for device in document["devices"]) else VIEWS


def sections(seed: int, known: tuple[str, ...]) -> str:
    """Some of the sections of `-d` that a driver has, one to three of them in any order, as a view."""
    random = Random(f"sections of {seed}")
    return "q:" + ",".join(random.sample(known, random.randrange(1, 4)))


def could_be_drawn(document: dict[str, Any]) -> bool:
    """Whether a profile that was made smaller is still one that might have been drawn: what every GPU has is there."""
    devices = document["devices"]
    return bool(devices) and all("state" in device or keys.flatten(device).keys() >= GIVEN for device in devices)


def document(seed: int) -> dict[str, Any]:
    """The profile of ``seed``, as its document; its driver version is any, for it is served as every driver."""
    random = Random(seed)
    count = random.choice((*[1] * 14, 2, 2, 2, 3, 4, random.randrange(5, MOST_GPUS + 1)))
    absent, stated = random.choice((0.0, 0.05, 0.3, 0.8)), random.choice((0.0, 0.0, 0.02, 0.2))
    blocks = random.choice((0.0, 0.1, 0.4))
    system: dict[str, Any] = {"driver_version": "550.163.01"}
    if random.randrange(3):
        system["cuda_version"] = f"{random.randrange(0, 100)}.{random.randrange(0, 100)}"
    at = f"{random.randrange(1970, 2554):04d}-{random.randrange(1, 13):02d}-{random.randrange(1, 29):02d}T{random.randrange(24):02d}:00:07Z"
    devices = list(_devices(random, count, absent, stated, blocks))
    return {"format": 1, "version": "1", "system": system, "clock": {"mode": "frozen", "at": at}, "devices": devices}


def _devices(random: Random, count: int, absent: float, stated: float, blocks: float) -> Iterator[dict[str, Any]]:
    places = random.sample(range(256), count)
    minors = random.sample(range(MOST_GPUS, 255), count)  # a GPU without the key has its index
    lost, gone = random.randrange(12) == 0, random.randrange(12) == 0
    for index in range(count):
        identity = {"pci.bus_id": _bus_id(random, places[index]), "minor_number": minors[index], "uuid": _uuid(random)}
        if gone and random.randrange(3) == 0:
            yield _gone(random, index, identity)
        else:
            yield _device(random, index, identity, absent, 1.0 if lost and random.randrange(3) == 0 else stated, blocks)


def _gone(random: Random, index: int, identity: dict[str, Any]) -> dict[str, Any]:
    """A GPU whose handle is not given, with its address or without."""
    made: dict[str, Any] = {"index": index, "state": random.choice(GPU_STATES)}
    for path, value in identity.items() if random.randrange(3) else ():
        place(made, path, value)
    return made


def _device(random: Random, index: int, identity: dict[str, Any], absent: float, stated: float, blocks: float) -> dict[str, Any]:
    made: dict[str, Any] = {"index": index}
    states: dict[str, str] = {}
    state = random.choice(STATES) if stated == 1.0 else None
    names = sorted({path.split(".")[0] for path in keys.device_keys()})
    gone = {name for name in names if random.random() < blocks}
    for path, key in keys.device_keys().items():
        if path in NOT_DRAWN:
            continue
        value = identity[path] if path in identity else drawn_values.value(random, key)
        if path in NOT_WORDS and value == NOT_WORDS[path][0]:
            value = "none"
        if path in LIMITS:
            value = random.randrange(LIMITS[path][0] + 1)
        if path in MOST and isinstance(value, int):
            value = min(value, MOST[path])
        if random.random() < stated and not path.startswith(tuple(NOT_STATED)):
            states[path] = state or random.choice(STATES)
        elif path in GIVEN or (path.split(".")[0] not in gone and random.random() >= absent):
            place(made, path, value)
    for path in sorted(keys.state_keys() - set(keys.device_keys())):
        if random.random() < stated / 2 and not path.startswith(tuple(NOT_STATED)):
            states[path] = state or random.choice(STATES)
    for low, high in within.ENDS:
        _order(made, low, high)
    for name in sorted(_too_wide(made)):
        place(made, name, drawn_values.value(random, keys.device_keys()[name]))
    if states:
        made["states"] = states
    return made


def _too_wide(device: dict[str, Any]) -> set[str]:
    """The keys whose default, worked out from other keys, has no room where NVML has its place: a profile has to give them."""
    values = {key: value for key, value in keys.flatten(device).items() if value is not None}
    _, refused = compile_device.apart(Device(values, {}), 0)
    return {name for name in refused if name in keys.device_keys()}


def _order(device: dict[str, Any], low: str, high: str) -> None:
    """The ends of a range the right way round."""
    *above, least = low.split(".")
    most = high.rpartition(".")[2]
    for block in above:
        device = device.get(block, {})
    if least in device and most in device and device[least] > device[most]:
        device[least], device[most] = device[most], device[least]


def _bus_id(random: Random, number: int) -> str:
    domain = random.choice((0, 0, 1, 0xFFFF, 0x10000, 0xFFFFFFFF))
    return f"{domain:0{random.choice((4, 8)) if domain < 65536 else 8}x}:{number:02x}:{random.randrange(32):02x}.{random.choice((0, 0, 7))}"


def _uuid(random: Random) -> str:
    digits = f"{random.getrandbits(128):032x}"
    return "GPU-" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def place(device: dict[str, Any], path: str, value: Any) -> None:
    """Put a value at a dotted path."""
    *above, name = path.split(".")
    for block in above:
        device = device.setdefault(block, {})
    device[name] = value
