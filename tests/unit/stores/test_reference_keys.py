"""Every key that the configuration reference names is one of the schema; the list is the reference's, not made from our tables."""

from __future__ import annotations

import pytest

from harness.stores.schema import kept, keys, model, wording

REFERENCE = """
version
system: driver_version nvml_version cuda_version cuda_version_major cuda_version_minor driver_branch hic
system.hic: id firmware_version
device: name brand serial board_part_number vbios_version hostname architecture num_gpu_cores performance_state persistence_mode compute_mode
device: addressing_mode excluded draining removed uuid minor_number index processes
device.compute_capability: major minor
device.memory: total_bytes reserved_bytes free_bytes used_bytes
device.bar1_memory: total_bytes free_bytes used_bytes
device.pci: device_id subsystem_id bus_id
device.pcie: max_link_gen current_link_gen max_link_width current_link_width replay_counter tx_throughput_kbps rx_throughput_kbps
device.platform: chassis_serial_number slot_number tray_index host_id peer_type module_id
device.power: management_supported management_mode default_limit_mw enforced_limit_mw min_limit_mw max_limit_mw current_draw_mw power_state
device.power: power_mizer_mode
device.power.workload_power_profiles: supported requested
device.power.workload_power_profiles.supported: id priority conflicts
device.power.smoothing: supported state active_profile profiles
device.power.smoothing.profiles: percent_tmp_floor ramp_up_rate_mw_per_s ramp_down_rate_mw_per_s ramp_down_hysteresis_ms
device.thermal: temperature_gpu_c temperature_memory_c shutdown_threshold_c slowdown_threshold_c max_operating_c target_temperature_c
device.fan: count speed_percent target_speed_percent max_speed_rpm min_speed_percent max_speed_percent controls
device.fan.controls: fan
device.clocks: graphics_current graphics_max graphics_app graphics_app_default sm_current sm_max memory_current memory_max memory_app
device.clocks: memory_app_default video_current video_max locked_graphics locked_memory offsets adaptive_clocking
device.clocks.locked_graphics: min_mhz max_mhz
device.clocks.locked_memory: min_mhz max_mhz
device.clocks.offsets.graphics: min_mhz max_mhz
device.clocks.offsets.memory: min_mhz max_mhz
device.supported_clocks.memory_clocks: freq_mhz graphics_clocks
device.clocks_throttle_reasons: gpu_idle applications_clocks_setting sw_power_cap hw_slowdown hw_thermal_slowdown hw_power_brake_slowdown
device.clocks_throttle_reasons: sync_boost sw_thermal_slowdown display_clocks_setting
device.clocks_throttle_reasons.counters: sw_power_cap_us sync_boost_us sw_thermal_slowdown_us hw_thermal_slowdown_us hw_power_brake_slowdown_us
device.utilization: gpu memory encoder decoder jpeg ofa
device.ecc: mode_current mode_pending default_mode
device.ecc.errors.volatile.single_bit: device_memory l1_cache l2_cache register_file texture_memory total
device.ecc.errors.volatile.double_bit: device_memory l1_cache l2_cache register_file texture_memory total
device.ecc.errors.aggregate.single_bit: device_memory l1_cache l2_cache register_file texture_memory total
device.ecc.errors.aggregate.double_bit: device_memory l1_cache l2_cache register_file texture_memory total
device.ecc.sram: volatile aggregate uncorrectable_sources threshold_exceeded
device.ecc.sram.volatile: correctable uncorrectable_parity uncorrectable_secded
device.ecc.sram.aggregate: correctable uncorrectable_parity uncorrectable_secded
device.ecc.sram.uncorrectable_sources: l2 sm microcontroller pcie other
device.ecc.dram_encryption: mode_current mode_pending
device.remapped_rows: correctable uncorrectable pending failure_occurred
device.remapped_rows.availability_histogram: max high partial low none
device.retired_pages: single_bit_retirement double_bit_retirement pending_blacklist pending_retirement
device.retired_pages.single_bit_retirement: count addresses
device.display: mode active
device.mig: mode_current mode_pending max_gpu_instances
device.virtualization: mode host_vgpu_mode vgpu
device.inforom: image_version oem_object ecc_object pwr_object
device.accounting: mode buffer_size terminated
device.accounting.terminated: pid gpu_util mem_util max_memory_mib time_ms
device.encoder_stats: session_count average_fps average_latency_us
device.fbc_stats: session_count average_fps average_latency_us
device.processes: pid type name used_memory_mib sm_util mem_util enc_util dec_util
device.gsp_firmware: mode version
device.gpu_operation_mode: current pending
device.driver_model: current pending
device.nvlink_error: rate links
device.fabric: cluster_uuid clique_id state health health_summary health_mask
device.fabric.health: degraded_bandwidth route_recovery route_unhealthy access_timeout_recovery incorrect_configuration
device.dynamic_metrics: temperature power utilization
device.dynamic_metrics.temperature: base_c ramp_c ramp_period_sec variance_c
device.dynamic_metrics.power: base_mw variance_mw
device.dynamic_metrics.utilization: pattern gpu_min gpu_max memory_min memory_max
device: features grace_superchip grace_cpu_pair
nvlink: version links_per_gpu bandwidth_per_link_mbps c2c_enabled multi_node nvle_enabled bw_mode firmware links switches defaults
nvlink.bw_mode: scope supported mode
nvlink.firmware: mse netir netir_uphy netir_cln netir_dln
nvlink.links: link state remote_device_type remote_pci_bus_id
nvlink.switches: bdf uuid device_id
nvlink.defaults: error_rate
pcie_topology.root_complexes: id numa_node devices
"""
"""Block, then its keys; ``device`` stands for ``device_defaults`` and each entry of ``devices``."""


def listed() -> list[tuple[str, str]]:
    """(block, key) of every key of the reference."""
    found = []
    for line in REFERENCE.split("\n"):
        block, _, names = line.partition(":") if ":" in line else ("", "", line)
        found += [(block, name) for name in names.split()]
    return found


@pytest.mark.parametrize(("block", "name"), listed())
def test_a_key_of_the_reference_is_one_of_the_schema(block: str, name: str) -> None:
    path = ("devices", *block.split(".")[1:]) if block.split(".", maxsplit=1)[0] == "device" else tuple(filter(None, block.split(".")))
    assert name in model.names_at(path)


UNITS = {
    "power.enforced_limit_mw": "mW",
    "clocks.sm_current": "MHz",
    "nvlink.bandwidth_per_link_mbps": "MB/s",
    "fan.max_speed_rpm": "rpm",
    "utilization.gpu": "%",
    "serial": "",
}


@pytest.mark.parametrize("path", UNITS)
def test_a_number_with_a_unit_says_which(path: str) -> None:
    assert wording.unit(path) == UNITS[path]


@pytest.mark.parametrize("key", [*keys.device_keys().values(), *kept.DEVICE, *keys.NODE, *kept.NODE], ids=lambda key: key.path)
def test_every_key_is_described_and_says_what_answers_from_it(key: keys.Key) -> None:
    said = wording.description(key.path)
    assert said.rstrip(".") != ""
    assert wording.status(key.path), key.path
