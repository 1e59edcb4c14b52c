"""Ledger L, M, N, R and U, as far as they are read: ECC, repair, InfoROM, remapped rows, modes, accounting, processes, field values."""

from __future__ import annotations

import pytest

from tests.spec import serving
from tests.spec.serving import Case, Node

D = "nvmlDevice"
ON = "ecc: {mode_current: enabled, mode_pending: enabled, default_mode: enabled"
COUNTS = (f"architecture: ampere, {ON}, errors: {{volatile: {{single_bit: {{total: 3, device_memory: 1, l1_cache: 4, l2_cache: 5, register_file: 6, "
          "texture_memory: 7}, "
          "double_bit: {total: 2, device_memory: 8, l1_cache: 14, l2_cache: 15, register_file: 16, texture_memory: 17}}, "
          "aggregate: {single_bit: {total: 30, device_memory: 10, l1_cache: 24, l2_cache: 25, register_file: 26, texture_memory: 27}, "
          "double_bit: {total: 20, device_memory: 80, l1_cache: 34, l2_cache: 35, register_file: 36, texture_memory: 37}}}}")  # fmt: skip
SRAM = (f"{ON}, sram: {{volatile: {{correctable: 1, uncorrectable_parity: 2, uncorrectable_secded: 3}}, "
        "aggregate: {correctable: 4, uncorrectable_parity: 5, uncorrectable_secded: 6}, "
        "uncorrectable_sources: {l2: 7, sm: 8, microcontroller: 9, pcie: 10, other: 11}, threshold_exceeded: true}}")  # fmt: skip
STATUS = f"{D}GetSramEccErrorStatus status.version=1"
VOLATILE, AGGREGATE, SOURCES = "ecc_errors/volatile", "ecc_errors/aggregate", "ecc_errors/aggregate_uncorrectable_sram_sources"
ROWS = ("remapped_rows: {correctable: 1, uncorrectable: 2, pending: true, failure_occurred: true, correctable_inactive: 3, "
        "uncorrectable_inactive: 4, "
        "availability_histogram: {max: 640, high: 5, partial: 4, low: 3, none: 2}}")  # fmt: skip
INFOROM = "inforom: {image_version: G506.0200.00.04, oem_object: '2.0', ecc_object: '6.16', pwr_object: '1.0'}"
PROCESSES = ("processes: [{pid: 100, type: C, name: /bin/a, used_memory_mib: 300, sm_util: 5, mem_util: 6, enc_util: 7, dec_util: 8}, "
             "{pid: 200, type: G, name: /bin/b, used_memory_mib: 20}, {pid: 300, type: M, name: /bin/c, used_memory_mib: 10}]")  # fmt: skip
ACCOUNTS = ("accounting: {mode: enabled, buffer_size: 100, terminated: [{pid: 7, gpu_util: 1, mem_util: 2, max_memory_mib: 3, time_ms: 4}, "
            "{pid: 7, gpu_util: 11, mem_util: 12, max_memory_mib: 13, time_ms: 14}]}")  # fmt: skip


def counter(kind: int, scope: int, place: int) -> str:
    return f"{D}GetMemoryErrorCounter errorType={kind} counterType={scope} locationType={place}"


def running(pid: int, mib: int) -> dict[str, int]:
    return {"pid": pid, "usedGpuMemory": mib << 20, "gpuInstanceId": 0xFFFFFFFF, "computeInstanceId": 0xFFFFFFFF}


CASES = [
    Case("L01", f"{ON}}}", {f"{D}GetEccMode": {"current": 1}, "field 1": 1}, {"ecc_mode/current_ecc": "Enabled"}),
    Case("L02", "ecc: {mode_current: enabled, mode_pending: disabled}", {f"{D}GetEccMode": {"pending": 0}, "field 2": 0},
         {"ecc_mode/pending_ecc": "Disabled"}),
    Case("L03", f"{ON}}}", {f"{D}GetDefaultEccMode": {"defaultMode": 1}}),
    Case("L04", COUNTS, {f"{D}GetTotalEccErrors errorType={kind} counterType={scope}": {"eccCounts": count}
                         for kind, scope, count in ((0, 0, 3), (1, 0, 2), (0, 1, 30), (1, 1, 20))} | {"field 3": 3, "field 4": 2, "field 5": 30,
                         "field 6": 20}),
    Case("L05", COUNTS, {counter(0, 0, 2): {"count": 1}, counter(1, 0, 2): {"count": 8}, counter(0, 1, 2): {"count": 10}, counter(1, 1,
         2): {"count": 80}, "field 11": 1, "field 12": 8, "field 22": 10, "field 23": 80},
         {f"{VOLATILE}/dram_correctable": "1", f"{VOLATILE}/dram_uncorrectable": "8", f"{AGGREGATE}/dram_correctable": "10",
         f"{AGGREGATE}/dram_uncorrectable": "80"}),
    Case("L06", COUNTS, {counter(0, 0, place): {"count": count} for place, count in ((0, 4), (1, 5), (3, 6), (4, 7), (5, 0), (6, 0))}),
    *(Case("L06", COUNTS, {counter(kind, scope, place): {"count": count} for place, count in
                           ((0, first), (1, first + 1), (3, first + 2), (4, first + 3), (5, 0), (6, 0))})
      for kind, scope, first in ((1, 0, 14), (0, 1, 24), (1, 1, 34))),
    Case("L06", COUNTS, {f"field {number}": count for number, count in
                         ((7, 4), (8, 14), (9, 5), (10, 15), (13, 6), (14, 16), (15, 7), (16, 17), (18, 24), (19, 34), (20, 25), (21, 35), (24, 26),
                          (25, 36), (26, 27), (27, 37))}),
    Case("L07", COUNTS, {f"{D}GetDetailedEccErrors errorType=0 counterType=0":
                         {"eccCounts.l1Cache": 4, "eccCounts.l2Cache": 5, "eccCounts.deviceMemory": 1, "eccCounts.registerFile": 6}}),
    Case("L08", f"architecture: ampere, {SRAM}", {STATUS: {"status.volatileCor": 1}, counter(0, 0, 7): {"count": 1}},
         {f"{VOLATILE}/sram_correctable": "1"}),
    Case("L08", "architecture: ampere, ecc: {mode_current: disabled, mode_pending: disabled}", {STATUS: 3}, {f"{VOLATILE}/sram_correctable": "N/A"}),
    Case("L09", f"architecture: ampere, {SRAM}", {STATUS: {"status.volatileUncParity": 2, "status.volatileUncSecDed": 3}, counter(1, 0,
         7): {"count": 5}},
         {f"{VOLATILE}/sram_uncorrectable_parity": "2", f"{VOLATILE}/sram_uncorrectable_secded": "3"}),
    Case("L10", f"architecture: ampere, {SRAM}", {STATUS: {"status.aggregateCor": 4, "status.aggregateUncParity": 5, "status.aggregateUncSecDed": 6},
         counter(0, 1, 7): {"count": 4}, counter(1, 1, 7): {"count": 11}},
         {f"{AGGREGATE}/sram_correctable": "4", f"{AGGREGATE}/sram_uncorrectable_parity": "5", f"{AGGREGATE}/sram_uncorrectable_secded": "6"}),
    Case("L11", f"architecture: ampere, {SRAM}", {STATUS: {f"status.aggregateUncBucket{name}": count for name, count in
         (("L2", 7), ("Sm", 8), ("Mcu", 9), ("Pcie", 10), ("Other", 11))}},
         {f"{SOURCES}/sram_{name}": str(count) for name, count in (("l2", 7), ("sm", 8), ("microcontroller", 9), ("pcie", 10), ("other", 11))}),
    *(Case(row, f"architecture: turing, {SRAM}", {}, {f"{VOLATILE}/sram_uncorrectable": "5", f"{AGGREGATE}/sram_uncorrectable": "11",
           f"{VOLATILE}/sram_uncorrectable_parity": None, f"{SOURCES}/sram_l2": None, f"{AGGREGATE}/sram_threshold_exceeded": None})
      for row in ("L09", "L10", "L11", "L12")),
    Case("L12", f"architecture: ampere, {SRAM}", {STATUS: {"status.bThresholdExceeded": 1}}, {f"{AGGREGATE}/sram_threshold_exceeded": "Yes"}),
    Case("L13", f"architecture: ampere, {ON}}}", {STATUS: {"status.volatileCor": 0, "status.aggregateUncParity": 0}},
         {f"{VOLATILE}/sram_correctable": "0"}),
    Case("L14", f"architecture: ampere, {ROWS}", {f"{D}GetRepairStatus repairStatus.version=1": {"repairStatus.bChannelRepairPending": 1,
         "repairStatus.bTpcRepairPending": 0}},
         {"ecc_errors/channel_repair_pending": "Yes", "ecc_errors/tpc_repair_pending": "No"}),
    Case("L14", "architecture: turing", {f"{D}GetRepairStatus repairStatus.version=1": 3}),
    *(Case("L15", f"architecture: hopper, {keys}", {f"{D}GetUnrepairableMemoryFlag_v1": {"unrepairableMemoryStatus.bUnrepairableMemory": flag}},
         driver="590.44.01")
      for keys, flag in ((ROWS, 1), (SRAM, 1), (f"{ON}}}", 0))),
    Case("L15", f"architecture: ampere, {ROWS}", {f"{D}GetUnrepairableMemoryFlag_v1": 3}, driver="590.44.01"),
    *(Case("L16", f"architecture: {name}, {keys}", {f"{D}GetSramUniqueUncorrectedEccErrorCounts": said}, driver="590.44.01") for name, keys, said in (
        ("hopper", SRAM, 3), ("blackwell", SRAM.replace("mode_current: enabled", "mode_current: disabled"), 3),
        ("blackwell", SRAM, {"errorCounts.entryCount": 5}), ("blackwell", f"{ON}}}", {"errorCounts.entryCount": 0}))),
    *(Case("L19", f"architecture: blackwell, ecc: {{dram_encryption: {{mode_current: {now}, mode_pending: {then}}}}}",
           {f"{D}GetDramEncryptionMode": {"current.encryptionState": int(now == "enabled"), "pending.encryptionState": int(then == "enabled")}},
           {"dram_encryption_mode/current_dram_encryption": now.capitalize(), "dram_encryption_mode/pending_dram_encryption": then.capitalize()})
      for now, then in (("enabled", "disabled"), ("disabled", "enabled"))),
    *(Case("L19", f"architecture: {name}", {f"{D}GetDramEncryptionMode": 3}, {"dram_encryption_mode/current_dram_encryption": "N/A"})
      for name in ("hopper", "blackwell")),
    *(Case(row, keys, {f"{D}ValidateInforom": said, f"{D}GetInforomConfigurationChecksum": checksum})
      for row in ("L22", "L23") for keys, said, checksum in ((INFOROM, 0, 0), ("", 3, 3))),
    Case("L20", INFOROM, {f"{D}GetInforomImageVersion": {"version": "G506.0200.00.04"}}, {"inforom_version/img_version": "G506.0200.00.04"}),
    Case("L20", "", {f"{D}GetInforomImageVersion": 3}, {"inforom_version/img_version": "N/A"}),
    Case("L21", INFOROM, {f"{D}GetInforomVersion object={kind}": {"version": text} for kind, text in ((0, "2.0"), (1, "6.16"), (2, "1.0"))},
         {"inforom_version/oem_object": "2.0", "inforom_version/ecc_object": "6.16", "inforom_version/pwr_object": "1.0"}),
    Case("L21", "inforom: {image_version: G5}", {f"{D}GetInforomVersion object=2": 3}, {"inforom_version/pwr_object": "N/A"}),
    Case("L25", "", {f"{D}GetLastBBXFlushTime": 3}, {"inforom_bbx_flush/latest_timestamp": "N/A", "inforom_bbx_flush/latest_duration": "N/A"}),
    Case("L25", "inforom: {image_version: G5, bbx_flush: {timestamp: 1767323045, duration_us: 250}}",
         {f"{D}GetLastBBXFlushTime": {"timestamp": 1767323045, "durationUs": 250}}),
    Case("L26", "retired_pages: {single_bit_retirement: {count: 1, addresses: [4096]}, double_bit_retirement: {count: 0}, pending_blacklist: true}",
         {f"{D}GetRetiredPages cause=0": {"addresses": [4096]}, f"{D}GetRetiredPages_v2 cause=0": {"addresses": [4096]},
         f"{D}GetRetiredPages cause=1": {"pageCount": 0},
          f"{D}GetRetiredPagesPendingStatus": {"isPending": 1}},
         {"retired_pages/multiple_single_bit_retirement/retired_count": "1", "retired_pages/double_bit_retirement/retired_count": "0",
         "retired_pages/pending_retirement": "Yes"}),
    Case("L26", "retired_pages: {single_bit: {count: 3}, double_bit: {count: 0}, pending_retirement: false}",
         {"field 29": 3, "field 30": 0, "field 31": 0, f"{D}GetRetiredPages cause=0": 3}, driver="535.274.02"),
    Case("L26", "retired_pages: {double_bit: {count: 2, addresses: [4096, 8192]}, pending_retirement: true}",
         {"field 29": "code 3", "field 30": 2, "field 31": 1, f"{D}GetRetiredPages cause=0": 3,
          f"{D}GetRetiredPages_v2 cause=1": {"addresses": [4096, 8192]}}),
    Case("L26", "architecture: blackwell",
         {f"{D}GetRetiredPages cause=0": 3, "field 29": "code 3", "field 30": "code 3", "field 31": "code 3"},
         {"retired_pages/pending_retirement": "N/A"}),
    Case("M01", f"architecture: ampere, {ROWS}", {f"{D}GetRemappedRows": {"corrRows": 1}, "field 142": 1}, {"remapped_rows/remapped_row_corr": "1"}),
    Case("M01", "architecture: turing", {f"{D}GetRemappedRows": 3}, {"remapped_rows": "N/A"}),
    Case("M02", f"architecture: ampere, {ROWS}", {f"{D}GetRemappedRows": {"uncRows": 2}, "field 143": 2}, {"remapped_rows/remapped_row_unc": "2"}),
    Case("M03", f"architecture: ampere, {ROWS}", {f"{D}GetRemappedRows": {"isPending": 1}, "field 144": 1},
         {"remapped_rows/remapped_row_pending": "Yes"}),
    Case("M04", f"architecture: ampere, {ROWS}", {f"{D}GetRemappedRows": {"failureOccurred": 1}, "field 145": 1},
         {"remapped_rows/remapped_row_failure": "Yes"}),
    Case("M05", f"architecture: ampere, {ROWS}", {f"{D}GetRowRemapperHistogram": {"values.max": 640, "values.high": 5, "values.partial": 4,
         "values.low": 3, "values.none": 2}},
         {f"remapped_rows/row_remapper_histogram/row_remapper_histogram_{name}": f"{count} bank(s)"
          for name, count in (("max", 640), ("high", 5), ("partial", 4), ("low", 3), ("none", 2))}),
    Case("M05", "architecture: ampere, remapped_rows: {correctable: 1}", {f"{D}GetRowRemapperHistogram": 3}),
    Case("M06", f"architecture: ampere, {ROWS}", {}, {"remapped_rows/remapped_row_corr_inactive": "3",
         "remapped_rows/remapped_row_unc_inactive": "4"}, driver="580.173.02"),
    Case("M06", f"architecture: ampere, {ROWS}", {"field 301": 3, "field 302": 4, f"{D}GetRemappedRows_v2":
         {"info.corrActiveRemaps": 1, "info.corrInactiveRemaps": 3, "info.uncActiveRemaps": 2, "info.uncInactiveRemaps": 4, "info.bPending": 1,
          "info.bFailureOccurred": 1}}, driver="595.91.07"),
    Case("M06", f"architecture: ampere, {ROWS}", {"field 301": "code 3", f"{D}GetRemappedRows_v2": 13}),
    *(Case("N01", f"display: {{mode: {word}, active: {word}}}", {f"{D}GetDisplayMode": {"display": number}}, {"display_mode": text},
         driver="570.148.08")
      for number, word, text in ((0, "disabled", "Disabled"), (1, "enabled", "Enabled"))),
    Case("N01", "display: {mode: enabled}", {}, {"display_mode": "Requested functionality has been deprecated"}, driver="595.91.07"),
    *(Case("N02", f"display: {{mode: {word}, active: {word}}}", {f"{D}GetDisplayActive": {"isActive": number}}, {"display_active": text})
      for number, word, text in ((0, "disabled", "Disabled"), (1, "enabled", "Enabled"))),
    *(Case("N03", f"persistence_mode: {word}", {f"{D}GetPersistenceMode": {"mode": number}}, {"persistence_mode": text})
      for number, word, text in ((0, "disabled", "Disabled"), (1, "enabled", "Enabled"))),
    *(Case("N04", f"compute_mode: {word}", {f"{D}GetComputeMode": {"mode": number}}, {"compute_mode": text})
      for number, word, text in ((0, "default", "Default"), (1, "exclusive_thread", "Exclusive_Thread"),
                                 (2, "prohibited", "Prohibited"), (3, "exclusive_process", "Exclusive_Process"))),
    *(Case("N05", f"addressing_mode: {word}", {f"{D}GetAddressingMode mode.version=1": {"mode.value": number}}, {"addressing_mode": text})
      for number, word, text in ((0, "none", "None"), (1, "hmm", "HMM"), (2, "ats", "ATS"))),
    Case("N05", "", {f"{D}GetAddressingMode mode.version=1": 3}, {"addressing_mode": "N/A"}),
    Case("N06", "states: {reset_status.reset_required: deprecated, reset_status.drain_and_reset_recommended: deprecated}",
         {"field 226": "code 26", "field 227": "code 26"},
         {f"gpu_reset_status/{name}": "Requested functionality has been deprecated" for name in ("reset_required", "drain_and_reset_recommended")},
         driver="570.148.08"),
    *(Case("N07", f"recovery_action: {word}", {"field 230": number}, {"gpu_recovery_action": text})
      for number, word, text in ((0, "none", "None"), (1, "reset", "Reset"))),
    Case("N07", "", {"field 230": "code 3"}, {"gpu_recovery_action": "N/A"}),
    Case("N08", "", {f"{D}GetCapabilities caps.version=1": {"caps.capMask": 0}}, {"capabilities/egm": "disabled"}),
    *(Case("N09", f"sparse_operation_mode: {word}", {}, {"sparse_operation_mode": text}) for word, text in (("disabled", "Disabled"), ("enabled",
         "Enabled"))),
    Case("N09", "", {}, {"sparse_operation_mode": "N/A"}),
    *(Case("R01", f"accounting: {{mode: {word}}}", {f"{D}GetAccountingMode": {"mode": number}}, {"accounting_mode": text})
      for number, word, text in ((0, "disabled", "Disabled"), (1, "enabled", "Enabled"))),
    Case("R02", ACCOUNTS, {f"{D}GetAccountingBufferSize": {"bufferSize": 100}}, {"accounting_mode_buffer_size": "100"}),
    Case("R02", "accounting: {mode: enabled}", {f"{D}GetAccountingBufferSize": {"bufferSize": 4000}}, {"accounting_mode_buffer_size": "4000"}),
    Case("R03", ACCOUNTS.replace("{pid: 7, gpu_util: 11", "{pid: 8, gpu_util: 11"), {f"{D}GetAccountingPids": {"pids": [7, 8]},
         f"{D}GetAccountingStats pid=7": {"stats.gpuUtilization": 1, "stats.memoryUtilization": 2, "stats.maxMemoryUsage": 3 << 20, "stats.time": 4,
         "stats.isRunning": 0}}),
    Case("R04", f"accounting: {{mode: enabled}}, {PROCESSES}", {f"{D}GetAccountingStats pid=100": {"stats.gpuUtilization": 5,
         "stats.maxMemoryUsage": 300 << 20, "stats.time": 0,
                                                                                                   "stats.isRunning": 1}}),
    Case("R05", ACCOUNTS, {f"{D}GetAccountingStats pid=7": {"stats.gpuUtilization": 11, "stats.time": 14}}),
    Case("R06", ACCOUNTS, {f"{D}GetAccountingStats pid=9": 6, f"{D}GetAccountingStats_v2 stats.version=1": 13}),
    Case("R06", "accounting: {mode: disabled}", {f"{D}GetAccountingStats pid=9": 3}),
    *(Case("R06", f"{ACCOUNTS}, mig: {{mode_current: {mig}}}", {f"{D}GetAccountingStats pid={pid}": code for pid, code in ((7, found), (9, none))} |
           {f"{D}GetAccountingPids": found}) for mig, found, none in (("enabled", 3, 3), ("disabled", 0, 6))),
    Case("R02", "accounting: {mode: enabled, buffer_size: 2, terminated: [{pid: 1}, {pid: 2}, {pid: 3}]}",
         {f"{D}GetAccountingPids": {"pids": [2, 3]}, f"{D}GetAccountingStats pid=1": 6}, {"accounted_processes/accounted_process_info[0]/pid": "2"}),
    Case("R09", f"accounting: {{mode: enabled}}, {PROCESSES}", {}, {"accounted_processes/accounted_process_info[0]/pid": "100",
                                                                    "accounted_processes/accounted_process_info[0]/gpu_util": "5 %"}),
    # a GPU of which memory is in use, as one that was claimed: nobody is made up who uses it
    Case("U19", "memory: {total_bytes: 1073741824, used_bytes: 536870912, free_bytes: 536870912}, utilization: {gpu: 90, memory: 50}",
         {f"{D}Get{kind}RunningProcesses_v3": {"infos": []} for kind in ("Compute", "Graphics", "MPSCompute")},
         {"fb_memory_usage/used": "512 MiB", "processes": ""}),
    *(Case(row, PROCESSES, {f"{D}GetComputeRunningProcesses_v3": {"infos": [running(100, 300)]},
         f"{D}GetGraphicsRunningProcesses_v3": {"infos": [running(200, 20)]},
                            f"{D}GetMPSComputeRunningProcesses_v3": {"infos": [running(300, 10)]}}) for row in ("R10", "R11", "R13")),
    *(Case(row, PROCESSES, {f"{D}Get{kind}RunningProcesses{version}": 0 for version in ("", "_v2", "_v3")})
      for row, kind in (("R15", "Compute"), ("R16", "Graphics"), ("R17", "MPSCompute"))),
    *(Case(row, PROCESSES, {f"{D}Get{kind}RunningProcesses_v3": {"infos": [running(pid, mib)]}})
      for row, kind, pid, mib in (("R15", "Compute", 100, 300), ("R16", "Graphics", 200, 20), ("R17", "MPSCompute", 300, 10))),
    Case("R12", PROCESSES, {"nvmlSystemGetProcessName pid=100": {"name": "/bin/a"}, "nvmlSystemGetProcessName pid=300": {"name": "/bin/c"},
         "nvmlSystemGetProcessName pid=9": 6},
         {"processes/process_info[0]/process_name": "/bin/a"}),
    Case("R12", f"processes: [{{pid: 5, name: {'n' * 4095}}}]", {"nvmlSystemGetProcessName pid=5 length=5000": {"name": "n" * 4095}},
         {"processes/process_info[0]/process_name": "n" * 4095}),
    Case("R12", "", {f"nvmlSystemGetProcessName pid={pid}": said for pid, said in ((7, {"name": "/bin/b"}), (3, {"name": "/bin/a"}), (4, 6))},
         devices="[{index: 0, processes: [{pid: 3, name: /bin/a}]}, {index: 1, processes: [{pid: 7, name: /bin/b}]}]"),
    Case("R18", PROCESSES, {f"{D}GetRunningProcessDetailList plist.version=1 plist.mode={mode}": {"plist.numProcArrayEntries": number}
                            for mode, number in ((0, 1), (1, 1), (2, 1), (3, 3))}),
    Case("R18", PROCESSES, {f"{D}GetRunningProcessDetailList plist.version=1 plist.mode=4": 2}),
    Case("R15", "processes: [{pid: 5, type: C, name: nvidia-cuda-mps-server}, {pid: 6, type: M, name: client}, {pid: 8}]",
         {f"{D}GetComputeRunningProcesses_v3": {"infoCount": 2}, f"{D}GetMPSComputeRunningProcesses_v3": {"infoCount": 1}}),
    Case("R20", PROCESSES, {}, {"processes/process_info[0]/pid": "100", "processes/process_info[0]/used_memory": "300 MiB",
         "processes/process_info[0]/gpu_instance_id": "N/A"}),
    Case("R23", "processes: []", {f"{D}GetComputeRunningProcesses_v3": {"infos": [], "infoCount": 0}}),
    Case("R24", PROCESSES, {f"{D}GetComputeRunningProcesses_v3": {"infos": []}}, devices="[{index: 0, processes: []}]"),
    Case("R24", PROCESSES, {f"{D}GetComputeRunningProcesses_v3": {"infos": [running(100, 300)]}}, devices="[{index: 0, name: X}]"),
    *(Case("Q01", f"virtualization: {{mode: {word}}}", {f"{D}GetVirtualizationMode": {"pVirtualMode": number}},
         {"gpu_virtualization_mode/virtualization_mode": text})
      for number, word, text in ((0, "none", "None"), (1, "passthrough", "Pass-Through"), (3, "host_vgpu", "Host VGPU"))),
    Case("Q02", "virtualization: {mode: host_vgpu, host_vgpu_mode: sriov}", {f"{D}GetHostVgpuMode": {"pHostVgpuMode": 1}},
         {"gpu_virtualization_mode/host_vgpu_mode": "SR-IOV"}),
    Case("Q02", "virtualization: {mode: none}", {f"{D}GetHostVgpuMode": 3}, {"gpu_virtualization_mode/host_vgpu_mode": "N/A"}),
    Case("Q03", "virtualization: {mode: none}", {}, {"gpu_virtualization_mode/vgpu_heterogeneous_mode": "N/A"}),
]  # fmt: skip


@serving.rows(CASES)
def test_a_board_of_these_keys_counts_and_is_set_so(case: Case, node: Node):
    node.hold(case)


@pytest.mark.spec("R14", "R19")
def test_each_process_has_one_sample_taken_now(node: Node):
    with node.serve(serving.compiled(PROCESSES)) as nvml:
        samples = nvml.call("nvmlDeviceGetProcessUtilization", nvml.device(0), {"lastSeenTimeStamp": 0}).out["utilization"]
    assert [samples[0][name] for name in ("pid", "smUtil", "memUtil", "encUtil", "decUtil")] == [100, 5, 6, 7, 8]
    assert [one["pid"] for one in samples] == [100, 200, 300]


@pytest.mark.spec("U21")
def test_each_field_value_has_its_own_code_type_and_time(node: Node):
    with node.serve(serving.compiled("thermal: {temperature_memory_c: 55}")) as nvml:
        known, unknown = nvml.field_values(nvml.device(0), [(82, 0), (300, 0)])
        assert (known.code, known.value, unknown.code) == (0, 55, 3)
        assert known.timestamp_us > 0
        assert nvml.call("nvmlDeviceGetFieldValues", nvml.device(0), {"valuesCount": 0}).code == 2


@pytest.mark.spec("U16")
def test_diagnostics_of_a_board_are_those_of_their_rows(node: Node):
    asked = {"GetBusType": {}, "GetLastBBXFlushTime": {}, "GetBridgeChipInfo": {}, "GetIrqNum": {}, "ReadWritePRM_v1": {}, "GetClkMonStatus": {},
             "GetCapabilities": {"caps.version": 1}, "GetPdi": {"pdi.version": 1}}  # fmt: skip

    def answers(keys: str):
        with node.serve(serving.compiled(keys)) as nvml:
            return {name: nvml.call(f"nvmlDevice{name}", nvml.device(0), given) for name, given in asked.items()}

    said = answers("architecture: ampere, pdi: 77")
    assert {name for name, answer in said.items() if answer.code == 3} == {"GetLastBBXFlushTime", "GetBridgeChipInfo", "GetIrqNum", "ReadWritePRM_v1"}
    assert {name: answer.code for name, answer in said.items() if answer.code not in (0, 3)} == {}
    assert said["GetBusType"].out == {"type": 2}
    assert (said["GetCapabilities"].out["caps.capMask"], said["GetPdi"].out["pdi.value"]) == (0, 77)
    assert (said["GetClkMonStatus"].out["status.bGlobalStatus"], said["GetClkMonStatus"].out["status.clkMonListSize"]) == (0, 0)
    assert answers("architecture: turing")["GetClkMonStatus"].code == 3
