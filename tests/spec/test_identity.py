"""Ledger B and E: system, identity, architecture, platform."""

from __future__ import annotations

import pytest

from harness.words.errors import InputError
from tests.spec import serving
from tests.spec.serving import Case, Node

D = "nvmlDevice"
PLATFORM = "chassis_serial_number: '1822725100200', slot_number: 21, tray_index: 12, host_id: 3, peer_type: switch_connected, module_id: 2"
INFO = f"{D}GetPlatformInfo platformInfo.version=2"
TWO = "[{index: 0}, {index: 1}]"
CASES = [
    Case("B02", "", {"nvmlSystemGetDriverVersion": {"version": "575.57.08"}}, {"/driver_version": "575.57.08"}, driver="575.57.08"),
    Case("B03", "", {"nvmlSystemGetNVMLVersion": {"version": "12.580.105.08"}}),
    Case("B03", "", {"nvmlSystemGetNVMLVersion": {"version": "12.999"}}, system="nvml_version: '12.999'"),
    Case("B03", "", {"nvmlSystemGetNVMLVersion": {"version": "13.580.105.08"}}, system="cuda_version_major: 13, cuda_version_minor: 0"),
    Case("B05", "", {"nvmlSystemGetCudaDriverVersion_v2": {"cudaDriverVersion": 12040}}, system="cuda_version_major: 0, cuda_version_minor: 0"),
    Case("B05", "", {"nvmlSystemGetCudaDriverVersion_v2": {"cudaDriverVersion": 11080}}, {"/cuda_version": "11.8"},
         system="cuda_version_major: 11, cuda_version_minor: 8"),
    Case("B05", "", {"nvmlSystemGetCudaDriverVersion_v2": {"cudaDriverVersion": 12040},
         "nvmlSystemGetCudaDriverVersion": {"cudaDriverVersion": 12040}},
         {"/cuda_version": "12.4"}),
    Case("B06", "", {"nvmlSystemGetDriverBranch": {"branchInfo.branch": "r580_00"}}),
    Case("B06", "", {"nvmlSystemGetDriverBranch": {"branchInfo.branch": "r580_99"}}, system="driver_branch: r580_99"),
    Case("B08", "", {"nvmlDeviceGetCount_v2": {"deviceCount": 3}}, {"/attached_gpus": "3"}, system="num_devices: 3"),
    Case("B08", "", {"nvmlDeviceGetCount_v2": {"deviceCount": 2}}, {"/attached_gpus": "2"}, devices=TWO),
    Case("B09", "name: NVIDIA Board X", {f"{D}GetName": {"name": "NVIDIA Board X"}}, {"product_name": "NVIDIA Board X"}),
    *(Case("B10", f"brand: {word}", {f"{D}GetBrand": {"type": number}}, {"product_brand": text})
      for word, number, text in (("nvidia", 14, "NVIDIA"), ("tesla", 2, "Tesla"), ("quadro", 1, "Quadro"), ("geforce", 5, "GeForce"),
                                 ("titan", 6, "Titan"), ("nvidia_rtx", 13, "NVIDIA RTX"))),
    Case("B11", "serial: '1320000000042'", {f"{D}GetSerial": {"serial": "1320000000042"}}, {"serial": "1320000000042"}),
    Case("B11", "", {f"{D}GetSerial": 3}, {"serial": "N/A"}),
    Case("B12", "board_part_number: 900-1", {f"{D}GetBoardPartNumber": {"partNumber": "900-1"}}, {"board_part_number": "900-1"}),
    Case("B12", "", {f"{D}GetBoardPartNumber": 3}, {"board_part_number": "N/A"}),
    Case("B13", "vbios_version: 92.00.1", {f"{D}GetVbiosVersion": {"version": "92.00.1"}}, {"vbios_version": "92.00.1"}),
    Case("B13", "", {f"{D}GetVbiosVersion": 3}, {"vbios_version": "N/A"}),
    Case("B15", "", {f"{D}GetUUID": {"uuid": "GPU-4d4f434b-0000-0000-0000-000000000000"},
         f"{D}GetHandleByUUID uuid=GPU-4d4f434b-0000-0000-0000-000000000000": 0,
                     f"{D}GetHandleByUUID uuid=GPU-4d4f434b-0000-0000-0000-00000000000f": 6}, {"uuid": "GPU-4d4f434b-0000-0000-0000-000000000000"}),
    Case("B15", "", {f"{D}GetUUID": {"uuid": "GPU-0000000a-0000-0000-0000-000000000001"}},
         devices="[{index: 0, uuid: GPU-0000000a-0000-0000-0000-000000000001}]"),
    Case("B16", "", {f"{D}GetIndex": {"index": 0}}),
    Case("B17", "", {f"{D}GetMinorNumber": {"minorNumber": 0}}, {"minor_number": "0"}),
    Case("B17", "", {f"{D}GetMinorNumber": {"minorNumber": 7}}, {"minor_number": "7"}, devices="[{index: 0, minor_number: 7}]"),
    *(Case("B18", f"architecture: {word!r}", {f"{D}GetArchitecture": {"arch": number}}, {"product_architecture": text})
      for word, number, text in (("kepler", 2, "Kepler"), ("maxwell", 3, "Maxwell"), ("pascal", 4, "Pascal"), ("volta", 5, "Volta"),
                                 ("turing", 6, "Turing"), ("ampere", 7, "Ampere"), ("ada", 8, "Ada Lovelace"), (" Ada_Lovelace ", 8, "Ada Lovelace"),
                                 ("Hopper", 9, "Hopper"), ("blackwell", 10, "Blackwell"), ("rubin", 13, None)) if text),
    Case("B18", "architecture: rubin", {f"{D}GetArchitecture": {"arch": 13}}),
    Case("B18", "", {f"{D}GetArchitecture": 3, f"{D}GetMarginTemperature marginTempInfo.version=1": 3, "field 193": "code 3",
                     f"{D}GetPowerMizerMode_v1": 3, f"{D}GetClkMonStatus": 3, f"{D}GetHostname_v1": 3,
                     f"{D}PowerSmoothingSetState state.state=1": 3}),
    Case("B19", "compute_capability: {major: 8, minor: 6}", {f"{D}GetCudaComputeCapability": {"major": 8, "minor": 6}}),
    Case("B19", "", {f"{D}GetCudaComputeCapability": 3}),
    Case("B20", "num_gpu_cores: 6912", {f"{D}GetNumGpuCores": {"numCores": 6912}}),
    Case("B20", "", {f"{D}GetNumGpuCores": 3}),
    Case("B21", "gsp_firmware: {mode: enabled, version: '580.1'}", {f"{D}GetGspFirmwareMode": {"isEnabled": 1, "defaultMode": 1},
                                                                    f"{D}GetGspFirmwareVersion": {"version": "580.1"}},
                                                                    {"gsp_firmware_version": "580.1"}),
    Case("B21", "gsp_firmware: {mode: disabled}", {f"{D}GetGspFirmwareMode": {"isEnabled": 0}, f"{D}GetGspFirmwareVersion": 3},
         {"gsp_firmware_version": "N/A"}),
    Case("B21", "gsp_firmware: {mode: enabled, version: '470.1'}", {f"{D}GetGspFirmwareMode": 13, f"{D}GetGspFirmwareVersion": 13}, driver="470.74"),
    *(Case("B22", f"gpu_operation_mode: {{current: {word}, pending: {word}}}", {f"{D}GetGpuOperationMode": {"current": number, "pending": number}},
           {"gpu_operation_mode/current_gom": text, "gpu_operation_mode/pending_gom": text})
      for word, number, text in (("all_on", 0, "All On"), ("compute", 1, "Compute"), ("low_dp", 2, "Low Double Precision"))),
    Case("B22", "", {f"{D}GetGpuOperationMode": 3}, {"gpu_operation_mode/current_gom": "N/A", "gpu_operation_mode/pending_gom": "N/A"}),
    Case("B23", "multi_gpu_board: true", {f"{D}GetMultiGpuBoard": {"multiGpuBool": 1}}, {"multigpu_board": "Yes"}),
    Case("B23", "multi_gpu_board: false", {f"{D}GetMultiGpuBoard": {"multiGpuBool": 0}}, {"multigpu_board": "No"}),
    # as a capture of a GTX 680 prints it
    Case("B23", "", {f"{D}GetMultiGpuBoard": 3}, {"multigpu_board": "N/A"}),
    # captures of boards whose device is not 0 have it unshifted, and no function
    Case("B25", "pci: {bus_id: '0002:0A:1E.0'}", {f"{D}GetBoardId": {"boardId": 0x20A1E}}, {"board_id": "0x20a1e"}),
    # 64 bits of the UUID's SHA-256: of another UUID others; as given where it is given
    Case("B26", "", {f"{D}GetPdi": {"pdi.value": 0x3855F38239C6ACF1}}, {"pdi": "0x3855f38239c6acf1"}),
    Case("B26", "pdi: 0x123", {f"{D}GetPdi": {"pdi.value": 0x123}}, {"pdi": "0x0000000000000123"}),
    Case("B27", "", {f"{D}GetDriverModel": 3, f"{D}GetDriverModel_v2": 3}, {"driver_model/current_dm": "N/A", "driver_model/pending_dm": "N/A"}),
    Case("B27", "driver_model: {current: wddm, pending: wdm}", {f"{D}GetDriverModel": {"current": 0, "pending": 1},
                                                               f"{D}GetDriverModel_v2": {"current": 0, "pending": 1}}),
    Case("E01", f"platform: {{{PLATFORM}}}", {INFO: {"platformInfo.chassisSerialNumber": b"1822725100200\0\0\0"}},
         {"platformInfo/chassis_serial_number": "1822725100200"}),
    Case("E01", "platform: {chassis_serial_number: '12345678901234567', module_id: 1}",
         {INFO: {"platformInfo.chassisSerialNumber": b"123456789012345\0"}}),
    Case("E01", "", {INFO: 3}, {f"platformInfo/{name}": "N/A" for name in ("chassis_serial_number", "slot_number", "tray_index", "host_id",
         "peer_type", "module_id", "gpu_fabric_guid")}),
    Case("E01", f"platform: {{{PLATFORM}}}", {INFO: 13}, driver="550.54.15"),
    Case("E01", f"platform: {{{PLATFORM}}}", {f"{D}GetPlatformInfo platformInfo.version={version}": code for version, code in
                                              ((0, 25), (1, 0), (2, 0), (3, 25))}),
    *(Case(row, "platform: {chassis_serial_number: A1, slot_number: 2, tray_index: 4, host_id: 1, peer_type: switch_connected}",
           {INFO: {"platformInfo.chassisSerialNumber": b"A1" + bytes(14), "platformInfo.slotNumber": 2, "platformInfo.trayIndex": 5,
                   "platformInfo.hostId": 1, "platformInfo.peerType": 1, "platformInfo.moduleId": 6}},
           devices="[{index: 0, platform: {module_id: 6, tray_index: 5}}]") for row in ("E01", "E02", "E03", "E04", "E05", "E06")),
    Case("E02", f"platform: {{{PLATFORM}}}", {INFO: {"platformInfo.slotNumber": 21},
         f"{D}GetPlatformInfo platformInfo.version=1": {"platformInfo.chassisPhysicalSlotNumber": 21}},
         {"platformInfo/slot_number": "21"}),
    Case("E03", f"platform: {{{PLATFORM}}}", {INFO: {"platformInfo.trayIndex": 12},
         f"{D}GetPlatformInfo platformInfo.version=1": {"platformInfo.computeSlotIndex": 12}},
         {"platformInfo/tray_index": "12"}),
    Case("E04", f"platform: {{{PLATFORM}}}", {INFO: {"platformInfo.hostId": 3}}, {"platformInfo/host_id": "3"}),
    Case("E05", f"platform: {{{PLATFORM}}}", {INFO: {"platformInfo.peerType": 1}}, {"platformInfo/peer_type": "Switch Connected"}),
    Case("E05", "platform: {module_id: 1}", {INFO: {"platformInfo.peerType": 0}}, {"platformInfo/peer_type": "Direct Connected"}),
    Case("E06", "module_id: 3", {INFO: 3, f"{D}GetModuleId": {"moduleId": 3}}),
    Case("E06", f"platform: {{{PLATFORM}}}", {INFO: {"platformInfo.moduleId": 2}, f"{D}GetModuleId": {"moduleId": 2}},
         {"platformInfo/module_id": "2"}),
    Case("E07", f"platform: {{{PLATFORM}}}", {INFO: {"platformInfo.ibGuid": bytes(16)}}, {"platformInfo/gpu_fabric_guid": "0x0000000000000000"}),
    Case("E07", f"platform: {{{PLATFORM}, fabric_guid: '0x0000000000000002'}}", {}, {"platformInfo/gpu_fabric_guid": "0x0000000000000002"}),
]  # fmt: skip


@serving.rows(CASES)
def test_a_board_of_these_keys_is_called_and_printed_so(case: Case, node: Node):
    node.hold(case)


@pytest.mark.spec("B16")
@pytest.mark.parametrize("devices", ["[{index: 0}, {index: 0}]"])
def test_two_devices_of_one_index_are_refused(devices: str):
    with pytest.raises(InputError, match="index"):
        serving.compiled(devices=devices)


@pytest.mark.spec("B17", "VL04")
@pytest.mark.parametrize("devices", [
    "[{index: 0, minor_number: 1}, {index: 1, minor_number: 1}]", "[{index: 0, minor_number: 1}, {index: 1}]", "[{index: 0, minor_number: 255}]",
    "[{index: 0, minor_number: -1}]",
])  # fmt: skip
def test_minor_numbers_that_two_devices_share_or_that_are_none_are_refused(devices: str):
    with pytest.raises(InputError, match="minor"):
        serving.compiled(devices=devices)


SINCE = (
    ("GetRemappedRows", "440.33.01", "450.80.02"), ("GetArchitecture", "440.33.01", "450.80.02"),
    ("GetGpuMaxPcieLinkGeneration", "470.256.02", "525.147.05"), ("GetMemoryInfo_v2", "495.29.05", "510.39.01"),
    ("GetComputeRunningProcesses_v3", "495.29.05", "510.39.01"), ("GetGspFirmwareMode", "495.29.05", "510.39.01"),
    ("GetConfComputeMemSizeInfo", "525.147.05", "535.54.03"), ("GetPlatformInfo", "565.57.01", "570.148.08"),
    ("WorkloadPowerProfileGetCurrentProfiles", "565.57.01", "570.148.08"), ("PowerSmoothingSetState", "565.57.01", "570.148.08"),
    ("GetNvLinkInfo", "575.57.08", "580.65.06"), ("GetPowerMizerMode_v1", "575.57.08", "580.65.06"),
    ("GetAddressingMode", "575.57.08", "580.65.06"), ("GetVgpuSchedulerState_v2", "590.48.01", "595.58.03"),
    ("GetAccountingStats_v2", "600.10", "610.43.02"), ("GetGpuFabricInfo_v4", "610.43.02", "615.10"),
)  # fmt: skip
"""Function, a driver before it came, one that has it: of the libraries and headers of docs/libraries.md where the row has another one."""


@pytest.mark.spec("B24")
@pytest.mark.parametrize(("function", "before", "after"), SINCE, ids=str)
def test_a_function_younger_than_the_driver_is_not_found_whatever_it_is_asked(node: Node, function: str, before: str, after: str):
    for driver, found in ((before, False), (after, True)):
        with node.serve(serving.compiled("architecture: blackwell", driver=driver)) as nvml:
            codes = {nvml.call(f"{D}{function}", handle).code for handle in (nvml.device(0), 5)}
            assert (13 not in codes) if found else codes == {13}, driver


@pytest.mark.spec("B25")
def test_board_ids_of_a_node_are_unique(node: Node):
    buses = ", ".join(f"{{index: {number}, pci: {{bus_id: '0000:{number + 1:02X}:00.0'}}}}" for number in range(8))
    with node.serve(serving.compiled(devices=f"[{buses}]")) as nvml:
        assert len({nvml.call("nvmlDeviceGetBoardId", nvml.device(index)).out["boardId"] for index in range(8)}) == 8
