"""Which calls answer from a key: functions of the header, field ids and private slots, read from the tables that serve them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from harness.stores.schema import kept, keys
from harness.tables import linkids, serving
from mocklib import fields

_MOVED: Mapping[str, tuple[str, ...]] = {
    "temperature": ("thermal.temperature_gpu_c", "thermal.tlimit.margin_c"),
    "power": ("power.current_draw_mw", "power.average_draw_mw", "power.instant_draw_mw", "power.total_energy_consumption_mj"),
    "utilization": ("utilization.gpu", "utilization.memory"),
}
"""Block of ``dynamic_metrics`` -> the fields that it moves."""
_LINKS = ("nvlink.links", "nvlink.link_count", "nvlink.common_speed_mbps")
_FED: Mapping[str, tuple[str, ...]] = {
    "pci.bus_id": ("pci.domain", "pci.bus", "pci.device", "pci.function", "pci.bus_id", "pci.bus_id_legacy", "board_id"),
    "supported_clocks.memory_clocks": (
        "clocks.supported", *(f"clocks.envelope.{name}_{end}_mhz" for name in ("graphics", "memory") for end in ("min", "max")),
    ),
    "processes": ("processes.compute", "processes.graphics", "processes.mps", "processes.utilization", "accounting.processes"),
    "accounting.terminated": ("accounting.processes",),
    "power.workload_power_profiles.supported": (
        "power.workload_profiles.supported", "power.workload_profiles.enforced", "power.workload_profiles.offered",
    ),
    **dict.fromkeys((f"processes.{use}" for use in ("sm_util", "mem_util")), ("processes.utilization", "accounting.processes")),
    **dict.fromkeys((f"processes.{use}" for use in ("enc_util", "dec_util")), ("processes.utilization",)),
    **dict.fromkeys((f"processes.{part}" for part in ("accounted", "max_memory_mib")), ("accounting.processes",)),
    "fan.max_speed_rpm": ("fan.max_speed_rpm", "fan.speed_rpm"),
    "fan.speed_percent": ("fan.speed_percent", "fan.curve_percent", "fan.speed_rpm"),
    "fan.controls": ("fan.policies", "fan.duties", "fan.speed_percent"),
    **{f"clocks.{domain}_current": (f"clocks.{domain}_current", f"clocks.unlocked.{domain}_mhz") for domain in ("graphics", "sm", "memory")},
    "clocks.locked_graphics": ("clocks.locked_graphics.min_mhz", "clocks.locked_graphics.max_mhz", "clocks.graphics_current", "clocks.sm_current"),
    "clocks.locked_memory": ("clocks.locked_memory.min_mhz", "clocks.locked_memory.max_mhz", "clocks.memory_current"),
    "retired_pages.single_bit_retirement": ("retired_pages.single_bit",),
    "retired_pages.double_bit_retirement": ("retired_pages.double_bit",),
    "retired_pages.pending_blacklist": ("retired_pages.pending_retirement",),
    "nvlink.c2c_enabled": ("c2c_mode",),
    **dict.fromkeys(("nvlink.links_per_gpu", "nvlink.links", "nvlink.device_links", "nvlink.defaults.state"), _LINKS),
    "nvlink.switches": ("nvlink.links", "nvlink.switch_links"),
    "nvlink.bandwidth_per_link_mbps": ("nvlink.bandwidth_per_link_mbps", "nvlink.common_speed_mbps", "nvlink.bytes_per_second"),
    "nvlink.defaults.duty_cycle": ("nvlink.bytes_per_second",),
    "nvlink.defaults.counter_seed": ("nvlink.counter_seed",),
    "nvlink.defaults.error_rate": ("nvlink.error_rate",),
    "nvlink_error.rate": ("nvlink_error.injected",),
    **dict.fromkeys((f"nvlink.firmware.{name}" for name in keys.UCODES), ("nvlink.firmware",)),
    "nvlink.bw_mode.scope": ("nvlink.bw_mode.mode", "nvlink.bw_mode.supported", "nvlink.node_bw_mode.mode"),
    "nvlink.bw_mode.mode": ("nvlink.bw_mode.mode", "nvlink.node_bw_mode.mode"),
    "nvlink.bw_mode.supported": ("nvlink.bw_mode.supported", "nvlink.bw_mode.best", "nvlink.node_bw_mode.supported"),
    "pcie_topology.root_complexes": ("topology.root", "topology.numa_node", "topology.cpus"),
    "pcie_topology.cores_per_numa": ("topology.cpus",),
    "power.smoothing.supported": tuple(name for name in fields.device_fields() if name.startswith("power.smoothing.")),
    "power.smoothing.state": ("power.smoothing.enabled", "power.smoothing.floor_mw"),
    "power.smoothing.active_profile": ("power.smoothing.active_profile", "power.smoothing.floor_mw"),
    "power.smoothing.profiles": tuple(name for name in fields.device_fields() if name.startswith("power.smoothing.profiles.")),
    "power.workload_power_profiles.requested": ("power.workload_profiles.requested", "power.workload_profiles.enforced"),
    "mig.max_gpu_instances": ("mig.max_devices",),
    **dict.fromkeys(keys.FLAGS, ("clocks_throttle_reasons.mask",)),
    **{f"clocks_throttle_reasons.{reason}": ("clocks_throttle_reasons.mask", f"clocks_throttle_reasons.counters.{reason}_us")
       for reason in keys.COUNTED},
    **{key: _MOVED[key.split(".")[1]] for key in keys.device_keys() if key.startswith("dynamic_metrics.") and key != "dynamic_metrics.seed"},
    "dynamic_metrics.seed": tuple(field for moved in _MOVED.values() for field in moved),
    **{path: ("fabric.health_mask", "fabric.health_summary") for path, _ in keys.HEALTH},
}
"""Key -> the fields a derivation makes of it, where they have other names than the key."""

_SYSTEM: Mapping[str, str] = {
    "system.driver_version": "system.driver_version", "system.nvml_version": "system.nvml_version", "system.cuda_version": "system.cuda_version",
    "system.cuda_version_major": "system.cuda_version", "system.cuda_version_minor": "system.cuda_version",
    "system.driver_branch": "system.driver_branch", "system.init_status": "system.init_status",
    "system.hic": "system.hic",
}  # fmt: skip
_CALLED: Mapping[str, tuple[str, ...]] = {
    "system.num_devices": ("nvmlDeviceGetCount_v2",), "devices": ("nvmlDeviceGetCount_v2",), "index": ("nvmlDeviceGetIndex",),
    "state": ("nvmlDeviceGetHandleByIndex_v2",), "removed": ("nvmlDeviceGetCount_v2",),
    "draining": ("nvmlDeviceGetCount_v2", "nvmlDeviceQueryDrainState"),
    "excluded": ("nvmlDeviceGetCount_v2", "nvmlGetExcludedDeviceCount", "nvmlGetExcludedDeviceInfoByIndex"),
    "clock.mode": ("nvmlDeviceGetFieldValues",), "clock.at": ("nvmlDeviceGetFieldValues",),
    "recorded.at": ("nvmlDeviceGetFieldValues",),
}  # fmt: skip
"""Keys that a call answers from by their effect, not by a field: how many devices there are and are hidden, where they stand, what time it is."""


def fields_of(key: str) -> tuple[str, ...]:
    """The image fields that ``key`` (a dotted path) goes into."""
    if key in _SYSTEM:
        return (_SYSTEM[key],)
    found = _FED.get(key, ())
    return (key, *found) if key in fields.device_fields() and key not in found else found


def of_key(key: str) -> tuple[str, ...]:
    """What answers from ``key``: functions, ``NVML_FI_...`` names and ``slot NAME``, none for one that is kept only."""
    if key in kept.DESCRIPTIVE or key in kept.UNREAD:
        return ()
    return _CALLED.get(key) or tuple(dict.fromkeys(reader for field in fields_of(key) for reader in of_field(field)))


def of_field(field: str) -> tuple[str, ...]:
    """What answers from an image field."""
    return (*fields.readers().get(field, ()), *_of_driver().get(field, ()))


@functools.cache
def _of_driver() -> Mapping[str, tuple[str, ...]]:
    """Field -> the field ids and slots that answer from it, on the drivers that have them."""
    found: dict[str, dict[str, None]] = {}
    for field, name in _served():
        found.setdefault(field, {})[name] = None
    return {field: tuple(names) for field, names in found.items()}


def _served() -> Iterator[tuple[str, str]]:
    for name, answer in serving.fieldvalues().items():
        yield from ((field, name) for _, field in answer.scopes)
    yield from ((answer.field, answer.name) for answer in linkids.answers())
    yield from ((field, f"slot {name}") for name, field in serving.slot_fields().items())
