"""What a key is, for people: the row it is printed in, its unit, what answers from it."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from harness.stores.schema import kept, readers
from harness.tables import rows

_UNITS = (
    ("_mw_per_s", "mW/s"), ("_mib_per_sec", "MiB/s"), ("_bytes", "bytes"), ("_mw", "mW"), ("_mj", "mJ"), ("_c", "°C"), ("_mhz", "MHz"),
    ("_khz", "kHz"), ("_us", "µs"), ("_ms", "ms"), ("_sec", "s"), ("_uv", "µV"), ("_kbps", "KB/s"), ("_mbps", "MB/s"), ("_percent", "%"),
    ("_util", "%"), ("_mib", "MiB"), ("_gb", "GB"), ("_rpm", "rpm"), ("_fps", "frames/s"), ("_link_width", "lanes"), ("_bus_width", "bits"),
    ("_tmp_floor", "%"),
)  # fmt: skip
_BLOCKS = (("clocks.", "MHz"), ("utilization.", "%"), ("dynamic_metrics.utilization.", "%"), ("remapped_rows.availability_histogram.", "banks"))
_WORDS = ("auto_boost", "adaptive_clocking", "pattern")
"""Last words of keys that have no unit although their block has one."""


def unit(path: str) -> str:
    """The unit of a key's number, by its name; empty for none."""
    name = path.rpartition(".")[2]
    for ending, found in _UNITS:
        if name.endswith(ending):
            return found
    return next((found for block, found in _BLOCKS if path.startswith(block) and not name.startswith(_WORDS)), "")


@functools.cache
def _labels() -> Mapping[str, str]:
    """Key -> the label of the first row that prints it."""
    found: dict[str, str] = {}
    for row in rows.load().values():
        found.setdefault(row.field, row.label)
    return found


def label(path: str) -> str:
    """The label of the row that prints a key; the key's own words for one that no row prints."""
    if path in _labels():
        return _labels()[path]
    name = path.rpartition(".")[2].removesuffix("[]")
    ending = next((ending for ending, _ in _UNITS if name.endswith(ending) and name != ending[1:]), "")
    return name.removesuffix(ending).replace("_", " ")


def status_of(path: str) -> str:
    """What answers from a key, or from the list or block it stands in."""
    while path and not status(path):
        path = path.rpartition(".")[0]
    return status(path) if path else ""


def status(path: str) -> str:
    """What answers from a key, or that nothing does; its entries' keys answer as the key of the list does."""
    if path in kept.DESCRIPTIVE:
        return "descriptive, asked for by no call"
    if path in not_served():
        return "not served yet"
    return ", ".join(readers.of_key(path))


@functools.cache
def not_served() -> frozenset[str]:
    """Every key that is accepted and not served."""
    return frozenset((*kept.device_paths(), *(key.path for key in kept.NODE)))


def description(path: str) -> str:
    """One line: label, unit, what answers."""
    said = [label(path), unit(path)]
    answer = status(path)
    return ", ".join(filter(None, said)) + (f". {answer[0].upper() + answer[1:] if path in not_served() else f'Read by {answer}'}." if answer else "")
