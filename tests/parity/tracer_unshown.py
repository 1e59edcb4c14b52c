"""The fields of the image that no element of `-q -x` shows, on any driver, and what shows each of them."""

from __future__ import annotations

from mocklib import fields

ONLY_CALLED = frozenset((
    "bar1_memory.free_bytes", "clocks_throttle_reasons.supported_mask", "compute_capability.major", "compute_capability.minor", "ecc.default_mode",
    "fan.count", "gsp_firmware.default_mode", "gsp_firmware.mode", "memory.memory_bus_width",
    "mig.max_devices", "num_gpu_cores", "platform.module_id", "power.total_energy_consumption_mj", "hostname", "inforom.configuration_checksum",
    "fan.min_speed_percent", "fan.max_speed_percent", "power.power_mizer_mode", "clocks.adaptive_clocking",
    "encoder_stats.capacity_percent", "gpm.supported", "gpm.streaming",
    *(f"clocks.offsets.{domain}.{what}_mhz" for domain in ("graphics", "memory") for what in ("min", "max", "set")),
))  # fmt: skip
"""Fields that functions answer from and no element of `-q -x` shows; ``test_blind`` calls those functions."""
ONLY_HANDLED = frozenset((
    "fan.target_speed_percent", "fan.speed_rpm", "power.workload_profiles.supported", "processes.utilization",
    "encoder_stats.sessions", "fbc_stats.sessions", "gpm.pcie_tx_mib_per_sec", "gpm.pcie_rx_mib_per_sec",
    "topology.cpus", "topology.default_level", "topology.numa_node", "topology.root",
))  # fmt: skip
"""The same for functions written in C; ``tests/contract`` calls them."""
LINKS = frozenset(name for name in fields.device_fields() if name.startswith(("nvlink.", "nvlink_error.")))
"""What the `nvlink` views and their calls read; ``tests/contract/test_nvlink*`` and ``tests/smi/test_nvlink`` ask them."""
TUNED = frozenset(
    name for name in fields.device_fields()
    if name.startswith(("clocks.envelope.", "clocks.locked_", "clocks.unlocked.", "power.smoothing.")) and name != "power.smoothing.enabled"
) | {"clocks.monitor_faults", "fan.curve_percent", "fan.duties", "fan.max_speed_rpm", "fan.policies", "power.workload_profiles.offered"}  # fmt: skip
"""What setters write and go back to, and what power smoothing answers by field ids that no element asks; ``tests/contract/test_set_*`` ask them."""
INJECTED = frozenset(name for name in fields.device_fields() if name.startswith("failure."))
"""What an injector of failures is made of: no call reads it; ``tests/contract/test_failing`` holds it."""
ONLY_GATES = frozenset(("processes.graphics_listed",))
"""Fields that no element shows and a gate asks: what is printed hangs on them."""
OTHER_VIEWS = frozenset(("monitoring",))
"""Fields that no element of `-q -x` hangs on and other views do: pmon and dmon ask slot 72; ``tests/smi`` runs them."""
UNANSWERED = frozenset((
    "pci.function", "pcie.device_current_link_gen", "power.management_supported", "power.module.power_state", "retired_pages.pending_blacklist",
))  # fmt: skip
"""Fields no function answers from yet; ``test_blind`` holds this list, too."""
