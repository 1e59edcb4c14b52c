"""The accounting buffer of a GPU block: terminated processes stand under ``accounting.terminated``, running ones are those of ``processes``."""

from __future__ import annotations

from typing import Any

from harness.stages.derive_walk import STATE, VALUE, Reading

PREFIX = "accounted_process."
MIB = 1 << 20
ENABLED = 1

Records = list[dict[str, int]]


def records(readings: list[Reading]) -> Records:
    """The records one GPU block prints, in order: row's last name -> number."""
    entries: dict[tuple[int, ...], dict[str, int]] = {}
    for reading in readings:
        if reading.row is not None and reading.row.startswith(PREFIX) and reading.entry and reading.kind == VALUE and isinstance(reading.raw, int):
            entries.setdefault(reading.entry, {})[reading.row.removeprefix(PREFIX)] = reading.raw
    return [entries[number] for number in sorted(entries)]


def unsaid(readings: list[Reading]) -> str:
    """Why no profile can say the buffer of one GPU block, or nothing.

    The terminated stand first and the running behind them in the order of the process list, each once (ledger R03 to R05).
    """
    found = records(readings)
    running = [record.get("pid") for record in found if record.get("is_running")]
    terminated = [record.get("pid") for record in found if not record.get("is_running")]
    listed = [reading.raw for reading in readings if reading.row == "process.pid" and reading.kind == VALUE]
    if [record.get("pid") for record in found] != [*terminated, *running]:
        return "a terminated process stands behind a running one"
    if len({*terminated, *running}) < len(found):
        return "a process stands twice"
    if running != [pid for pid in listed if pid in running]:
        return "its running processes are not those of the process list in order"
    return ""


def terminated(readings: list[Reading]) -> list[dict[str, int]]:
    """``accounting.terminated`` of one GPU block."""
    names = (("pid", "pid"), ("gpu_util", "gpu_util"), ("mem_util", "memory_util"), ("max_memory_mib", "max_memory"), ("time_ms", "time"))
    made = []
    for record in records(readings):
        if not record.get("is_running"):
            entry = {key: record.get(name, 0) for key, name in names}
            made.append({**entry, "max_memory_mib": entry["max_memory_mib"] // MIB})
    return made


def complete(processes: list[dict[str, Any]], readings: list[Reading]) -> None:
    """Give each process what its running record says; one without a record in a buffer that is kept is not accounted for."""
    kept = any(reading.row == "accounting.mode" and reading.kind == VALUE and reading.raw == ENABLED for reading in readings)
    printed = [reading for reading in readings if reading.row is not None and reading.row.startswith((PREFIX, "accounting.pids"))]
    if not kept or not printed or any(reading.kind == STATE for reading in printed):
        return
    running = {record["pid"]: record for record in records(readings) if record.get("is_running") and "pid" in record}
    for process in processes:
        record = running.get(process["pid"])
        if record is None:
            process["accounted"] = False
            continue
        process["sm_util"], process["mem_util"] = record.get("gpu_util", 0), record.get("memory_util", 0)
        if record.get("max_memory", 0) // MIB != process.get("used_memory_mib"):
            process["max_memory_mib"] = record.get("max_memory", 0) // MIB
