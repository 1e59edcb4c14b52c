"""The keys of one GPU in a profile: dotted path -> kind.

A key is an image field of the same name (``mocklib/tables/fields.yaml``) unless it is listed here: those are read by a derivation, or are
written otherwise in a profile than NVML counts.  Names are the configuration reference's; keys it lacks are extensions.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from mocklib import fields

INTEGERS = frozenset(("uint", "int", "word"))


@dataclass(frozen=True)
class Key:
    """One key.

    kind   ``uint``, ``int``, ``text``, ``word`` (``words``: word -> NVML's integer), ``hex`` (bytes), or one of the kinds of ``codec``
    scale  NVML's value = profile value x scale
    bits   how many bits of NVML's value reach a caller
    """

    path: str
    kind: str
    words: tuple[tuple[str, int], ...] = ()
    scale: int = 1
    bits: int = 32

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the largest number a profile may give."""
        if self.kind == "int":
            return -(2 ** (self.bits - 1) // self.scale), (2 ** (self.bits - 1) - 1) // self.scale
        return 0, (2**self.bits - 1) // self.scale


_FLAGS = ("gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost", "sw_thermal_slowdown", "hw_thermal_slowdown",
          "hw_power_brake_slowdown", "display_clocks_setting")  # fmt: skip
FLAGS: tuple[str, ...] = tuple(f"clocks_throttle_reasons.{flag}" for flag in _FLAGS)
"""Event reasons by bit, lowest first (nvml.h, NVML_CLOCKS_EVENT_REASON_*)."""

COUNTED = ("sw_power_cap", "sync_boost", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
"""Event reasons that have a counter of how long they were active (ledger J10)."""

HEALTH: tuple[tuple[str, int], ...] = (
    ("fabric.health.degraded_bandwidth", 0), ("fabric.health.route_recovery", 2), ("fabric.health.route_unhealthy", 4),
    ("fabric.health.access_timeout_recovery", 6), ("fabric.health.incorrect_configuration", 8), ("fabric.health.partition_assigned", 12),
)  # fmt: skip
"""Parts of the fabric health mask and their lowest bit (nvml.h, NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_*)."""

_CONFIGURATION = (("none", 1), ("incorrect_sysguid", 2), ("incorrect_chassis_sn", 3), ("no_partition", 4), ("insufficient_nvlinks", 5),
                  ("incompatible_gpu_fw", 6), ("invalid_location", 7), ("gpu_state_invalid", 8))  # fmt: skip
_PATTERNS = (("idle", 0), ("busy", 1), ("burst", 2), ("steady", 3))
_SUMMARY = (("not_supported", 0), ("healthy", 1), ("unhealthy", 2), ("limited_capacity", 3))

_FAILURES = (("healthy", 0), ("lost", 1), ("fallen_off_bus", 2), ("ecc_uncorrectable", 3))

_SPECIAL: tuple[Key, ...] = (
    Key("pci.bus_id", "bus_id"),
    Key("fan.speed_percent", "percent"),
    Key("fan.target_speed_percent", "percent"),
    Key("fan.controls", "fan_controls"),
    Key("fan.min_speed_percent", "ratio"),
    Key("fan.max_speed_percent", "ratio"),
    Key("hostname", "hostname"),
    Key("clocks.locked_graphics", "mhz_range"),
    Key("clocks.locked_memory", "mhz_range"),
    Key("clocks.graphics_current", "uint"),
    Key("clocks.sm_current", "uint"),
    Key("clocks.memory_current", "uint"),
    Key("clocks.offsets.graphics.set_mhz", "int"),
    Key("clocks.offsets.memory.set_mhz", "int"),
    Key("supported_clocks.memory_clocks", "clock_table"),
    Key("processes", "processes"),
    Key("monitoring", "flag"),
    Key("accounting.terminated", "accounted"),
    Key("retired_pages.single_bit", "pages"),
    Key("retired_pages.double_bit", "pages"),
    Key("retired_pages.single_bit_retirement", "pages"),
    Key("retired_pages.double_bit_retirement", "pages"),
    Key("power.current_draw_mw", "uint"),
    Key("power.smoothing.supported", "flag"),
    Key("power.smoothing.state", "word", (("disabled", 0), ("enabled", 1))),
    Key("power.smoothing.active_profile", "preset"),
    Key("power.smoothing.profiles", "presets"),
    Key("power.workload_power_profiles.supported", "workload_profiles"),
    Key("power.workload_power_profiles.requested", "numbers"),
    Key("mig.max_gpu_instances", "uint"),
    Key("nvlink.bw_mode.mode", "bw_mode"),
    Key("nvlink.low_power_threshold", "link_threshold"),
    Key("nvlink_error.rate", "fraction"),
    Key("nvlink_error.links", "links"),
    Key("nvlink_error.cleared", "instants"),
    Key("fabric.cluster_uuid", "uuid"),
    Key("fabric.health_summary", "word", (("auto", -1), *_SUMMARY)),
    Key("fabric.health_mask", "uint"),
    Key("fabric.health.incorrect_configuration", "word", _CONFIGURATION),
    Key("failure.mode", "word", _FAILURES),
    Key("failure.after_calls", "uint", bits=64),
    Key("failure.probability", "probability"),
    Key("failure.seed", "uint", bits=64),
    Key("failure.xid.code", "uint"),
    Key("encoder_stats.sessions", "encoder_sessions"),
    Key("fbc_stats.sessions", "fbc_sessions"),
    Key("dynamic_metrics.seed", "uint", bits=64),
    Key("dynamic_metrics.temperature.base_c", "uint"), Key("dynamic_metrics.temperature.variance_c", "uint"),
    Key("dynamic_metrics.temperature.ramp_c", "uint"), Key("dynamic_metrics.temperature.ramp_period_sec", "fraction"),
    Key("dynamic_metrics.power.base_mw", "uint"), Key("dynamic_metrics.power.variance_mw", "uint"),
    Key("dynamic_metrics.utilization.pattern", "word", _PATTERNS), Key("dynamic_metrics.utilization.burst_period_sec", "fraction"),
    Key("dynamic_metrics.utilization.gpu_min", "ratio"), Key("dynamic_metrics.utilization.gpu_max", "ratio"),
    Key("dynamic_metrics.utilization.memory_min", "ratio"), Key("dynamic_metrics.utilization.memory_max", "ratio"),
    *(Key(flag, "flag") for flag in (*fields.MARKS, *FLAGS)),
    *(Key(path, "health_flag") for path, _ in HEALTH if path != "fabric.health.incorrect_configuration"),
)

_MODES = frozenset(("power.management_mode",))
"""Keys with two words of which the first stands for any other (ledger F02)."""
UCODES = ("mse", "netir", "netir_uphy", "netir_cln", "netir_dln")
"""Microcontrollers of a link in the order of their NVML_NVLINK_FIRMWARE_UCODE_TYPE_*, from 1 on."""

NODE: tuple[Key, ...] = (
    Key("nvlink.c2c_enabled", "flag"), Key("pcie_topology.root_complexes", "root_complexes"), Key("pcie_topology.cores_per_numa", "uint"),
    Key("nvlink.version", "uint"), Key("nvlink.links_per_gpu", "link_count"), Key("nvlink.bandwidth_per_link_mbps", "uint"),
    Key("nvlink.nvle_enabled", "flag"), Key("nvlink.bw_mode.scope", "text"), Key("nvlink.bw_mode.supported", "bw_modes"),
    Key("nvlink.bw_mode.mode", "bw_mode"), *(Key(f"nvlink.firmware.{name}", "text") for name in UCODES),
    Key("nvlink.links", "nvlinks"), Key("nvlink.device_links", "device_links"), Key("nvlink.switches", "switches"),
    Key("nvlink.defaults.state", "text"), Key("nvlink.defaults.duty_cycle", "probability"), Key("nvlink.defaults.counter_seed", "uint", bits=64),
    Key("nvlink.defaults.error_rate", "fraction"),
)  # fmt: skip
"""Keys of the node that every device of it is compiled from."""

WHOLE = frozenset((
    "compute_capability", "gsp_firmware", "gpu_operation_mode", "driver_model", "memory", "bar1_memory", "protected_memory", "pcie", "bridge_chip",
    "power", "thermal", "fan", "clocks", "voltage", "supported_clocks", "clocks_throttle_reasons", "utilization", "encoder_stats", "fbc_stats", "ecc",
    "repair", "retired_pages", "inforom", "remapped_rows", "display", "virtualization", "accounting", "fabric", "reset_status", "capabilities", "mig",
    "failure",
))  # fmt: skip
"""Blocks that a per-device entry replaces whole; every other block (pci, platform, states) merges key by key, scalars and lists replace."""


IDENTITY = frozenset(("uuid", "serial", "minor_number", "pci.bus_id"))
"""Keys that a GPU is known by, whether it answers or not."""


@functools.cache
def device_keys() -> dict[str, Key]:
    """Every key of a device by path."""
    found = {key.path: key for key in _SPECIAL}
    for name, definition in fields.device_fields().items():
        if definition.source is not None or name in found:
            continue
        if definition.words is not None:
            kind = "flag" if set(definition.words) == {"true", "false"} else "mode" if name in _MODES else "word"
            found[name] = Key(name, kind, tuple(definition.words.items()))
        else:
            kind = {"u64": "uint", "i64": "int", "string": "text", "bytes": "hex"}[definition.type]
            found[name] = Key(name, kind, (), definition.scale, definition.bits)
    return found


@functools.cache
def state_keys() -> frozenset[str]:
    """What ``states`` may name: keys and image fields, but no mark, which is no reading."""
    return (frozenset(device_keys()) | frozenset(fields.device_fields())) - frozenset(fields.MARKS)


def flatten(block: dict[str, object]) -> dict[str, object]:
    """Dotted key -> value of a device's mapping; a key whose kind is a list or mapping stays whole."""
    known = device_keys()
    flat: dict[str, object] = {}
    stack: list[tuple[str, object]] = [("", block)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict) and path not in known:
            stack.extend((f"{path}.{name}" if path else str(name), inner) for name, inner in value.items())
        elif path:
            flat[path] = value
    return flat
