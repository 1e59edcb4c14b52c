"""Ledger C and D: memory, BAR1, protected memory, PCI, PCIe, topology."""

from __future__ import annotations

import pytest

from harness.words.errors import InputError
from tests.spec import serving
from tests.spec.serving import Case, Node

D = "nvmlDevice"
MIB = 1 << 20
MEMORY = (f"memory: {{total_bytes: {40960 * MIB}, reserved_bytes: {518 * MIB}, used_bytes: {1000 * MIB}, free_bytes: {39000 * MIB}, "
          "memory_bus_width: 5120}")  # fmt: skip
BARE = f"memory: {{total_bytes: {40960 * MIB}, free_bytes: {40960 * MIB}}}"
INFO, INFO2 = f"{D}GetMemoryInfo", f"{D}GetMemoryInfo_v2 memory.version=2"
BAR1 = f"bar1_memory: {{total_bytes: {65536 * MIB}, used_bytes: {MIB}, free_bytes: {65535 * MIB}}}"
PROTECTED, PCI3 = f"{D}GetConfComputeProtectedMemoryUsage memory.version=1", f"{D}GetPciInfo_v3"
PCI = "pci: {device_id: 0x20B010DE, subsystem_id: 0x134F10DE, bus_id: '0001:0a:1E.0'}"
LINK = ("pcie: {max_link_gen: 4, current_link_gen: 3, max_link_width: 16, current_link_width: 8, replay_counter: 7, tx_throughput_kbps: 250000, "
        "rx_throughput_kbps: 1000}")  # fmt: skip
GENERATIONS = "pci/pci_gpu_link_info/pcie_gen"
WIDTHS = "pci/pci_gpu_link_info/link_widths"
BUSES = ("0000:01:00.0", "0000:02:00.0", "0000:03:00.0")
BOARDS = f"[{', '.join(f'{{index: {number}, pci: {{bus_id: {bus!r}}}}}' for number, bus in enumerate(BUSES))}]"
ROOTS = (f"pcie_topology: {{cores_per_numa: 4, root_complexes: [{{id: 'pci0000:01', numa_node: 0, devices: [{BUSES[0]!r}, {BUSES[1]!r}]}}, "
         f"{{id: 'pci0000:03', numa_node: 1, devices: [{BUSES[2]!r}]}}]}}")  # fmt: skip
OWN = f"pcie_topology: {{root_complexes: [{{id: 'pci0000:01', numa_node: 1, cpu_affinity: 2-5, devices: [{BUSES[0]!r}]}}]}}"
CASES = [
    Case("C01", MEMORY, {INFO: {"memory.total": 40960 * MIB}, INFO2: {"memory.total": 40960 * MIB}}, {"fb_memory_usage/total": "40960 MiB"}),
    Case("C01", "", {INFO: 3, INFO2: 3}, {"fb_memory_usage/total": "N/A"}),
    Case("C02", MEMORY, {INFO2: {"memory.reserved": 518 * MIB}}, {"fb_memory_usage/reserved": "518 MiB"}),
    Case("C02", BARE, {INFO2: {"memory.reserved": 0, "memory.used": 0}}, {"fb_memory_usage/reserved": "0 MiB"}),
    Case("C02", MEMORY, {INFO: {"memory.total": 40960 * MIB}, INFO2: 13}, driver="470.74"),
    Case("C03", MEMORY, {INFO2: {"memory.used": 1000 * MIB, "memory.free": 39000 * MIB}}, {"fb_memory_usage/used": "1000 MiB"}),
    # nvml.h of nvmlMemory_t: used is the sum of what is reserved and what is allocated
    Case("C03", MEMORY, {INFO: {"memory.used": 1960 * MIB, "memory.free": 39000 * MIB}}),
    Case("C03", f"memory: {{total_bytes: {40 * MIB}, used_bytes: {3 * MIB}, free_bytes: {30 * MIB}}}", {INFO: {"memory.used": 3 * MIB},
         INFO2: {"memory.used": 3 * MIB, "memory.free": 30 * MIB}}),
    Case("C04", MEMORY, {INFO: {"memory.free": 39000 * MIB}, INFO2: {"memory.free": 39000 * MIB}}, {"fb_memory_usage/free": "39000 MiB"}),
    Case("C05", MEMORY, {f"{D}GetMemoryBusWidth": {"busWidth": 5120}}),
    Case("C05", BARE, {f"{D}GetMemoryBusWidth": 3}),
    Case("C06", BAR1, {f"{D}GetBAR1MemoryInfo": {"bar1Memory.bar1Total": 65536 * MIB}}, {"bar1_memory_usage/total": "65536 MiB"}),
    Case("C06", f"bar1_memory: {{used_bytes: {MIB}, free_bytes: {255 * MIB}}}", {f"{D}GetBAR1MemoryInfo": {"bar1Memory.bar1Total": 256 * MIB}},
         {"bar1_memory_usage/total": "256 MiB"}),
    Case("C06", "", {f"{D}GetBAR1MemoryInfo": 3}, {"bar1_memory_usage/total": "N/A"}),
    Case("C07", BAR1, {f"{D}GetBAR1MemoryInfo": {"bar1Memory.bar1Used": MIB, "bar1Memory.bar1Free": 65535 * MIB}},
         {"bar1_memory_usage/used": "1 MiB", "bar1_memory_usage/free": "65535 MiB"}),
    Case("C08", "", {PROTECTED: {"memory.total": 0, "memory.used": 0, "memory.free": 0}},
         {f"cc_protected_memory_usage/{name}": "0 MiB" for name in ("total", "used", "free")}),
    Case("C08", "", {f"{D}GetConfComputeMemSizeInfo": {"memInfo.protectedMemSizeKib": 0, "memInfo.unprotectedMemSizeKib": 0}}),
    *(Case("C08", PCI, {PROTECTED: 13, f"{D}GetConfComputeMemSizeInfo": 13}, {"cc_protected_memory_usage/total": None}, driver=driver)
      for driver in ("515.65.01", "525.147.05")),
    Case("C08", PCI, {PROTECTED: 0, f"{D}GetConfComputeMemSizeInfo": 0}, {"cc_protected_memory_usage/total": "0 MiB"}, driver="535.54.03"),
    *(Case("C09", MEMORY, {f"{D}GetMemoryInfo_v2 memory.version={version}": code}) for version, code in ((2, 0), (0, 25), (1, 25), (3, 25))),
    Case("D01", PCI, {PCI3: {"pci.pciDeviceId": 0x20B010DE}}, {"pci/pci_device_id": "20B010DE"}),
    *(Case("D01", PCI, {f"{D}{name}": {"pci.pciDeviceId": 0x20B010DE, "pci.busIdLegacy": "0001:0A:1E.0"}}) for name in ("GetPciInfo",
         "GetPciInfo_v2")),
    Case("D02", PCI, {PCI3: {"pci.pciSubSystemId": 0x134F10DE}}, {"pci/pci_sub_system_id": "134F10DE"}),
    Case("D03", PCI, {PCI3: {"pci.busId": "00000001:0A:1E.0", "pci.busIdLegacy": "0001:0A:1E.0", "pci.domain": 1, "pci.bus": 10, "pci.device": 30}},
         {"pci/pci_bus_id": "00000001:0A:1E.0", "pci/pci_bus": "0A", "pci/pci_device": "1E", "pci/pci_domain": "0001", "@id": "00000001:0A:1E.0"}),
    Case("D04", PCI, {f"{D}GetHandleByPciBusId_v2 pciBusId={bus}": code for bus, code in (("0001:0a:1e.0", 0), ("00000001:0A:1E.0", 0),
         ("0001:0B:00.0", 6))}),
    Case("D04", PCI, {f"{D}GetHandleByPciBusId pciBusId=00000001:0a:1e.0": 0}),
    Case("D05", PCI, {f"{D}GetPciInfoExt pci.version=1": {"pci.baseClass": 3, "pci.subClass": 2}}, {"pci/pci_base_class": "3",
         "pci/pci_sub_class": "2"}),
    Case("D06", LINK, {f"{D}GetMaxPcieLinkGeneration": {"maxLinkGen": 4}}, {f"{GENERATIONS}/max_link_gen": "4"}),
    *(Case("D06", f"{LINK[:-1]}, device_max_link_gen: 5}}", {f"{D}GetGpuMaxPcieLinkGeneration": wanted}, driver=driver)
      for driver, wanted in (("460.91.03", 13), ("470.256.02", 13), ("525.147.05", {"maxLinkGenDevice": 5}))),
    Case("D06", "pcie: {max_link_gen: 5, device_max_link_gen: 6, host_max_link_gen: 4}",
         {f"{D}GetMaxPcieLinkGeneration": {"maxLinkGen": 5}, f"{D}GetGpuMaxPcieLinkGeneration": {"maxLinkGenDevice": 6}},
         {f"{GENERATIONS}/max_link_gen": "5", f"{GENERATIONS}/max_device_link_gen": "6", f"{GENERATIONS}/max_host_link_gen": "4"}),
    Case("D07", LINK, {f"{D}GetCurrPcieLinkGeneration": {"currLinkGen": 3}}, {f"{GENERATIONS}/current_link_gen": "3"}),
    Case("D08", LINK, {f"{D}GetMaxPcieLinkWidth": {"maxLinkWidth": 16}, f"{D}GetCurrPcieLinkWidth": {"currLinkWidth": 8}},
         {f"{WIDTHS}/max_link_width": "16x", f"{WIDTHS}/current_link_width": "8x"}),
    *(Case(row, "", {f"{D}{name}": 3}) for row, name in (("D06", "GetMaxPcieLinkGeneration"), ("D07", "GetCurrPcieLinkGeneration"),
                                                         ("D08", "GetMaxPcieLinkWidth"), ("D08", "GetCurrPcieLinkWidth"))),
    Case("D09", LINK, {f"{D}GetPcieReplayCounter": {"value": 7}, "field 94": 7, "field 95": 0},
         {"pci/replay_counter": "7", "pci/replay_rollover_counter": "0"}),
    Case("D09", "pcie: {max_link_gen: 4}", {f"{D}GetPcieReplayCounter": {"value": 0}, "field 94": 0, "field 95": 0},
         {"pci/replay_counter": "0", "pci/replay_rollover_counter": "0"}),
    Case("D10", LINK, {f"{D}GetPcieThroughput counter=0": {"value": 250000}, f"{D}GetPcieThroughput counter=1": {"value": 1000}},
         {"pci/tx_util": "250000 KB/s", "pci/rx_util": "1000 KB/s"}),
    Case("D10", "pcie: {max_link_gen: 4}", {f"{D}GetPcieThroughput counter=0": {"value": 0}}, {"pci/tx_util": "0 KB/s", "pci/rx_util": "0 KB/s"}),
    Case("D10", "", {f"{D}GetPcieThroughput counter=0": 3, f"{D}GetPcieThroughput counter=2": 2}),
    Case("D11", "", {f"{D}GetBusType": {"type": 2}}),
    Case("D12", "", {f"{D}GetBridgeChipInfo": 3, f"{D}GetIrqNum": 3, f"{D}ReadWritePRM_v1": 3},
         {"pci/pci_bridge_chip/bridge_chip_type": "N/A", "pci/pci_bridge_chip/bridge_chip_fw": "N/A"}),
    Case("D12", "bridge_chip: {type: 1, firmware: 2}", {f"{D}GetBridgeChipInfo": 0}),
    Case("D14", "", {f"{D}GetCpuAffinity cpuSetSize=1": {"cpuSet": [15]}, f"{D}GetMemoryAffinity nodeSetSize=1 scope=0": {"nodeSet": [1]}},
         node=ROOTS, devices=BOARDS),
    Case("D14", "", {f"{D}GetCpuAffinity cpuSetSize=1": {"cpuSet": [0x3C]}, f"{D}GetCpuAffinityWithinScope cpuSetSize=1 scope=0": {"cpuSet": [0x3C]},
                     f"{D}GetNumaNodeId": 3}, node=OWN, devices=BOARDS),
    Case("D15", "", {f"{D}GetCpuAffinity cpuSetSize=4": {"cpuSet": [0, 2**64 - 1, 0, 0]}}, node=OWN.replace("cpu_affinity: 2-5, ", ""),
         devices=BOARDS),
    Case("D14", "", {f"{D}GetCpuAffinity cpuSetSize=1": 3, f"{D}GetMemoryAffinity nodeSetSize=1 scope=0": 3, f"{D}GetNumaNodeId": 3}, devices=BOARDS),
    Case("S04", "", {f"{D}GetC2cModeInfoV c2cModeInfo.version=1": {"c2cModeInfo.isC2cEnabled": 1}}, {"c2c_mode": "Enabled"},
         node="nvlink: {c2c_enabled: true}"),
    Case("D19", "pcie: {atomics_outbound: 3, atomics_inbound: 5}", {"field 228": 3, "field 229": 5}),
]  # fmt: skip


@serving.rows(CASES)
def test_a_board_of_these_keys_answers_and_is_printed_so(case: Case, node: Node):
    node.hold(case)


def ancestors(node: Node, roots: str, keys: str = "") -> list[int]:
    """The levels of the pairs (0, 0), (0, 1), (0, 2); a code where there is none, less 1000."""
    with node.serve(serving.compiled(keys, roots, BOARDS)) as nvml:
        said = [
            nvml.call("nvmlDeviceGetTopologyCommonAncestor", nvml.device(0), {"device2": nvml.device(number)}) for number in range(3)
        ]
        return [answer.out["pathInfo"] if answer.code == 0 else answer.code - 1000 for answer in said]


@pytest.mark.spec("D14", "D16")
def test_the_level_of_a_pair_is_that_of_its_root_complexes(node: Node):
    assert ancestors(node, ROOTS) == [0, 10, 50]
    bridged = ROOTS.replace(f", {BUSES[1]!r}]}}", f"]}}, {{id: 'pci0000:02', numa_node: 0, devices: [{BUSES[1]!r}]}}")
    assert ancestors(node, bridged) == ancestors(node, bridged, "topology: {default_level: node}") == [0, 30, 50]


@pytest.mark.spec("D17")
@pytest.mark.parametrize(("word", "level"), [("internal", 0), ("single", 10), ("multiple", 20), ("hostbridge", 30), ("node", 40), ("system", 50)])
def test_without_root_complexes_the_default_level_is_that_of_every_pair(node: Node, word: str, level: int):
    assert ancestors(node, "", f"topology: {{default_level: {word}}}") == [0, level, level]


@pytest.mark.spec("D14")
def test_the_gpus_near_one_are_those_below_its_root(node: Node):
    with node.serve(serving.compiled("", ROOTS, BOARDS)) as nvml:
        found = nvml.call("nvmlDeviceGetTopologyNearestGpus", nvml.device(0), {"level": 10})
        assert found.out["deviceArray"] == [nvml.device(1)]
        near = nvml.call("nvmlSystemGetTopologyGpuSet", None, {"cpuNumber": 5})
        assert near.out["deviceArray"] == [nvml.device(2)]


@pytest.mark.spec("D15")
def test_the_processors_of_a_node_are_its_share(node: Node):
    with node.serve(serving.compiled("", ROOTS, BOARDS)) as nvml:
        sets = [nvml.call("nvmlDeviceGetCpuAffinity", nvml.device(number), {"cpuSetSize": 1}).out["cpuSet"] for number in range(3)]
    assert sets == [[0x0F], [0x0F], [0xF0]]


@pytest.mark.spec("D14")
@pytest.mark.parametrize("second", [BUSES[0], "nowhere"])
def test_a_device_in_two_complexes_or_without_an_address_is_refused(second: str):
    roots = f"[{{id: 'pci0000:01', devices: [{BUSES[0]!r}]}}, {{id: 'pci0000:02', devices: [{second!r}]}}]"
    with pytest.raises(InputError, match="root_complexes"):
        serving.compiled("", f"pcie_topology: {{root_complexes: {roots}}}", BOARDS)
