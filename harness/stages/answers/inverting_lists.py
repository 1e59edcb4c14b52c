"""Lists as keys: supported clocks, processes with what accounting and the samples say of them, terminated processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.stages import compile_derived
from harness.stages.answers.keys_made import text_of
from harness.words.errors import InputError
from mocklib import fields
from mocklib.spec import NO_INSTANCE, NOT_AVAILABLE

if TYPE_CHECKING:
    from harness.stages.answers.keys_made import Keys
    from harness.stages.answers.told import Told
    from mocklib.spec import Accounted, Process

Telling = Mapping[str, "Told"]
MIB = 1 << 20
KINDS = {"processes.mps": "M", "processes.compute": "C", "processes.graphics": "G"}
"""List -> the type it is in, in the order in which nvidia-smi writes them."""
TYPES = ("C", "G", "M", "C+G", "M+C", "M+C+G")


def settle(made: Keys, told: Telling) -> None:
    """The list keys of a GPU."""
    _clocks(made, told.get("clocks.supported"))
    _processes(made, told)
    _utilization(made, told.get("processes.utilization"))
    _accounting(made, told.get("accounting.processes"))


def _differs(made: Keys, said: Told) -> bool:
    served = compile_derived.derive(fields.device_fields()[said.name].source or "", made.values, made.states)
    return bool(served.status) or served.value != said.value


def _clocks(made: Keys, said: Told | None) -> None:
    if said is not None and not said.code:
        table = [{"freq_mhz": memory, "graphics_clocks": list(graphics)} for memory, graphics in said.value]
        made.put("supported_clocks.memory_clocks", table, said)


def _processes(made: Keys, told: Telling) -> None:
    """The lists as one: a process that several name stands once, with its types."""
    lists = {name: told[name] for name in KINDS if name in told and not told[name].code}
    if not lists:
        return
    known = {entry["pid"]: entry for entry in reversed(made.values.get("processes") or [])}
    merged: dict[tuple[Any, ...], list[str]] = {}
    for name, said in lists.items():
        seen: Counter[int] = Counter()
        for process in said.value:
            key = (process.pid, seen[process.pid], process)
            seen[process.pid] += 1
            merged.setdefault(key, []).append(KINDS[name])
    order = _order([[process.pid for process in said.value] for said in lists.values()])
    made.put("processes", [_process(key[2], kinds, known) for key, kinds in sorted(merged.items(), key=lambda item: order(item[0][0]))],
             next(iter(sorted(lists.values(), key=lambda said: said.name))))  # fmt: skip


def _order(lists: list[list[int]]) -> Any:
    """Where a pid stands: by number where each list is in that order, else as the lists have them, one after the other."""
    if all(listed == sorted(listed) for listed in lists):
        return lambda pid: pid
    places = {pid: place for place, pid in reversed(list(enumerate(pid for listed in lists for pid in listed)))}
    return lambda pid: places[pid]


def _process(process: Process, kinds: list[str], known: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """One entry; what no answer says of a process that a text names stays."""
    kept = known.get(process.pid, {})
    kind = "+".join(kinds)
    entry: dict[str, Any] = {"pid": process.pid, "type": kind if kind in TYPES else kinds[0]}
    try:
        entry["name"] = text_of(str(process.name)) or str(kept.get("name", ""))
    except InputError:
        entry["name"] = ""
    if process.used_bytes != NOT_AVAILABLE:
        entry["used_memory_mib"] = process.used_bytes // MIB
    instances = {"gpu_instance_id": process.gpu_instance, "compute_instance_id": process.compute_instance}
    entry.update({key: number for key, number in instances.items() if number != NO_INSTANCE})
    if process.protected_bytes:
        entry["protected_memory_mib"] = process.protected_bytes // MIB
    return {**entry, **{key: value for key, value in kept.items() if key not in _ANSWERED and key not in entry}}


_ANSWERED = frozenset(("pid", "type", "name", "used_memory_mib", "gpu_instance_id", "compute_instance_id"))
_USES = ("sm_util", "mem_util", "enc_util", "dec_util")
_ALWAYS = frozenset(("sm_util", "mem_util"))
"""Shares that say that a process has a sample at all, be it of zeros."""


def _utilization(made: Keys, said: Told | None) -> None:
    """The share of the engines that each process has, where every process has a sample, in the list's order."""
    entries = made.values.get("processes") or []
    if said is None or said.code or not _differs(made, said):
        return
    samples = [said.value[place : place + 5] for place in range(0, len(said.value), 5)]
    if [sample[0] for sample in samples] != [entry["pid"] for entry in entries] or any(max(sample[1:]) > 100 for sample in samples):
        return
    uses = [{use: share for use, share in zip(_USES, sample[1:], strict=True) if share or use in _ALWAYS} for sample in samples]
    made.put("processes", [{**entry, **use} for entry, use in zip(entries, uses, strict=True)], said)


def _accounting(made: Keys, said: Told | None) -> None:
    """The buffer: terminated processes, and what it says of those that run."""
    if said is None or said.code or any(max(record.gpu_utilization, record.memory_utilization) > 100 for record in said.value):
        return
    made.put("accounting.terminated", [_terminated(record) for record in said.value if not record.running], said)
    if _differs(made, said) and made.values.get("accounting.mode") == "enabled":
        running = {record.pid: record for record in said.value if record.running}
        entries = [_accounted(entry, running.get(entry["pid"])) for entry in made.values.get("processes") or []]
        if entries:
            made.values["processes"] = entries


def _terminated(record: Accounted) -> dict[str, int]:
    return {"pid": record.pid, "gpu_util": record.gpu_utilization, "mem_util": record.memory_utilization,
            "max_memory_mib": record.max_memory // MIB, "time_ms": record.time_ms}  # fmt: skip


def _accounted(entry: Mapping[str, Any], record: Accounted | None) -> dict[str, Any]:
    """A process with what its running record says; one without a record is not accounted for."""
    if record is None:
        return {**entry, "accounted": False}
    made = {**entry, "sm_util": record.gpu_utilization, "mem_util": record.memory_utilization}
    if record.max_memory != NOT_AVAILABLE and record.max_memory // MIB != entry.get("used_memory_mib"):
        made["max_memory_mib"] = record.max_memory // MIB
    return made
