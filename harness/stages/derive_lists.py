"""Lists of a GPU block: supported clocks, processes, accounting records, retired pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from harness.stages import derive_accounting
from harness.stages.derive_walk import LIST, STATE, UNMODELLED, VALUE, Reading
from harness.words.state import State

MIB = 1 << 20
U32 = 0xFFFFFFFF
MAX_TEXT = 4096
_PREFIXES = ("process.", "processes.", "supported_clocks.", "accounted_process.", "accounting.pids", "retired_page.", "retired_pages.single_bit",
             "retired_pages.double_bit")  # fmt: skip
_NO_INSTANCE, _UNKNOWN = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
_KEY_ROWS = {"process.": "process.pid", "accounted_process.": "accounted_process.pid", "supported_clocks.": "supported_clocks.memory"}
_MOST = {"process.used_memory": _UNKNOWN, "accounted_process.max_memory": _UNKNOWN, "accounted_process.time": _UNKNOWN,
         "retired_page.address": _UNKNOWN, "retired_page.timestamp": _UNKNOWN, "accounted_process.gpu_util": 100,
         "accounted_process.memory_util": 100}  # fmt: skip


def is_list(row: str) -> bool:
    """Whether a row belongs to a list rather than to one key."""
    return row.startswith(_PREFIXES)


def settle(reading: Reading) -> Reading:
    """One member of a list's entry as a profile can hold it: any text is a name; a state, or a number past 32 bits, is held by no key."""
    if reading.row is None or not is_list(reading.row):
        return reading
    if reading.row == "process.name" and reading.kind == STATE:
        reading = replace(reading, kind=VALUE, raw=reading.text, state=None)
    if reading.kind == STATE and reading.entry:
        return _refused(reading, "an entry of a list cannot answer a state")
    too_long = isinstance(reading.raw, str) and (len(reading.raw) > MAX_TEXT or "\0" in reading.raw)
    most = _MOST.get(reading.row or "", U32)
    too_large = isinstance(reading.raw, int) and not 0 <= reading.raw <= most
    if reading.kind == VALUE and (too_long or too_large):
        return _refused(reading, "no key holds this")
    return reading


def orphans(readings: list[Reading]) -> dict[str, str]:
    """Path -> reason for members of entries that no profile can say: they lack what names the entry (pid, memory clock), or the order is another."""
    found: dict[str, str] = {}
    for prefix, key in _KEY_ROWS.items():
        own = [reading for reading in readings if reading.row is not None and reading.row.startswith(prefix) and reading.entry]
        named = {reading.entry[0] for reading in own if reading.row == key and reading.kind == VALUE}
        found.update({reading.path: f"its entry has no {key}" for reading in own if reading.entry[0] not in named and reading.kind == VALUE})
    why = derive_accounting.unsaid(readings)
    if why:
        own = [reading for reading in readings if reading.row is not None and reading.row.startswith(derive_accounting.PREFIX)]
        found.update({reading.path: f"no profile says such a buffer: {why}" for reading in own})
    return found


def _refused(reading: Reading, why: str) -> Reading:
    return replace(reading, kind=UNMODELLED, raw=None, state=None, why=why)


def lists(readings: list[Reading]) -> dict[str, tuple[Any | State, str]]:
    """Key -> (value or state, element) for the lists in one GPU's readings; a list the capture does not print is not there."""
    found: dict[str, tuple[Any | State, str]] = {}
    for key, prefixes, make in _LISTS:
        own = [reading for reading in readings if reading.row is not None and reading.row.startswith(prefixes)]
        if key.startswith("retired_pages."):
            own += [reading for reading in readings if (reading.row or "").startswith("retired_page.") and _CAUSES[key] in reading.place]
        if not own:
            continue
        state = next((reading.state for reading in own if reading.kind == STATE and reading.row in _LIST_ROWS), None)
        if state is not None:
            found[key] = (state, own[0].place)
        elif any(reading.kind in (VALUE, LIST, STATE) for reading in own):
            found[key] = (make(own), own[0].place)
    if "processes" in found and not isinstance(found["processes"][0], State):
        derive_accounting.complete(found["processes"][0], readings)
    return found


def _entries(readings: list[Reading], prefix: str) -> list[dict[str, Reading]]:
    """The entries of a list in order: row's last name -> reading."""
    entries: dict[tuple[int, ...], dict[str, Reading]] = {}
    for reading in readings:
        if reading.row is not None and reading.row.startswith(prefix) and reading.entry and reading.kind == VALUE:
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
        entry = table.setdefault(reading.entry[0], {"freq_mhz": 0, "graphics_clocks": []})
        if reading.row == "supported_clocks.memory":
            entry["freq_mhz"] = reading.raw
        else:
            entry["graphics_clocks"].append(reading.raw)
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


def _pages(readings: list[Reading]) -> dict[str, Any]:
    count = next((reading.raw for reading in readings if (reading.row or "").endswith(".count") and reading.kind == VALUE), 0)
    entries = _entries(readings, "retired_page.")
    addresses = [_number(entry, "address") for entry in entries if "address" in entry]
    timestamps = [_number(entry, "timestamp") or 0 for entry in entries if "address" in entry]
    made: dict[str, Any] = {"count": count}
    if addresses:
        made["addresses"] = addresses
    if any(timestamps):
        made["timestamps"] = timestamps
    return made


_LISTS: tuple[tuple[str, tuple[str, ...], Callable[[list[Reading]], Any]], ...] = (
    ("supported_clocks.memory_clocks", ("supported_clocks.",), _clocks),
    ("processes", ("process.", "processes."), _processes),
    ("accounting.terminated", ("accounted_process.", "accounting.pids"), derive_accounting.terminated),
    ("retired_pages.single_bit", ("retired_pages.single_bit",), _pages),
    ("retired_pages.double_bit", ("retired_pages.double_bit",), _pages),
)
_CAUSES = {"retired_pages.single_bit": "/multiple_single_bit_retirement/", "retired_pages.double_bit": "/double_bit_retirement/"}
_LIST_ROWS = frozenset(("supported_clocks.memory", "processes.compute", "accounting.pids", "retired_pages.single_bit.count",
                        "retired_pages.double_bit.count"))  # fmt: skip
