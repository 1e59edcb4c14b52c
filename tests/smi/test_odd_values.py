"""Values that no capture can show, printed by the real binaries and by builtin alike: rounding, sums, differences, gates, lists, states."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.stages.render import serving
from harness.stages.smi import run_smi
from harness.stores.workspace import Workspace

TIMESTAMP = re.compile(r"<timestamp>.*</timestamp>")
VERSIONS = {470: "470.256.02", 525: "525.147.05", 535: "535.274.02", 550: "550.163.01", 555: "555.58.02"}

ODD = """
version: "1.0"
system: {{driver_version: "{version}", cuda_version_major: 12, cuda_version_minor: 7}}
device_defaults:
  name: A & B <c>
  brand: nvidia_cloud_gaming
  architecture: {architecture}
  serial: ""
  uuid: GPU-1
  board_part_number: ""
  vbios_version: "1&2"
  persistence_mode: disabled
  addressing_mode: ats
  module_id: 4294967295
  multi_gpu_board: true
  pci: {{bus_id: "0001:af:1f.7", device_id: 0xABCDEF01, subsystem_id: 0x1}}
  pcie: {{max_link_gen: 6, current_link_gen: 3, device_max_link_gen: 5, host_max_link_gen: 4, max_link_width: 32, current_link_width: 1,
    replay_counter: 4294967295, replay_rollover_counter: 7, tx_throughput_kbps: 4294967295, rx_throughput_kbps: 1001, atomics_outbound: 37}}
  inforom: {{image_version: "G1<", ecc_object: "2", bbx_flush: {{timestamp: 1787237943740999, duration_us: 1}}}}
  memory: {{total_bytes: 85520809983, reserved_bytes: 503316481, used_bytes: 1048575, free_bytes: 85016444927}}
  bar1_memory: {{total_bytes: 137438953471, used_bytes: 1572864, free_bytes: 1}}
  protected_memory: {{total_bytes: 1048577, used_bytes: 1, free_bytes: 1048575}}
  power: {{power_state: P12, management_mode: enabled, current_draw_mw: 400, average_draw_mw: 68575, instant_draw_mw: 68565,
    enforced_limit_mw: 999995, requested_limit_mw: 1005, default_limit_mw: 400, min_limit_mw: 0, max_limit_mw: 4294967295,
    memory: {{average_draw_mw: 400}}, module: {{average_draw_mw: 400, enforced_limit_mw: 49685}}}}
  clocks: {{graphics_current: 0, sm_current: 4294967295, memory_current: 1, graphics_max: 5, memory_deferred_khz: 1999, auto_boost: enabled,
    auto_boost_default: disabled}}
  voltage: {{graphics_uv: 912567}}
  clocks_throttle_reasons: {{gpu_idle: true, sync_boost: true}}
  performance_state: P15
  utilization: {{gpu: 101, memory: 7, encoder: 3, decoder: 4, jpeg: 5, ofa: 6}}
  fan: {{speed_percent: "100"}}
  ecc: {{mode_current: enabled, mode_pending: disabled,
    errors: {{volatile: {{single_bit: {{device_memory: 3, l1_cache: 4, register_file: 5}}, double_bit: {{device_memory: 6, total: 60}}}},
      aggregate: {{single_bit: {{cbu: 8}}}}}},
    sram: {{volatile: {{correctable: 21, uncorrectable: 22, uncorrectable_parity: 23}}, aggregate: {{uncorrectable_secded: 24}},
      threshold_exceeded: true,
      uncorrectable_sources: {{microcontroller: 31, pcie: 32}}}}}}
  retired_pages: {{single_bit: {{count: 1, addresses: [4096]}}, double_bit: {{count: 2, addresses: [1, 18446744073709551615],
    timestamps: [0, 4294967296]}}, pending_retirement: true}}
  remapped_rows: {{correctable: 1, uncorrectable: 2, pending: true, failure_occurred: false,
    availability_histogram: {{max: 1, high: 2, partial: 3, low: 4, none: 5}}}}
  thermal: {{temperature_gpu_c: 1, temperature_memory_c: 2, shutdown_threshold_c: 200, slowdown_threshold_c: 3, max_operating_c: 4,
    memory_max_operating_c: 5, target_temperature_c: 6, target_min_c: 7, target_max_c: 8{tlimit}}}
  gpu_operation_mode: {{current: low_dp, pending: compute}}
  virtualization: {{mode: vgpu, host_vgpu_mode: sriov}}
  compute_mode: exclusive_process
  display: {{mode: enabled, active: enabled}}
  accounting: {{mode: enabled, terminated: [{{pid: 9, time_ms: 3}}, {{pid: 3, gpu_util: 100, mem_util: 31, max_memory_mib: 17592186044415,
    time_ms: 18446744073709551615}}]}}
  processes: [{{pid: 9, sm_util: 5, mem_util: 4, used_memory_mib: 3, max_memory_mib: 12, name: "<x>&"}}, {{pid: 7, type: G, name: "y"}},
    {{pid: 5, accounted: false}}]
  supported_clocks: {{memory_clocks: [{{freq_mhz: 7, graphics_clocks: [3, 2]}}, {{freq_mhz: 5, graphics_clocks: []}}]}}
  states: {{encoder_stats.session_count: no_permission, fbc_stats.session_count: unknown_error, clocks.video_current: gpu_lost,
    minor_number: deprecated, clocks_throttle_reasons.hw_slowdown: not_supported, clocks.graphics_app: reset_required}}
devices: [{{index: 0}}]
"""


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    monkeypatch.setenv("NVPARITY_CACHE", str(tmp_path / "cache"))

    def make(version: str, architecture: str, tlimit: str) -> Path:
        path = tmp_path / "odd.yaml"
        path.write_text(ODD.format(version=version, architecture=architecture, tlimit=tlimit), "utf-8")
        return path

    return make


@pytest.mark.parametrize("architecture", ["pascal", "turing", "ampere", "hopper"])
@pytest.mark.parametrize("branch", VERSIONS)
def test_odd_values_are_printed_as_the_binary_prints_them(
    served, smi_binary, library_path: Path, repository: Path, branch: int, architecture: str
) -> None:
    tlimit = ", tlimit: {margin_c: -3, shutdown_c: -8, slowdown_c: 0, max_operating_c: 9}" if architecture == "hopper" else ""
    profile, space = served(VERSIONS[branch], architecture, tlimit), Workspace.find(repository)
    printed = run_smi(smi_binary(branch), ("-q", "-x"), library=library_path, variables={"NVPARITY_IMAGE": str(serving.image_of(profile, space))})
    assert printed.status == 0
    real, builtin = (TIMESTAMP.sub("", text.decode("latin-1"), count=1) for text in (printed.stdout, serving.render(profile, space, "q-x").data))
    difference = "\n".join(difflib.unified_diff(real.splitlines(), builtin.splitlines(), "binary", "builtin", lineterm="", n=0))
    assert difference == ""
