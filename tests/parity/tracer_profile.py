"""The tracer: a profile of three GPUs in which every key whose rows can tell a value has one that no other key of the profile has.

The three GPUs are the settings in which rows stand: an architecture of each ECC family; absolute temperature thresholds, and margins to the limit.
Keys with few values (words, flags) get one of them; ``tracer_values`` takes the others in turn.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from harness.stages import compile_sessions
from harness.stores.schema import keys
from harness.tables import rows

SETTINGS = (("pascal", False), ("turing", False), ("hopper", True))
"""Architecture, and whether the margin to the temperature limit answers."""
GRANULE = {"mib": 1 << 20, "mib_up": 1 << 20, "process_mib": 1 << 20, "watts": 10, "draw_watts": 10, "khz_mhz": 1000, "ns_us": 1000}
"""What a format cuts off: a value that it tells is a multiple of this, in NVML's unit."""
FIXED = {
    "ecc.mode_current": "enabled",
    "ecc.mode_pending": "disabled",
    "accounting.mode": "enabled",
    "fabric.state": "completed",
    "mig.mode_current": "disabled",
    "mig.mode_pending": "enabled",
    "compute_mode": "exclusive_process",
    "virtualization.mode": "passthrough",
    "power.smoothing.supported": True,
}
"""Words on which other rows hang, or which open a mode of its own."""
LARGE = {f"{block}memory.total_bytes": 100_000 << 20 for block in ("", "bar1_", "protected_")}
"""Totals from which a part is taken: more than their parts."""
LEFT_OUT = {
    "clocks.locked_graphics": "moves the current clocks, which are traced",
    "clocks.locked_memory": "moves the current clock, which is traced",
    "fan.controls": "moves the first fan's speed, which is traced",
    "power.smoothing.active_profile": "no view prints it",
    "power.smoothing.profiles": "no view prints them",
    "retired_pages.single_bit_retirement": "another name of retired_pages.single_bit, which is traced",
    "retired_pages.double_bit_retirement": "another name of retired_pages.double_bit, which is traced",
    **{key: "masks readings, which are traced" for key in keys.device_keys() if key.startswith("dynamic_metrics.")},
    **{key: "has the GPU fail" for key in keys.device_keys() if key.startswith("failure.")},
    **{key: "links are printed by the nvlink views alone" for key in keys.device_keys() if key.startswith(("nvlink.", "nvlink_error."))},
    "fabric.health_mask": "replaces the parts of fabric.health, which are traced",
    **dict.fromkeys(("removed", "draining", "excluded"), "hides the GPU"),
}
"""Keys the tracer does not give, and why."""
MARGIN = "thermal.tlimit.margin_c"
CLOCK = "2031-05-06T07:08:09Z"


@dataclass
class Numbers:
    """Numbers handed out once each; those of ``bytes`` to keys that NVML holds in one byte."""

    source: Iterator[int]
    bytes: Iterator[int]

    def next(self, granule: int = 1) -> int:
        """The next one, times ``granule``."""
        return next(self.source) * granule


def granules() -> dict[str, int]:
    """Profile key -> what its rows' formats cut off."""
    found: dict[str, int] = {}
    for row in rows.load().values():
        found[row.field] = max(found.get(row.field, 1), GRANULE.get(row.format, 1))
    return found


def few_valued() -> dict[str, tuple[int, ...]]:
    """Number keys that some row prints as a word: key -> the numbers with a word, zero left out."""
    table = keys.device_keys()
    found: dict[str, tuple[int, ...]] = {}
    for row in rows.load().values():
        if row.form.few and row.field in table and table[row.field].kind == "uint" and (row.route is None or row.route.bits is None):
            found[row.field] = tuple(value for value in row.form.few if value)
    return found


def document(driver: str) -> dict[str, Any]:
    """The tracer's document for a driver version."""
    numbers = Numbers(itertools.count(1001, 7), itertools.count(141))
    devices = [_device(gpu, architecture, margin, numbers) for gpu, (architecture, margin) in enumerate(SETTINGS)]
    system = {"driver_version": driver, "nvml_version": f"77.{driver}", "cuda_version": "77.3"}
    return {"format": 1, "version": "1", "system": system, "clock": {"mode": "frozen", "at": CLOCK}, "device_defaults": {}, "devices": devices}


def _device(gpu: int, architecture: str, margin: bool, numbers: Numbers) -> dict[str, Any]:
    device: dict[str, Any] = {"index": gpu, "states": {}}
    cuts, few = granules(), few_valued()
    for number, (path, key) in enumerate(keys.device_keys().items()):
        if path in LEFT_OUT:
            continue
        value = _value(key, gpu, number + gpu, numbers, cuts.get(path, 1), few.get(path, ()))
        place(device, path, FIXED.get(path, architecture if path == "architecture" else value))
    if not margin:
        remove(device, MARGIN)
        device["states"][MARGIN] = "not_supported"
    return device


def place(device: dict[str, Any], path: str, value: Any) -> None:
    """Put a value at a dotted path."""
    *blocks, name = path.split(".")
    for block in blocks:
        device = device.setdefault(block, {})
    device[name] = value


def remove(device: dict[str, Any], path: str) -> None:
    """Take a dotted path out."""
    *blocks, name = path.split(".")
    for block in blocks:
        device = device[block]
    del device[name]


def _value(key: keys.Key, gpu: int, number: int, numbers: Numbers, granule: int, few: tuple[int, ...]) -> Any:
    made: dict[str, Callable[[], Any]] = {
        "word": lambda: [word for word, _ in key.words if word != "auto"][number % len([word for word, _ in key.words if word != "auto"])],
        "mode": lambda: ("disabled", "enabled")[number % 2],
        "flag": lambda: number % 2 == 1,
        "health_flag": lambda: number % 2 == 0,
        "few": lambda: few[number % len(few)],
        "uint": lambda: _number(key, gpu, numbers, max(1, granule // key.scale)),
        "int": lambda: numbers.next(max(1, granule // key.scale)),
        "text": lambda: _uuid(numbers) if key.path == "uuid" else f"{key.path.split('.')[-1][:4]}-{numbers.next():05d}",
        "percent": lambda: str(31 + gpu),
        "bus_id": lambda: f"{0x4A10 + gpu:08X}:{0xB1 + gpu:02X}:{0x11 + gpu:02X}.0",
        "hex": lambda: f"{numbers.next():016x}{numbers.next():016x}",
        "uuid": lambda: f"{numbers.next():08x}-0000-4000-8000-{numbers.next():012x}",
        "ratio": lambda: 41 + gpu,
        "hostname": lambda: f"node-{numbers.next()}",
        "workload_profiles": list,
        "numbers": list,  # nothing shows the text of a mask that is not empty
        "clock_table": lambda: [{"freq_mhz": numbers.next(), "graphics_clocks": [numbers.next() for _ in range(3)]} for _ in range(2)],
        "processes": lambda: [_process(kind, numbers) for kind in ("C", "G", "C+G", "M+C")],
        "accounted": lambda: [_accounted(numbers) for _ in range(2)],
        "encoder_sessions": lambda: [_session("encoder_stats", {"codec": codec}, numbers) for codec in ("h264", "av1")],
        "fbc_sessions": lambda: [_session("fbc_stats", {"type": kind}, numbers) for kind in ("vid", "cuda")],
        "pages": lambda: _pages(numbers, gpu == 0 and key.path.endswith("single_bit")),
    }
    return made["few" if few else key.kind]()


def _number(key: keys.Key, gpu: int, numbers: Numbers, granule: int) -> int:
    if key.path == "minor_number":
        return gpu + 91
    return next(numbers.bytes) if key.bits == 8 else numbers.next(granule) + LARGE.get(key.path, 0) * (gpu + 1)


def _uuid(numbers: Numbers) -> str:
    return f"GPU-{numbers.next():08x}-1111-4111-8111-{numbers.next():012x}"


def _pages(numbers: Numbers, none: bool) -> dict[str, Any]:
    """Two retired pages, the later without a time, or none."""
    return {"count": 0, "addresses": []} if none else {"count": 2, "addresses": [numbers.next(), numbers.next()], "timestamps": [numbers.next(), 0]}


def _session(block: str, words: dict[str, str], numbers: Numbers) -> dict[str, Any]:
    return {member: words.get(member) or numbers.next() for member in compile_sessions.MEMBERS[block]}


def _accounted(numbers: Numbers) -> dict[str, Any]:
    figures = {key: numbers.next() for key in ("pid", "max_memory_mib", "time_ms")}
    return {**figures, "gpu_util": figures["pid"] % 97, "mem_util": figures["pid"] % 89}


def _process(kind: str, numbers: Numbers) -> dict[str, Any]:
    figures = {"sm_util": len(kind) + 11, "mem_util": len(kind) + 21, "max_memory_mib": numbers.next(), "accounted": kind != "G"}
    return {"pid": numbers.next(), "type": kind, "name": f"/opt/p-{numbers.next()}", "used_memory_mib": numbers.next(), **figures}
