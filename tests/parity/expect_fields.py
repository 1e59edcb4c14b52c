"""Which fields a profile's document must compile to, by code of its own: merging, words and units, derivations, the reference's defaults.

Reads ``mocklib/tables/fields.yaml`` as the compiler does and shares nothing else with it.  Clauses are those of the behaviour specification.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from mocklib import fields as tables
from tests.parity import expect_calls, expect_events, expect_reference, expect_topology, expect_tuning
from tests.parity.expect_reference import CODES, NOTHING, Flat, Held, since

WHOLE_NOT = frozenset({"pci", "platform", "states"})
"""Blocks that merge key by key; every other block of a device replaces that of the defaults."""
LISTS = frozenset(
    {"supported_clocks.memory_clocks", "processes", "accounting.terminated", "retired_pages.single_bit", "retired_pages.double_bit"}
    | {"power.workload_power_profiles.requested", "power.workload_power_profiles.supported", "clocks.locked_graphics", "clocks.locked_memory"}
    | {"fan.controls", "power.smoothing.profiles"}
    | {"retired_pages.single_bit_retirement", "retired_pages.double_bit_retirement"}
)
REASONS = ("gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost", "sw_thermal_slowdown", "hw_thermal_slowdown",
           "hw_power_brake_slowdown", "display_clocks_setting")  # fmt: skip
HEALTH = {"degraded_bandwidth": 0, "route_recovery": 2, "route_unhealthy": 4, "access_timeout_recovery": 6, "incorrect_configuration": 8,
          "partition_assigned": 12}  # fmt: skip
CONFIGURATION = ("none", "incorrect_sysguid", "incorrect_chassis_sn", "no_partition", "insufficient_nvlinks", "incompatible_gpu_fw",
                 "invalid_location", "gpu_state_invalid")  # fmt: skip
SUMMARY = ("not_supported", "healthy", "unhealthy", "limited_capacity")
WHOLE = "*"
"""Among a device's states: that of the device."""


def flat(block: Mapping[str, Any], prefix: str = "") -> Flat:
    """Dotted key -> value, without keys that hold null."""
    found: Flat = {}
    for name, value in block.items():
        path = f"{prefix}{name}"
        if isinstance(value, dict) and path not in LISTS:
            found |= flat(value, f"{path}.")
        elif value is not None:
            found[path] = value
    return found


def devices(document: Mapping[str, Any]) -> list[tuple[Flat, Flat]]:
    """Per device in the order of its index: values and states, the device's own over the defaults; of one with a state of its own that alone."""
    defaults = document.get("device_defaults") or {}
    merged: list[tuple[Flat, Flat]] = []
    for device in sorted(document["devices"], key=lambda entry: entry["index"]):
        if device.get("state") is not None:
            merged.append(({}, {WHOLE: device["state"]}))
            continue
        blocks = {name: value for name, value in defaults.items() if name != "states"}
        for name, value in device.items():
            if name in WHOLE_NOT and isinstance(blocks.get(name), dict):
                blocks[name] = {**blocks[name], **value}
            elif value is not None:
                blocks[name] = value
        own = flat({name: value for name, value in device.items() if name != "states"})
        inherited = {key: state for key, state in (defaults.get("states") or {}).items() if key not in own}
        blocks = {name: value for name, value in blocks.items() if name not in ("states", "index")}
        values = flat(blocks)
        if (document.get("nvlink") or {}).get("c2c_enabled") is not None:
            values["nvlink.c2c_enabled"] = document["nvlink"]["c2c_enabled"]
        values |= expect_topology.of_node(document)
        values.setdefault("minor_number", device["index"])
        values.setdefault("uuid", f"GPU-4d4f434b-0000-0000-0000-{device['index']:012d}")
        merged.append((values, {**inherited, **(device.get("states") or {})}))
    return merged


def absence(states: Flat) -> tuple[int, int]:
    """What a device answers that is not there: code of its handle and of everything else (one without a state of its own: once it is lost)."""
    state = states.get(WHOLE, "gpu_lost")
    return (0, 6) if state == "uncaptured" else (CODES.get(state, 15), 15)


def modes(values: Flat, states: Flat) -> frozenset[str]:
    """Mode bits: the device is there; ECC while the mode's own reading is enabled."""
    if WHOLE in states:
        return frozenset()
    return frozenset({"present", "ecc"} if values.get("ecc.mode_current") == "enabled" and "ecc.mode_current" not in states else {"present"})


def fields(values: Flat, states: Flat) -> dict[str, Held]:
    """Every field of a device: (status, value)."""
    if WHOLE in states:
        return {name: (absence(states)[1], None) for name in tables.device_fields()}
    return {name: _field(name, definition, values, states) for name, definition in tables.device_fields().items()}


def _field(name: str, definition: tables.FieldDef, values: Flat, states: Flat) -> Held:
    if states.get(name) == "redacted":
        return _hidden(name, definition)
    if name in states and not name.startswith("fabric.health"):
        return CODES[states[name]], None
    if definition.source is not None:
        return DERIVED[definition.source](values, states)
    given = values.get(name)
    if given is None:
        given = _default(name, values)
    if given is None or given == "N/A" or (given == 0 and name in expect_tuning.NONE_AT_ZERO):
        return NOTHING
    return _held(name, definition, given)


def _hidden(name: str, definition: tables.FieldDef) -> Held:
    """What the giver hid: nothing in a struct that has other members, which answer all the same; else not supported."""
    structs = [expect_calls.feeds(function) for function, entry in expect_calls.functions().items() if "by" not in entry]
    if definition.type not in ("u64", "i64", "string") or not any(name in members and len(members) > 1 for members in structs):
        return NOTHING
    return 0, "" if definition.type == "string" else 0


def _held(name: str, definition: tables.FieldDef, given: Any) -> Held:
    if definition.type == "pages":
        return 0, (given["count"], tuple(given.get("addresses") or ()), tuple(given.get("timestamps") or ()))
    if definition.words is not None:
        word = str(given).strip().lower() if isinstance(given, bool) or name == "architecture" else given
        return 0, definition.words[{"ada_lovelace": "ada"}.get(word, word)]
    if name in ("fan.speed_percent", "fan.target_speed_percent"):
        return 0, int(given)
    if definition.type == "bytes":
        return 0, bytes.fromhex(re.sub(r"[^0-9a-fA-F]", "", str(given).removeprefix("0x"))[:32].ljust(32, "0"))
    return 0, given * definition.scale if isinstance(given, int) else given


# ---- defaults of the configuration reference


def _has(values: Flat, block: str) -> bool:
    return any(key.startswith(block) for key in values)


def _margin(values: Flat, key: str) -> int | None:
    """G07 to G09: Ada and newer answer what is left to the slowdown, shutdown or maximum operating temperature."""
    references = [values.get(f"thermal.{name}_c") for name in ("slowdown_threshold", "shutdown_threshold", "max_operating")]
    known = [value for value in references if value is not None]
    return known[0] - values[key] if since(values, "ada") and known and values.get(key) is not None else None


def _zero(values: Flat, block: str) -> int | None:
    return 0 if _has(values, block) else None


def _default(name: str, values: Flat) -> Any:
    if name.startswith(("ecc.errors.", "ecc.sram.")):
        return _ecc(name, values)
    if name.startswith("clocks_throttle_reasons.counters."):
        return _zero(values, "clocks_throttle_reasons.")
    return DEFAULTS[name](values) if name in DEFAULTS else None


def _ecc(name: str, values: Flat) -> Any:
    if not _has(values, "ecc."):
        return None
    combined = any(f"ecc.sram.{scope}.uncorrectable" in values for scope in ("volatile", "aggregate"))
    if combined and name.startswith("ecc.sram.") and name.rpartition(".")[2] not in ("correctable", "uncorrectable"):
        return None  # L09, L11, L12: one figure, no parts
    if name in ("ecc.sram.volatile.uncorrectable", "ecc.sram.aggregate.uncorrectable"):
        return (values.get(f"{name}_parity") or 0) + (values.get(f"{name}_secded") or 0)
    one_figure = any(values.get(f"ecc.sram.{scope}.uncorrectable") is not None for scope in ("volatile", "aggregate"))
    if one_figure and name.startswith("ecc.sram.") and not name.endswith(".correctable"):  # it has no parts (L09, L11, L12)
        return None
    return False if name == "ecc.sram.threshold_exceeded" else 0


def _board_id(values: Flat) -> int | None:
    if "pci.bus_id" not in values:
        return None
    domain, bus, device, _ = _address(values)
    return (domain << 16 | bus << 8 | device) & 0xFFFFFFFF


def _copied(key: str) -> Callable[[Flat], Any]:
    return lambda values: values.get(key)


def _only(block: str, word: Any) -> Callable[[Flat], Any]:
    return lambda values: word if _has(values, block) else None


DEFAULTS: dict[str, Callable[[Flat], Any]] = {
    **{name: _only(f"{name.split('.', maxsplit=1)[0]}.", 0) for name in (
        "memory.reserved_bytes", "memory.used_bytes", "pcie.replay_counter", "pcie.replay_rollover_counter", "pcie.tx_throughput_kbps",
        "pcie.rx_throughput_kbps", "encoder_stats.session_count", "encoder_stats.average_fps", "encoder_stats.average_latency_us",
        "fbc_stats.session_count", "fbc_stats.average_fps", "fbc_stats.average_latency_us", "remapped_rows.correctable",
        "remapped_rows.uncorrectable", "remapped_rows.correctable_inactive",
        "remapped_rows.uncorrectable_inactive", "fabric.status", "fabric.clique_id")},
    "remapped_rows.pending": _only("remapped_rows.", False),
    "remapped_rows.failure_occurred": _only("remapped_rows.", False),
    **expect_events.DEFAULTS,
    "board_id": _board_id,
    "pdi": lambda values: int(hashlib.sha256(values["uuid"].encode()).hexdigest()[:16], 16) if "uuid" in values else None,
    "c2c_mode": lambda values: "enabled" if values.get("nvlink.c2c_enabled") else None,
    "retired_pages.single_bit": _copied("retired_pages.single_bit_retirement"),
    "retired_pages.double_bit": _copied("retired_pages.double_bit_retirement"),
    "retired_pages.pending_retirement": _copied("retired_pages.pending_blacklist"),
    "power.power_mizer_mode": lambda values: "auto" if since(values, "maxwell") else None,
    "performance_state": lambda _: "P0",
    "power.power_state": lambda values: values.get("performance_state", "P0") if _has(values, "power.") else None,
    "power.requested_limit_mw": _copied("power.enforced_limit_mw"),
    "clocks.graphics_customer_boost_max": _copied("clocks.graphics_max"),
    "accounting.buffer_size": _only("accounting.", 4000),
    "virtualization.mode": lambda _: "none",
    "bar1_memory.total_bytes": _only("bar1_memory.", 256 << 20),
    "pci.base_class": _only("pci.", 3),
    "pci.sub_class": _only("pci.", 2),
    "protected_memory.total_bytes": lambda _: 0,
    "protected_memory.used_bytes": lambda _: 0,
    "protected_memory.free_bytes": lambda _: 0,
    "capabilities.egm": lambda _: "disabled",
    "gsp_firmware.default_mode": _copied("gsp_firmware.mode"),
    "fabric.state": _only("fabric.", "completed"),
    "fabric.cluster_uuid": _only("fabric.", ""),
    **{f"platform.{name}": _only("platform.", 0xFF) for name in ("slot_number", "tray_index", "host_id")},
    "platform.peer_type": _only("platform.", "direct_connected"),
    "platform.chassis_serial_number": _only("platform.", ""),
    "platform.fabric_guid": _only("platform.", ""),
    "platform.module_id": lambda values: values.get("module_id") if _has(values, "platform.") else None,
    "module_id": _copied("platform.module_id"),
    "repair.channel_pending": lambda values: bool(values.get("remapped_rows.pending")) if since(values, "ampere") else None,
    "repair.tpc_pending": lambda values: False if since(values, "ampere") else None,
    "repair.unrepairable_memory": lambda values: bool(values.get("remapped_rows.failure_occurred") or values.get("ecc.sram.threshold_exceeded"))
    if since(values, "hopper") else None,
    "thermal.tlimit.margin_c": lambda values: _margin(values, "thermal.temperature_gpu_c"),
    "thermal.tlimit.shutdown_c": lambda values: _margin(values, "thermal.shutdown_threshold_c"),
    "thermal.tlimit.slowdown_c": lambda values: _margin(values, "thermal.slowdown_threshold_c"),
    "thermal.tlimit.max_operating_c": lambda values: _margin(values, "thermal.max_operating_c"),
}  # fmt: skip

# ---- derivations


def _address(values: Flat) -> tuple[int, int, int, int]:
    domain, bus, rest = values["pci.bus_id"].split(":")
    device, function = rest.split(".")
    return int(domain, 16), int(bus, 16), int(device, 16), int(function, 16)


def _pci(shape: Callable[[int, int, int, int], Any]) -> Callable[[Flat, Flat], Held]:
    return lambda values, _states: (0, shape(*_address(values))) if "pci.bus_id" in values else NOTHING


def _reasons(values: Flat, states: Flat, supported: bool) -> Held:
    names = [f"clocks_throttle_reasons.{reason}" for reason in REASONS]
    if not _has(values, "clocks_throttle_reasons."):
        return NOTHING
    return 0, sum(1 << bit for bit, name in enumerate(names) if (name not in states if supported else values.get(name)))


def _used_before_510(values: Flat, states: Flat) -> Held:
    total, free = values.get("memory.total_bytes"), values.get("memory.free_bytes")
    if "memory.reserved_bytes" in values and total is not None and free is not None:
        return 0, max(total - free, 0)
    if "memory.used_bytes" in states:
        return CODES[states["memory.used_bytes"]], None
    used = values.get("memory.used_bytes", _zero(values, "memory."))
    return NOTHING if used is None else (0, used)


def _draw(values: Flat, _states: Flat) -> Held:
    draws = [values.get(f"power.{name}_draw_mw") for name in ("current", "average", "instant")]
    return next(((0, draw) for draw in draws if draw is not None), NOTHING)


def _clocks(values: Flat, _states: Flat) -> Held:
    table = values.get("supported_clocks.memory_clocks")
    return NOTHING if table is None else (0, tuple((row["freq_mhz"], tuple(row["graphics_clocks"])) for row in table))


def _mask(values: Flat) -> int:
    if "fabric.health_mask" in values:
        return int(values["fabric.health_mask"])
    mask = 0
    for name, low in HEALTH.items():
        value = values.get(f"fabric.health.{name}")
        if value is not None:
            mask |= (CONFIGURATION.index(value) + 1 if isinstance(value, str) else 1 if value else 2) << low
    return mask


def _health_mask(values: Flat, _states: Flat) -> Held:
    return (0, _mask(values)) if _has(values, "fabric.") else NOTHING


def _health_summary(values: Flat, states: Flat) -> Held:
    if not _has(values, "fabric."):
        return NOTHING
    word = "not_supported" if "fabric.health_summary" in states else values.get("fabric.health_summary", "auto")
    if word == "auto":
        mask = _mask(values)
        fault = any(mask >> low & 3 == 1 for low in (2, 4, 6)) or mask >> 8 & 15 > 1
        word = "not_supported" if not mask else "unhealthy" if fault else "limited_capacity" if mask & 3 == 1 else "healthy"
    return 0, SUMMARY.index(word)


def _processes(letter: str) -> Callable[[Flat, Flat], Held]:
    def made(values: Flat, _states: Flat) -> Held:
        listed = [process for process in values.get("processes") or [] if letter in process.get("type", "C").split("+")]
        return 0, tuple(map(_process, listed))

    return made


def _process(process: Mapping[str, Any]) -> tuple[Any, ...]:
    used = process.get("used_memory_mib")
    instances = [0xFFFFFFFF if process.get(f"{kind}_instance_id") is None else process[f"{kind}_instance_id"] for kind in ("gpu", "compute")]
    bytes_used = (1 << 64) - 1 if used is None else used << 20
    return process["pid"], bytes_used, *instances, (process.get("protected_memory_mib") or 0) << 20, process.get("name", "")


def _accounted(values: Flat, _states: Flat) -> Held:
    if not _has(values, "accounting."):
        return NOTHING
    kept: dict[int, tuple[Any, ...]] = {}
    for entry in values.get("accounting.terminated") or []:
        figures = [entry.get(key, 0) for key in ("gpu_util", "mem_util", "max_memory_mib", "time_ms")]
        kept.pop(entry["pid"], None)
        kept[entry["pid"]] = (entry["pid"], *figures[:2], figures[2] << 20, figures[3], False)
    for entry in (values.get("processes") or []) if values.get("accounting.mode") else []:
        if entry.get("accounted", True):
            most = entry.get("max_memory_mib", entry.get("used_memory_mib"))
            kept.pop(entry["pid"], None)
            memory = (1 << 64) - 1 if most is None else most << 20
            kept[entry["pid"]] = (entry["pid"], entry.get("sm_util", 0), entry.get("mem_util", 0), memory, 0, True)
    return 0, tuple(kept.values())[-values.get("accounting.buffer_size", 4000) :]


def _mig(values: Flat, _states: Flat) -> Held:
    most = values.get("mig.max_gpu_instances", 0 if "mig.mode_current" in values else None)
    return NOTHING if most is None else (0, most)


DERIVED: dict[str, Callable[[Flat, Flat], Held]] = {
    "pci_domain": _pci(lambda domain, _bus, _device, _function: domain),
    "pci_bus": _pci(lambda _domain, bus, _device, _function: bus),
    "pci_device": _pci(lambda _domain, _bus, device, _function: device),
    "pci_function": _pci(lambda _domain, _bus, _device, function: function),
    "pci_bus_id": _pci("{:08X}:{:02X}:{:02X}.{:X}".format),
    "pci_bus_id_legacy": _pci("{:04X}:{:02X}:{:02X}.{:X}".format),
    "throttle_mask": lambda values, states: _reasons(values, states, supported=False),
    "throttle_supported_mask": lambda values, states: _reasons(values, states, supported=True),
    "memory_v1_used": _used_before_510,
    "power_usage": _draw,
    **expect_reference.DERIVED,
    **expect_tuning.DERIVED,
    **expect_events.DERIVED,
    **expect_topology.DERIVED,
    "supported_clocks": _clocks,
    "fabric_health_mask": _health_mask,
    "fabric_health_summary": _health_summary,
    "processes_compute": _processes("C"),
    "processes_graphics": _processes("G"),
    "processes_mps": _processes("M"),
    "graphics_listed": lambda _values, states: (0, int("processes" not in states)),
    "accounted_processes": _accounted,
    "mig_max_devices": _mig,
}
