"""Fields that are computed from several keys: the derivations that ``from`` names in ``mocklib/tables/fields.yaml``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.stages import (
    compile_clocks,
    compile_defaults,
    compile_failure,
    compile_fans,
    compile_nvlink,
    compile_reference,
    compile_smoothing,
    compile_topology,
)
from harness.stores.schema import codec, keys
from harness.text import rawbytes
from harness.words.state import State
from mocklib.image import Accounted, FieldValue, Process

Values = Mapping[str, Any]
States = Mapping[str, State]

NOT_SUPPORTED = 3
MIB = 1 << 20
_ABSENT = FieldValue(status=NOT_SUPPORTED)
_UNKNOWN_BYTES, _NO_INSTANCE = 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFF

STATE_IS_A_VALUE = frozenset(("fabric.health_summary", "fabric.health_mask"))
"""Fields in which not supported is a value of the struct (0), not a return code of the call."""

STATE_KEYS: Mapping[str, str] = {
    "accounting.processes": "accounting.terminated", "clocks.supported": "supported_clocks.memory_clocks", "processes.compute": "processes",
    "processes.graphics": "processes", "processes.mps": "processes", "processes.utilization": "processes", "pci.bus": "pci.bus_id",
    "pci.device": "pci.bus_id", "pci.domain": "pci.bus_id", "pci.function": "pci.bus_id", "pci.bus_id_legacy": "pci.bus_id",
    **compile_clocks.STATE_KEYS, **compile_fans.STATE_KEYS, **compile_smoothing.STATE_KEYS,
}  # fmt: skip
"""Derived field -> the key whose state it answers, where the field has another name than the key."""


def derive(name: str, values: Values, states: States) -> FieldValue:
    """The field that derivation ``name`` computes from a device's values and states."""
    return _DERIVATIONS[name](values, states)


def served_text(text: str) -> str:
    """A profile's text as the image takes it: a byte that is no UTF-8 stands as one private-use character there, as one lone surrogate here."""
    return rawbytes.encode(text).decode("utf-8", "surrogateescape")


def known_sources() -> frozenset[str]:
    """The derivations there are."""
    return frozenset(_DERIVATIONS)


def _pci(part: int) -> Callable[[Values, States], FieldValue]:
    def made(values: Values, _: States) -> FieldValue:
        if values.get("pci.bus_id") is None:
            return _ABSENT
        return FieldValue(codec.bus_id(str(values["pci.bus_id"]))[part])

    return made


def _pci_text(width: int) -> Callable[[Values, States], FieldValue]:
    """The address as text with ``width`` digits of domain, upper case (ledger D03)."""

    def made(values: Values, _: States) -> FieldValue:
        if values.get("pci.bus_id") is None:
            return _ABSENT
        domain, bus, device, function = codec.bus_id(str(values["pci.bus_id"]))
        return FieldValue(f"{domain:0{width}X}:{bus:02X}:{device:02X}.{function:X}")

    return made


def _flags(values: Values) -> dict[str, Any]:
    return {flag: values[flag] if values.get(flag) is not None else compile_defaults.default(flag, values) for flag in keys.FLAGS}


def _throttle_mask(values: Values, _: States) -> FieldValue:
    """Bits of the reasons that are active; not supported when no reason is given."""
    flags = _flags(values)
    if all(value is None for value in flags.values()):
        return _ABSENT
    return FieldValue(sum(1 << bit for bit, value in enumerate(flags.values()) if value))


def _throttle_supported(values: Values, states: States) -> FieldValue:
    """Bits of all reasons (ledger J13) but those that a state says the board lacks."""
    if all(value is None for value in _flags(values).values()):
        return _ABSENT
    return FieldValue(sum(1 << bit for bit, flag in enumerate(keys.FLAGS) if flag not in states))


def _memory_v1_used(values: Values, states: States) -> FieldValue:
    """The older memory call counts what the driver reserves as used: total - free where the reserved part is known, else used."""
    total, free = values.get("memory.total_bytes"), values.get("memory.free_bytes")
    if values.get("memory.reserved_bytes") is not None and total is not None and free is not None:
        return FieldValue(max(int(total) - int(free), 0))
    state = states.get("memory.used_bytes")
    if state is not None:
        return FieldValue(status=state.code or NOT_SUPPORTED)
    used = values.get("memory.used_bytes")
    used = compile_defaults.default("memory.used_bytes", values) if used is None else used
    return _ABSENT if used is None else FieldValue(int(used))


def _power_usage(values: Values, _: States) -> FieldValue:
    """nvmlDeviceGetPowerUsage: the key of its own, else the average, else the instant draw (GA100 and older have no average)."""
    for key in ("power.current_draw_mw", "power.average_draw_mw", "power.instant_draw_mw"):
        if values.get(key) is not None:
            return FieldValue(int(values[key]))
    return _ABSENT


def _supported_clocks(values: Values, _: States) -> FieldValue:
    table = values.get("supported_clocks.memory_clocks")
    if table is None:
        return _ABSENT
    return FieldValue(tuple((int(entry["freq_mhz"]), tuple(entry["graphics_clocks"])) for entry in table))


def _health_bits(values: Values) -> int:
    mask = 0
    for path, low in keys.HEALTH:
        if values.get(path) is not None:
            mask |= int(codec.to_nvml(keys.device_keys()[path], values[path]) or 0) << low
    return mask


def _health_mask(values: Values, _: States) -> FieldValue:
    """The pinned mask, else the parts given; a part not given is zero, not supported (ledger T06 to T13)."""
    if not compile_defaults.default("fabric.state", values):
        return _ABSENT
    pinned = values.get("fabric.health_mask")
    return FieldValue(_health_bits(values) if pinned is None else int(pinned))


def _health_summary(values: Values, states: States) -> FieldValue:
    """The pinned summary; else any fault is unhealthy, bandwidth alone limited capacity, a clear mask healthy, no mask not supported (T12)."""
    if not compile_defaults.default("fabric.state", values):
        return _ABSENT
    if "fabric.health_summary" in states:
        return FieldValue(0)
    pinned = values.get("fabric.health_summary", "auto")
    if pinned != "auto":
        return FieldValue(int(codec.to_nvml(keys.device_keys()["fabric.health_summary"], pinned) or 0))
    mask = int(_health_mask(values, states).value)
    faults = [(mask >> low) & 3 == 1 for _, low in keys.HEALTH[1:4]] + [(mask >> 8) & 15 > 1]
    if mask == 0:
        return FieldValue(0)
    return FieldValue(2 if any(faults) else 3 if mask & 3 == 1 else 1)


def _processes(kind: str) -> Callable[[Values, States], FieldValue]:
    """The processes whose type names the list; a node without the key has none (ledger R11 to R17)."""

    def made(values: Values, _: States) -> FieldValue:
        entries = values.get("processes") or []
        return FieldValue(tuple(_process(entry) for entry in entries if kind in str(entry.get("type", "C")).split("+")))

    return made


def _graphics_listed(_: Values, states: States) -> FieldValue:
    """Whether the board lists graphics processes: 1 unless its processes are a state (390 asks before it asks for the list)."""
    return FieldValue(int("processes" not in states))


def _process(entry: Mapping[str, Any]) -> Process:
    used = entry.get("used_memory_mib")
    return Process(
        pid=int(entry["pid"]),
        used_bytes=_UNKNOWN_BYTES if used is None else int(used) * MIB,
        gpu_instance=_instance(entry.get("gpu_instance_id")),
        compute_instance=_instance(entry.get("compute_instance_id")),
        protected_bytes=int(entry.get("protected_memory_mib") or 0) * MIB,
        name=served_text(str(entry.get("name", ""))),
    )


def _instance(number: int | None) -> int:
    return _NO_INSTANCE if number is None else number


def _monitoring(values: Values, states: States) -> FieldValue:
    """Whether ``dmon`` and ``pmon`` take the board: as given, else what its brand and readings say, else not supported.

    The help of both views says, from 390 to 555, that Tesla, GRID and Quadro boards and a few GeForce ones are supported.  Which GeForce ones it does
    not say: those that answer how busy they are, which is what both ask.  A board that lists no processes is none of them: ``pmon`` waits for a list
    for ever (binaries 525 to 555).
    """
    given = values.get("monitoring")
    if given is None and "processes" in states:
        given = False
    if given is None and values.get("utilization.gpu") is not None:
        given = True
    if given is None and values.get("brand") is not None:
        given = values["brand"] not in ("geforce", "unknown")
    return _ABSENT if given is None else FieldValue(int(given))


def _accounted_processes(values: Values, _: States) -> FieldValue:
    """Terminated processes, then those running (ledger R03, R04): of two records of a pid the later stands (R05), and the oldest drop (R02).

    Not supported without the block.  Those running are there while accounting is off, too: the library tells none of them then.
    """
    if not any(key.startswith("accounting.") for key in values):
        return _ABSENT
    records = [_terminated(entry) for entry in values.get("accounting.terminated") or []]
    if values.get("accounting.mode") is not None:
        records += [_running(entry) for entry in values.get("processes") or [] if entry.get("accounted", True)]
    last = {record.pid: number for number, record in enumerate(records)}
    kept = [record for number, record in enumerate(records) if last[record.pid] == number]
    size = values.get("accounting.buffer_size")
    size = compile_defaults.default("accounting.buffer_size", values) if size is None else size
    return FieldValue(tuple(kept[max(len(kept) - int(size), 0) :]))


def _terminated(entry: Mapping[str, Any]) -> Accounted:
    gpu, memory, most, time = (int(entry.get(key) or 0) for key in ("gpu_util", "mem_util", "max_memory_mib", "time_ms"))
    return Accounted(int(entry["pid"]), gpu, memory, most * MIB, time)


def _running(entry: Mapping[str, Any]) -> Accounted:
    """The record of a running process: figures and memory from its entry, no run time yet (ledger R04)."""
    most = next((entry[key] for key in ("max_memory_mib", "used_memory_mib") if entry.get(key) is not None), None)
    memory = _UNKNOWN_BYTES if most is None else int(most) * MIB
    return Accounted(int(entry["pid"]), int(entry.get("sm_util") or 0), int(entry.get("mem_util") or 0), memory, running=True)


def _mig_max(values: Values, _: States) -> FieldValue:
    """The ceiling the profile gives; without one, none while MIG is off and not supported without the block (ledger P03)."""
    given = values.get("mig.max_gpu_instances")
    if given is not None:
        return FieldValue(int(given))
    return _ABSENT if values.get("mig.mode_current") is None else FieldValue(0)


_DERIVATIONS: Mapping[str, Callable[[Values, States], FieldValue]] = {
    **compile_reference.DERIVATIONS, **compile_topology.DERIVATIONS, **compile_clocks.DERIVATIONS, **compile_fans.DERIVATIONS,
    **compile_smoothing.DERIVATIONS, **compile_failure.DERIVATIONS, **compile_nvlink.DERIVATIONS,
    "pci_domain": _pci(0), "pci_bus": _pci(1), "pci_device": _pci(2), "pci_function": _pci(3),
    "pci_bus_id": _pci_text(8), "pci_bus_id_legacy": _pci_text(4),
    "throttle_mask": _throttle_mask, "throttle_supported_mask": _throttle_supported,
    "memory_v1_used": _memory_v1_used, "power_usage": _power_usage,
    "supported_clocks": _supported_clocks, "fabric_health_mask": _health_mask, "fabric_health_summary": _health_summary,
    "processes_compute": _processes("C"), "processes_graphics": _processes("G"), "processes_mps": _processes("M"),
    "graphics_listed": _graphics_listed,
    "accounted_processes": _accounted_processes, "mig_max_devices": _mig_max,
    "monitoring": _monitoring,
}  # fmt: skip
