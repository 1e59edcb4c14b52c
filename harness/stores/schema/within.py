"""What holds between the keys of one block of a GPU: a range's ends, ids that stand once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.tables.strictyaml import Document

Path_ = tuple["str | int", ...]

_RANGES: tuple[tuple[Path_, str, str], ...] = (
    (("fan",), "min_speed_percent", "max_speed_percent"),
    (("clocks", "locked_graphics"), "min_mhz", "max_mhz"),
    (("clocks", "locked_memory"), "min_mhz", "max_mhz"),
    (("clocks", "offsets", "graphics"), "min_mhz", "max_mhz"),
    (("clocks", "offsets", "memory"), "min_mhz", "max_mhz"),
    (("dynamic_metrics", "utilization"), "gpu_min", "gpu_max"),
    (("dynamic_metrics", "utilization"), "memory_min", "memory_max"),
)
"""Block, the key of its lower and of its upper end."""
ENDS: tuple[tuple[str, str], ...] = tuple((".".join(map(str, (*block, low))), ".".join(map(str, (*block, high)))) for block, low, high in _RANGES)
"""The keys of the two ends of each range."""
_PROFILES: Path_ = ("power", "workload_power_profiles", "supported")


def errors(document: Document) -> Iterator[tuple[int, str]]:
    """(line, message) of everything that does not hold within a block; what is of the wrong type is left to the schema."""
    devices = document.value.get("devices")
    places: list[Path_] = [("device_defaults",), *(("devices", place) for place in range(len(devices) if isinstance(devices, list) else 0))]
    for place in places:
        yield from _ranges(document, place)
        yield from _ids(document, (*place, *_PROFILES))


def _at(value: Any, path: Path_) -> Any:
    """What stands at ``path``, None where nothing does."""
    for step in path:
        found = value.get(step) if isinstance(value, dict) else None
        value = value[step] if isinstance(value, list) and isinstance(step, int) else found
    return value


def _ranges(document: Document, place: Path_) -> Iterator[tuple[int, str]]:
    for block, low, high in _RANGES:
        path = (*place, *block)
        least, most = (_at(document.value, (*path, key)) for key in (low, high))
        if isinstance(least, int) and isinstance(most, int) and least > most:
            yield document.line((*path, low)), f"{'.'.join(map(str, (*path, low)))}: {least} is above the {most} of {high}"


def _ids(document: Document, path: Path_) -> Iterator[tuple[int, str]]:
    """Each workload power profile is listed once (ledger VL09)."""
    entries = _at(document.value, path)
    seen: set[int] = set()
    for place, entry in enumerate(entries if isinstance(entries, list) else ()):
        number = entry.get("id") if isinstance(entry, dict) else None
        if isinstance(number, int) and number in seen:
            yield document.line((*path, place, "id")), f"{'.'.join(map(str, (*path, place, 'id')))}: {number} is listed before"
        if isinstance(number, int):
            seen.add(number)
