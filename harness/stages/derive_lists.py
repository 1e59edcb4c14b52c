"""Lists of a GPU block: supported clocks, processes, accounting records, retired pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.stages.derive_walk import LIST, STATE, VALUE, Reading
from harness.words.state import State

MIB = 1 << 20
_PREFIXES = ("process.", "processes.", "supported_clocks.", "accounted_process.", "accounting.pids", "retired_page.", "retired_pages.single_bit",
             "retired_pages.double_bit")  # fmt: skip
_NO_INSTANCE, _UNKNOWN = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


def is_list(row: str) -> bool:
    """Whether a row belongs to a list rather than to one key."""
    return row.startswith(_PREFIXES)


def lists(readings: list[Reading]) -> dict[str, tuple[Any | State, str]]:
    """Key -> (value or state, element) for the lists in one GPU's readings; a list the capture does not print is not there."""
    found: dict[str, tuple[Any | State, str]] = {}
    for key, prefixes, make in _LISTS:
        own = [reading for reading in readings if reading.row is not None and reading.row.startswith(prefixes)]
        if not own:
            continue
        state = next((reading.state for reading in own if reading.kind == STATE and reading.row in _LIST_ROWS), None)
        if state is not None:
            found[key] = (state, own[0].place)
        elif any(reading.kind in (VALUE, LIST, STATE) for reading in own):
            found[key] = (make(own), own[0].place)
    return found


def _entries(readings: list[Reading], prefix: str) -> list[dict[str, Reading]]:
    """The entries of a list in order: row's last name -> reading."""
    entries: dict[tuple[int, ...], dict[str, Reading]] = {}
    for reading in readings:
        if reading.row is not None and reading.row.startswith(prefix) and reading.entry:
            entries.setdefault(reading.entry, {})[reading.row.removeprefix(prefix)] = reading
    return [entries[number] for number in sorted(entries)]


def _number(entry: dict[str, Reading], name: str) -> int | None:
    reading = entry.get(name)
    return int(reading.raw) if reading is not None and isinstance(reading.raw, int) else None


def _clocks(readings: list[Reading]) -> list[dict[str, Any]]:
    table: dict[int, dict[str, Any]] = {}
    for reading in readings:
        if reading.kind != VALUE or not reading.entry:
            continue
        if reading.row == "supported_clocks.memory":
            table[reading.entry[0]] = {"freq_mhz": reading.raw, "graphics_clocks": []}
        else:
            table[reading.entry[0]]["graphics_clocks"].append(reading.raw)
    return [table[number] for number in sorted(table)]


_TYPES = {1: "C", 3: "M+C", 4: "G", 5: "C+G", 7: "M+C+G"}


def _processes(readings: list[Reading]) -> list[dict[str, Any]]:
    made = []
    for entry in _entries(readings, "process."):
        process: dict[str, Any] = {"pid": _number(entry, "pid"), "type": _TYPES.get(_number(entry, "type") or 1, "C")}
        name = entry.get("name")
        process["name"] = str(name.raw) if name is not None and name.raw is not None else ""
        used = _number(entry, "used_memory")
        if used is not None and used != _UNKNOWN:
            process["used_memory_mib"] = used // MIB
        for key in ("gpu_instance_id", "compute_instance_id"):
            number = _number(entry, key)
            if number is not None and number != _NO_INSTANCE:
                process[key] = number
        made.append(process)
    return made


def _accounted(readings: list[Reading]) -> list[dict[str, Any]]:
    names = (("pid", "pid"), ("gpu_util", "gpu_util"), ("mem_util", "memory_util"), ("max_memory_mib", "max_memory"), ("time_ms", "time"))
    made = []
    for entry in _entries(readings, "accounted_process."):
        record = {key: _number(entry, name) or 0 for key, name in names}
        made.append({**record, "max_memory_mib": record["max_memory_mib"] // MIB})
    return made


def _pages(readings: list[Reading]) -> dict[str, Any]:
    count = next((reading.raw for reading in readings if (reading.row or "").endswith(".count") and reading.kind == VALUE), 0)
    return {"count": count}


_LISTS: tuple[tuple[str, tuple[str, ...], Callable[[list[Reading]], Any]], ...] = (
    ("supported_clocks.memory_clocks", ("supported_clocks.",), _clocks),
    ("processes", ("process.", "processes."), _processes),
    ("accounting.terminated", ("accounted_process.", "accounting.pids"), _accounted),
    ("retired_pages.single_bit", ("retired_pages.single_bit",), _pages),
    ("retired_pages.double_bit", ("retired_pages.double_bit",), _pages),
)
_LIST_ROWS = frozenset(("supported_clocks.memory", "processes.compute", "accounting.pids", "retired_pages.single_bit.count",
                        "retired_pages.double_bit.count"))  # fmt: skip
