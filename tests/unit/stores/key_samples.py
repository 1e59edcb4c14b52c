"""Two values for each kind of key, and a profile that gives one of them."""

from __future__ import annotations

from typing import Any

from harness.stores.schema.keys import NODE, UCODES, Key, device_keys

_OF_LINKS = (
    "nvlink.version", "nvlink.nvle_enabled", "nvlink.defaults.counter_seed", "nvlink.defaults.error_rate", "nvlink_error.rate", "nvlink_error.links",
    "nvlink_error.cleared", *(f"nvlink.firmware.{name}" for name in UCODES),
)  # fmt: skip
CONTEXT: dict[str, dict[str, Any]] = {
    "hostname": {"architecture": "blackwell"},
    "fan.max_speed_rpm": {"fan.speed_percent": "50"},
    "fan.min_speed_percent": {"fan.count": 2},
    "fan.max_speed_percent": {"fan.count": 2},
    "clocks.locked_graphics": {"clocks.graphics_current": 1000},
    "clocks.locked_memory": {"clocks.memory_current": 1000},
    "power.smoothing.state": {"power.smoothing.supported": True},
    "power.smoothing.active_profile": {"power.smoothing.supported": True},
    "power.smoothing.profiles": {"power.smoothing.supported": True},
    "fan.controls": {"fan.count": 2},
    "clocks.offsets.graphics.set_mhz": {"clocks.offsets.graphics.min_mhz": -200, "clocks.offsets.graphics.max_mhz": 300},
    "clocks.offsets.memory.set_mhz": {"clocks.offsets.memory.min_mhz": -200, "clocks.offsets.memory.max_mhz": 300},
    "dynamic_metrics.seed": {"dynamic_metrics.power.variance_mw": 50},
    "dynamic_metrics.temperature.ramp_period_sec": {"dynamic_metrics.temperature.ramp_c": 40},
    "dynamic_metrics.utilization.burst_period_sec": {"dynamic_metrics.utilization.pattern": "burst"},
    "fabric.health_mask": {"fabric.state": "completed"},
    "fabric.health_summary": {"fabric.state": "completed"},
    "pcie_topology.root_complexes": {"pci.bus_id": "0000:07:00.0"},
    "nvlink.low_power_threshold": {"architecture": "hopper", "nvlink.links_per_gpu": 4},
    "nvlink.defaults.state": {"nvlink.links_per_gpu": 4},
    "nvlink.switches": {"nvlink.links_per_gpu": 4},
    "nvlink.bandwidth_per_link_mbps": {"nvlink.links_per_gpu": 4},
    "nvlink.defaults.duty_cycle": {"nvlink.links_per_gpu": 4, "nvlink.bandwidth_per_link_mbps": 25000},
    **{path: {"nvlink.links_per_gpu": 4} for path in _OF_LINKS},
    "nvlink.bw_mode.mode": {"nvlink.bw_mode.scope": "device"},
    "nvlink.bw_mode.supported": {"nvlink.bw_mode.scope": "device"},
    "pcie_topology.cores_per_numa": {
        "pci.bus_id": "0000:07:00.0",
        "pcie_topology.root_complexes": [{"id": "pci0000:00", "numa_node": 0, "devices": ["0000:07:00.0"]}],
    },
}
"""What has to be given beside a key for it to be read."""
_CLOCKS = [{"freq_mhz": 1215, "graphics_clocks": [210, 1410]}]
_SAMPLES: dict[str, tuple[Any, Any]] = {
    "text": ("one", "two"),
    "hostname": ("node-1", "node-2"),
    "flag": (True, False),
    "mode": ("enabled", "sometimes"),
    "health_flag": (True, False),
    "uint": (3, 7),
    "int": (-3, 7),
    "ratio": (30, 70),
    "preset": (1, 2),
    "link_count": (12, 18),
    "fraction": (2.5, 7),
    "probability": (0.25, 1),
    "percent": ("40", 60),
    "hex": ("0x1f", "2e"),
    "uuid": ("11111111-2222-3333-4444-555555555555", "6" * 32),
    "bus_id": ("0000:0A:00.0", "00000001:0b:00.0"),
    "numbers": ([1, 5], [2]),
    "links": ([0, 1], [2]),
    "clock_table": (_CLOCKS, [*_CLOCKS, {"freq_mhz": 405, "graphics_clocks": []}]),
    "processes": ([{"pid": 7, "type": "M+C+G"}], [{"pid": 8, "name": "x", "used_memory_mib": 5, "sm_util": 3}]),
    "accounted": ([{"pid": 7}], [{"pid": 8, "gpu_util": 3, "mem_util": 2, "max_memory_mib": 1, "time_ms": 9}]),
    "encoder_sessions": ([{"id": 3, "pid": 7, "codec": "hevc", "width": 1920, "height": 1080, "average_fps": 60}], [{"id": 4}]),
    "fbc_sessions": ([{"id": 3, "type": "cuda", "flags": 1, "max_width": 3840, "max_height": 2160}], [{"id": 4, "display": 1}]),
    "pages": ({"count": 0}, {"count": 1, "addresses": [4096]}),
    "fan_controls": ([{"fan": 0}], [{"fan": 1, "policy": "manual", "speed_percent": 70}]),
    "mhz_range": ({"min_mhz": 300, "max_mhz": 600}, {"min_mhz": 300, "max_mhz": 900}),
    "workload_profiles": ([{"id": 0, "priority": 10, "conflicts": [1, 5]}], [{"id": 6, "priority": 40}]),
    "presets": ({1: {"percent_tmp_floor": 65.5, "ramp_up_rate_mw_per_s": 30000}}, {4: {"ramp_down_hysteresis_ms": 250}}),
    "mapping": ({"types": []}, {"instances": [{"type": "x"}]}),
    "mappings": ([], [{"profile": "1g.10gb"}]),
    "features": ({"fp8_support": True}, {}),
    "bw_mode": (1, 3),
    "bw_modes": ([0, 1], [1, 2]),
    "link_threshold": (500, 700),
    "instants": ([0, 5_000_000_000], [7]),
    "device_links": ([[{"link": 0}]], [{"index": 0, "links": [{"link": 0}, {"link": 2, "state": "down"}]}]),
    "nvlinks": ([{"link": 0, "state": "active", "remote_device_type": "GPU", "remote_pci_bus_id": "0000:0F:00.0"}], []),
    "switches": ([{"bdf": "0000:05:00.0", "uuid": "NVSwitch-0", "device_id": 0x22A310DE}], []),
    "root_complexes": ([{"id": "pci0000:00", "numa_node": 0, "devices": ["0000:07:00.0"]}], []),
}


def samples(key: Key) -> tuple[Any, Any]:
    """Two values the schema takes for ``key``; two that NVML tells apart where it reads the key."""
    if key.kind == "word":
        words = [entry for entry in key.words if entry[1] >= 0]  # a derived summary of no health is that of no health
        return words[0][0], next(word for word, number in words if number != words[0][1])
    return _SAMPLES[key.kind]


def nested(values: dict[str, Any]) -> dict[str, Any]:
    """Dotted keys as blocks."""
    made: dict[str, Any] = {}
    for path, value in values.items():
        *parents, name = path.split(".")
        level = made
        for block in parents:
            level = level.setdefault(block, {})
        level[name] = value
    return made


def document(key: Key, value: Any, *, node: bool = False) -> dict[str, Any]:
    """A profile of one device that gives ``key``; ``node``: a key of the node."""
    beside = CONTEXT.get(key.path, {})
    found: dict[str, Any] = {"version": "1.0", "system": {"driver_version": "580.105.08"}}
    of_node = {name: given for name, given in beside.items() if name in {known.path for known in NODE} - set(device_keys())}
    of_device = {name: given for name, given in beside.items() if name not in of_node}
    (of_node if node else of_device)[key.path] = _VALUES.get(key.path, {}).get(str(value), value)
    for name, block in nested(of_node).items():
        found[name] = {**found.get(name, {}), **block}
    return {**found, "devices": [{"index": 0, **nested(of_device)}]}


_VALUES = {
    "nvlink.bw_mode.scope": {"one": "device", "two": "system"},
    "nvlink.defaults.state": {"one": "active"},
    **{f"nvlink.firmware.{name}": {"one": "15:3:0", "two": "36:2014:4784"} for name in UCODES},
}
"""What a text has to be to say something."""
