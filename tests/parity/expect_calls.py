"""What the library must answer, worked out from mocklib/tables and an image's content alone: no library is loaded here.

``Board`` reads the field table, the function table and an ImageSpec, and says what each function, field id and slot answers.  The C code, the
generator and the renderer are not used, so that an answer of theirs can be held against this one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mocklib import fields as tables
from mocklib.spec import Absence

NOT_SUPPORTED, NOT_FOUND, INSUFFICIENT_SIZE = 3, 6, 7


@dataclass(frozen=True)
class Said:
    """An answer: nvmlReturn_t and, where it is 0, the value (number, text, or tuple of a list)."""

    code: int
    value: Any = None


@functools.cache
def functions() -> Mapping[str, Mapping[str, Any]]:
    """Function name -> its entry in ``mocklib/tables/functions``."""
    found: dict[str, Mapping[str, Any]] = {}
    for path in sorted((tables.TABLES / "functions").glob("*.yaml")):
        found.update({name: entry for name, entry in (tables.load_yaml(path) or {}).items() if name != "format"})
    return found


Handler = Callable[["Board", int | None, Mapping[str, Any], str], Said]


class Board:
    """The answers of one image.

    ``spec`` is an ImageSpec; ``gates`` and ``fields`` may be given other contents than the spec's by passing a changed spec.
    """

    def __init__(self, spec: Any) -> None:
        self.spec = spec
        self.count = len(spec.devices)

    def absence(self, gpu: int) -> Absence:
        """What a device answers while it is not there."""
        return self.spec.absences[gpu] if gpu < len(self.spec.absences) else Absence()

    def shown(self, gpu: int) -> bool:
        """Whether a query prints a block of the device: it has a handle, and an index can be found."""
        return "present" in self.spec.modes[gpu] or (self.absence(gpu).handle == 0 and self.absence(gpu).reading != NOT_FOUND)

    def field(self, gpu: int | None, name: str) -> Said:
        """One field: its need, its status, its value."""
        definition = tables.system_fields().get(name) or tables.device_fields()[name]
        record = self.spec.system if definition.scope == "system" else self.spec.devices[gpu or 0]
        if definition.scope == "device" and "present" not in self.spec.modes[gpu or 0]:
            return Said(self.absence(gpu or 0).reading)
        if definition.need and definition.need not in self.spec.modes[gpu or 0]:
            return Said(NOT_SUPPORTED)
        held = record.get(name)
        if held is None:
            return Said(NOT_SUPPORTED)
        if held.status:
            return Said(held.status)
        return Said(0, held.value.hex() if isinstance(held.value, bytes) else held.value)

    def call(self, function: str, gpu: int | None, args: Mapping[str, Any], out: str) -> Said:
        """What ``function`` answers and writes to ``out`` (a parameter or ``parameter.member``)."""
        if function in self.spec.gates:
            return Said(self.spec.gates[function])
        entry = functions().get(function)
        if entry is None:
            return Said(NOT_SUPPORTED)
        if "handler" in entry:
            return HANDLERS[entry["handler"]][1](self, gpu, args, out)
        keys = [args[path] for path in entry.get("by", ())]
        items = entry.get("out") or entry.get("string") or _version(entry, args)
        values: dict[str, Any] = {}
        for path, source in items.items():
            said = self._item(gpu, source, keys)
            if said.code:
                return said
            values[path] = said.value
        return Said(0, values[out] if out else next(iter(values.values())))

    def _item(self, gpu: int | None, source: Any, keys: list[int]) -> Said:
        if isinstance(source, dict) and set(source) == {"const"}:
            return Said(0, source["const"])
        if isinstance(source, dict) and set(source) == {"field", "absent"}:
            said = self.field(gpu, source["field"])
            return said if said.code == 0 else Said(0, source["absent"])
        for key in keys:
            if not isinstance(source, dict):
                break
            if key not in source:
                return Said(NOT_SUPPORTED)
            source = source[key]
        return self.field(gpu, source)

    def field_value(self, gpu: int, identifier: int, scope: int) -> Said:
        """One entry of nvmlDeviceGetFieldValues."""
        if "nvmlDeviceGetFieldValues" in self.spec.gates:
            return Said(self.spec.gates["nvmlDeviceGetFieldValues"])
        for row in self.spec.field_ids:
            if row.id == identifier and row.scope in (scope, None):
                return self.field(gpu, row.field)
        return Said(NOT_SUPPORTED)

    def slot(self, gpu: int, number: int, key: int | None) -> Said:
        """One entry of the private table."""
        for row in self.spec.slots:
            if row.number == number and (row.shape != "field_values" or row.key == key):
                if row.field in PROCESS_FIELDS:
                    return processes(self, gpu, row.field)
                return Said(0) if row.shape == "ok" else self.field(gpu, row.field)
        return Said(NOT_SUPPORTED)


def _version(entry: Mapping[str, Any], args: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the struct version of ``args`` holds, the newest where they name none."""
    versions = entry["version"]
    found: Mapping[str, Any] = versions[args.get("@version", next(reversed(versions)))]["out"]
    return found


def feeds(function: str, args: Mapping[str, Any] | None = None) -> frozenset[str]:
    """The fields whose code is the function's (called with ``args``, where they choose); those of a handler written in C by the table below.

    A member with a value for its absence makes no call fail.
    """
    entry = functions().get(function, {})
    if "handler" in entry:
        return frozenset(HANDLERS[entry["handler"]][0]) if entry["handler"] in HANDLERS else frozenset()
    keys = [args.get(path) for path in entry.get("by", ())] if args else []
    items = [item for name in ("out", "string") for item in entry.get(name, {}).values()]
    items += list(_version(entry, args or {}).values()) if "version" in entry else []
    return frozenset(name for item in items for name in _named(_chosen(item, keys)))


def _chosen(item: Any, keys: list[Any]) -> Any:
    """A keyed item with its keys taken."""
    for key in keys:
        item = item.get(key) if isinstance(item, dict) and "field" not in item and "const" not in item else item
    return item


def _named(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, dict) or set(value) == {"field", "absent"}:
        return []
    return [name for inner in value.values() for name in _named(inner)]


def _clock_table(board: Board, gpu: int | None, args: Mapping[str, Any]) -> Said:
    said = board.field(gpu, "clocks.supported")
    if said.code:
        return said
    if "memoryClockMHz" not in args:
        return Said(0, tuple(memory for memory, _ in said.value))
    offered = {memory: tuple(graphics) for memory, graphics in reversed(said.value)}
    return Said(0, offered[args["memoryClockMHz"]]) if args["memoryClockMHz"] in offered else Said(NOT_FOUND)


def _one(field: str) -> Handler:
    return lambda board, gpu, _args, _out: board.field(gpu, field)


def _members(**names: str) -> Handler:
    """A struct whose members are fields: the first code that is not 0 is the call's."""

    def answer(board: Board, gpu: int | None, _args: Mapping[str, Any], out: str) -> Said:
        said = {member: board.field(gpu, field) for member, field in names.items()}
        refused = next((one for one in said.values() if one.code), None)
        return refused or said[out.rpartition(".")[2]]

    return answer


def _masks(board: Board, gpu: int | None, _args: Mapping[str, Any], out: str) -> Said:
    """Two masks of eight 32-bit words, as hexadecimal digits."""
    said = [board.field(gpu, f"power.workload_profiles.{which}") for which in ("requested", "enforced")]
    refused = next((one for one in said if one.code), None)
    raw = bytes.fromhex(said["enforced" in out].value or "") if refused is None else b""
    return refused or Said(0, "".join(f"{int.from_bytes(raw[at : at + 4], 'little'):08x}" for at in range(0, 32, 4)))


def processes(board: Board, gpu: int | None, field: str) -> Said:
    """A process list, its entries by the members of nvmlProcessInfo_t and of the private table's entry."""
    said = board.field(gpu, field)
    return said if said.code else Said(0, tuple(map(_entry, said.value)))


def _entry(process: Any) -> dict[str, Any]:
    return {
        "pid": process.pid, "usedGpuMemory": process.used_bytes, "gpuInstanceId": process.gpu_instance,
        "computeInstanceId": process.compute_instance, "name": process.name,
    }  # fmt: skip


def _running(field: str) -> Handler:
    return lambda board, gpu, _args, _out: processes(board, gpu, field)


def _running_v1(field: str) -> Handler:
    """The first version's entries: pid and memory, no instances."""

    def answer(board: Board, gpu: int | None, _args: Mapping[str, Any], _out: str) -> Said:
        said = processes(board, gpu, field)
        return said if said.code else Said(0, tuple({key: held for key, held in entry.items() if key not in INSTANCES} for entry in said.value))

    return answer


INSTANCES = ("gpuInstanceId", "computeInstanceId")


def _process_name(board: Board, _gpu: int | None, args: Mapping[str, Any], _out: str) -> Said:
    for gpu in range(board.count):
        for field in PROCESS_FIELDS:
            said = processes(board, gpu, field)
            for process in () if said.code else said.value:
                if process["pid"] == args["pid"]:
                    return Said(0, process["name"])
    return Said(NOT_FOUND)


def _retired(board: Board, gpu: int | None, args: Mapping[str, Any], out: str) -> Said:
    """A call that asks for addresses has one code for all it gives: not supported where a count was seen without them."""
    said = board.field(gpu, ("retired_pages.single_bit", "retired_pages.double_bit")[args["cause"]])
    if said.code:
        return said
    pages = said.value
    if pages.count and len(pages.addresses) < pages.count:
        return Said(0, pages.count) if args.get("addresses") == 0 else Said(NOT_SUPPORTED)
    return Said(0, pages.count if out == "pageCount" else tuple(pages.addresses))


def _retired_with_times(board: Board, gpu: int | None, args: Mapping[str, Any], out: str) -> Said:
    """A time that is not known is 0."""
    said = _retired(board, gpu, args, "addresses" if out == "timestamps" else out)
    if said.code or out != "timestamps":
        return said
    pages = board.field(gpu, ("retired_pages.single_bit", "retired_pages.double_bit")[args["cause"]]).value
    return Said(0, (*pages.timestamps, *[0] * pages.count)[: pages.count])


STATS = {
    "stats.gpuUtilization": "gpu_utilization", "stats.memoryUtilization": "memory_utilization", "stats.maxMemoryUsage": "max_memory",
    "stats.time": "time_ms", "stats.isRunning": "running",
}  # fmt: skip


def _accounting_stats(board: Board, gpu: int | None, args: Mapping[str, Any], out: str) -> Said:
    mode = board.field(gpu, "accounting.mode")
    if mode.code or not mode.value or _in_mig_mode(board, gpu):
        return Said(mode.code or NOT_SUPPORTED)
    listed = board.field(gpu, "accounting.processes")
    if listed.code:
        return listed
    found = [process for process in listed.value if process.pid == args["pid"]]
    return Said(0, int(getattr(found[-1], STATS[out]))) if found else Said(NOT_FOUND)


def _in_mig_mode(board: Board, gpu: int | None) -> bool:
    mig = board.field(gpu, "mig.mode_current")
    return not mig.code and bool(mig.value)


def _accounting_pids(board: Board, gpu: int | None, _args: Mapping[str, Any], _out: str) -> Said:
    mode, listed = board.field(gpu, "accounting.mode"), board.field(gpu, "accounting.processes")
    off = not mode.code and not mode.value
    if not listed.code and not off and _in_mig_mode(board, gpu):
        return Said(NOT_SUPPORTED)
    return listed if listed.code else Said(0, () if off else tuple(process.pid for process in listed.value))


PROCESS_FIELDS = ("processes.compute", "processes.graphics", "processes.mps")
HANDLERS: dict[str, tuple[tuple[str, ...], Handler]] = {
    "supported_memory_clocks": (("clocks.supported",), lambda board, gpu, args, _out: _clock_table(board, gpu, args)),
    "supported_graphics_clocks": (("clocks.supported",), lambda board, gpu, args, _out: _clock_table(board, gpu, args)),
    "count": ((), lambda board, _gpu, _args, _out: Said(0, board.count)),
    "driver_version": (("system.driver_version",), _one("system.driver_version")),
    "cuda_version": (("system.cuda_version",), _one("system.cuda_version")),
    "gsp_version": (("gsp_firmware.version",), _one("gsp_firmware.version")),
    "accounting_stats": (("accounting.mode", "accounting.processes", "mig.mode_current"), _accounting_stats),
    "accounting_pids": (("accounting.mode", "accounting.processes", "mig.mode_current"), _accounting_pids),
    "bridge_chip": (("bridge_chip.type", "bridge_chip.firmware"), _members(type="bridge_chip.type", fwVersion="bridge_chip.firmware")),
    "workload_profiles": (
        ("power.workload_profiles.requested", "power.workload_profiles.enforced"),
        _masks,
    ),
    "compute_v3": (("processes.compute",), _running("processes.compute")),
    "compute_v2": (("processes.compute",), _running("processes.compute")),
    "compute_v1": (("processes.compute",), _running_v1("processes.compute")),
    "graphics_v3": (("processes.graphics",), _running("processes.graphics")),
    "graphics_v2": (("processes.graphics",), _running("processes.graphics")),
    "graphics_v1": (("processes.graphics",), _running_v1("processes.graphics")),
    "mps_v3": (("processes.mps",), _running("processes.mps")),
    "mps_v2": (("processes.mps",), _running("processes.mps")),
    "mps_v1": (("processes.mps",), _running_v1("processes.mps")),
    "process_name": (PROCESS_FIELDS, _process_name),
    "retired_pages": (("retired_pages.single_bit", "retired_pages.double_bit"), _retired),
    "retired_pages_v2": (("retired_pages.single_bit", "retired_pages.double_bit"), _retired_with_times),
}
"""What the handlers written in C answer from, and how; a route through one that is not here is an error of the expectation."""
