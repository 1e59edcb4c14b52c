"""ECC, fabric, rack and link: blocks that other mocks served by halves."""

from __future__ import annotations

from mocklib import binding
from tests.cases.boards import A100, H100, T4, Content, each, put, swap, text_of
from tests.cases.conftest import Ask, Take
from tests.cases.taken import refused

HEALTHY: Content = {
    "state": "Completed", "status": "Success", "cliqueId": "32766", "clusterUuid": "00000001-0000-0000-0000-000000000001",
    "health": {"summary": "Healthy", "bandwidth": "Full", "route_recovery_in_progress": "False", "route_unhealthy": "False",
               "access_timeout_recovery": "False", "incorrect_configuration": "None"},
}  # fmt: skip
RACK: dict[str, Content] = {
    "chassis_serial_number": "1820000000001", "slot_number": "25", "tray_index": "15", "host_id": "1", "peer_type": "Switch Connected",
    "module_id": "2", "gpu_fabric_guid": "0x0000000000000009",
}  # fmt: skip
V3 = {"gpuFabricInfo.version": 3}


def test_ecc_counters_of_sram_are_whole_or_not_there(take: Take, ask: Ask):
    """BL-029: all sources are answered with the counters they belong to."""
    given = swap(text_of(A100), ("<sram_l2>0<", "<sram_l2>17<"), ("<sram_threshold_exceeded>No<", "<sram_threshold_exceeded>Yes<"))
    given = put(given, "row_remapper_histogram_max", "640 bank(s)")
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})
    nvml, device = ask(taken)
    status = nvml.call("nvmlDeviceGetSramEccErrorStatus", device)
    assert (status.code, status.out["status.version"]) == (0, 0x01000068)
    assert (status.out["status.aggregateUncBucketL2"], status.out["status.bThresholdExceeded"]) == (17, 1)
    assert sum(value for name, value in status.out.items() if "Bucket" in name) == 17
    assert nvml.call("nvmlDeviceGetRowRemapperHistogram", device).out["values.max"] == 640


def test_counters_of_a_board_whose_ecc_is_off_are_not_zero(take: Take, ask: Ask):
    """BL-029: what cannot count has counted nothing, which is not a count of nought."""
    counters = ("sram_correctable", "sram_uncorrectable_parity", "sram_uncorrectable_secded", "dram_correctable", "dram_uncorrectable")
    none: dict[str, Content] = dict.fromkeys(counters, "N/A")
    sources: Content = dict.fromkeys(("sram_l2", "sram_sm", "sram_microcontroller", "sram_pcie", "sram_other"), "N/A")
    given = swap(text_of(A100), ("_ecc>Enabled<", "_ecc>Disabled<"))
    given = put(put(given, "volatile", none), "aggregate", {**none, "sram_threshold_exceeded": "N/A"})
    given = put(given, "aggregate_uncorrectable_sram_sources", sources)
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})
    nvml, device = ask(taken)
    assert refused(nvml, "nvmlDeviceGetSramEccErrorStatus", device, "nvmlEccSramErrorStatus_t", 0x01000068) == 3
    assert nvml.call("nvmlDeviceGetTotalEccErrors", device, {"errorType": 0, "counterType": 0}).code == 3
    assert nvml.call("nvmlDeviceGetEccMode", device).out == {"current": 0, "pending": 0}


def test_identity_status_and_health_of_the_fabric_are_three_things(take: Take, ask: Ask):
    """BL-031: a healthy identity; ``None`` of the configuration is a value."""
    given = put(text_of(H100), "fabric", HEALTHY)
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})
    nvml, device = ask(taken)
    told = nvml.call("nvmlDeviceGetGpuFabricInfoV", device, V3).out
    assert (told["gpuFabricInfo.state"], told["gpuFabricInfo.status"], told["gpuFabricInfo.cliqueId"]) == (3, 0, 32766)
    assert told["gpuFabricInfo.clusterUuid"] == bytes.fromhex("00000001000000000000000000000001")
    mask = told["gpuFabricInfo.healthMask"]
    assert [mask >> shift & width for shift, width in ((0, 3), (2, 3), (4, 3), (6, 3), (8, 15), (12, 3))] == [2, 2, 2, 2, 1, 0]
    assert told["gpuFabricInfo.healthSummary"] == 1


def test_a_clique_of_zero_and_a_uuid_of_zeros_are_values_and_health_is_not_supported(ask: Ask):
    """BL-031: the H100."""
    nvml, device = ask(H100)
    told = nvml.call("nvmlDeviceGetGpuFabricInfoV", device, V3)
    assert told.code == 0
    assert (told.out["gpuFabricInfo.state"], told.out["gpuFabricInfo.cliqueId"], told.out["gpuFabricInfo.clusterUuid"]) == (3, 0, bytes(16))
    assert told.out["gpuFabricInfo.healthMask"] == 0
    assert binding.struct_size("nvmlGpuFabricInfo_v3_t") == 40


def test_a_board_without_a_fabric_says_so_by_its_state(take: Take, ask: Ask):
    """BL-031: every element is N/A; the T4 is such a board."""
    nvml, device = ask(T4)
    told = nvml.call("nvmlDeviceGetGpuFabricInfoV", device, V3)
    assert told.code == 3 or told.out["gpuFabricInfo.state"] == 0


def test_rack_identity_and_c2c_are_served_and_the_chassis_serial_is_scrubbed(take: Take, ask: Ask):
    """BL-058: camelCase element and all."""
    given = put(put(text_of(H100), "platformInfo", {**RACK, "chassis_serial_number": "1820000012345"}), "c2c_mode", "Enabled")
    taken = take(given)
    assert taken.status == 0
    assert "1820000012345" not in taken.rendered()
    scrubbed = taken.rendered()
    assert "<chassis_serial_number>0000000000009</chassis_serial_number>" in scrubbed
    assert scrubbed.replace("0000000000009</chassis", "1820000012345</chassis") == given
    nvml, device = ask(taken)
    told = nvml.call("nvmlDeviceGetPlatformInfo", device).out
    assert [told[f"platformInfo.{name}"] for name in ("slotNumber", "trayIndex", "hostId", "peerType", "moduleId")] == [25, 15, 1, 1, 2]
    assert told["platformInfo.chassisSerialNumber"].rstrip(b"\0") == b"0000000000009"
    assert nvml.call("nvmlDeviceGetC2cModeInfoV", device).out["c2cModeInfo.isC2cEnabled"] == 1
    assert nvml.call("nvmlDeviceGetC2cModeInfoV", ask(T4)[1]).code == 3


def test_five_link_generations_and_the_board_ids_are_each_their_own(take: Take, ask: Ask):
    """BL-056: the host is really slower than the board; no reading is a buffer of zeros."""
    generations: Content = {
        "max_link_gen": "6", "current_link_gen": "6", "device_current_link_gen": "6", "max_device_link_gen": "6", "max_host_link_gen": "4",
    }  # fmt: skip
    given = each(text_of(H100), lambda number, block: put(block, "board_id", f"0x{0x80600 + number:x}"))
    given = put(given, "pcie_gen", generations)
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})
    nvml, device = ask(taken)
    assert nvml.call("nvmlDeviceGetMaxPcieLinkGeneration", device).out == {"maxLinkGen": 6}
    assert nvml.call("nvmlDeviceGetGpuMaxPcieLinkGeneration", device).out == {"maxLinkGenDevice": 6}
    boards = [nvml.call("nvmlDeviceGetBoardId", nvml.device(index)).out["boardId"] for index in range(8)]
    assert boards == [0x80600 + index for index in range(8)]
