"""`topo` with the real binaries: what the profile's root complexes say of GPUs and processors stands in every view of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.stages.render import serving
from harness.stages.smi import SmiRun, run_smi
from harness.stores.workspace import Workspace

VERSIONS = {390: "390.157", 418: "418.226.00", 450: "450.248.02", 460: "460.106.00", 470: "470.256.02", 525: "525.147.05", 535: "535.274.02",
            550: "550.163.01", 555: "555.58.02"}  # fmt: skip
PROFILE = """version: "1.0"
system: {{driver_version: "{version}"}}
device_defaults: {{name: Made Up Board, brand: tesla, architecture: ampere}}
devices:
- {{index: 0, pci: {{bus_id: "0000:07:00.0", device_id: 0x20B010DE, subsystem_id: 0x134F10DE}}}}
- {{index: 1, pci: {{bus_id: "0000:0F:00.0", device_id: 0x20B010DE, subsystem_id: 0x134F10DE}}}}
- {{index: 2, pci: {{bus_id: "0000:47:00.0", device_id: 0x20B010DE, subsystem_id: 0x134F10DE}}}}
- {{index: 3, pci: {{bus_id: "0000:87:00.0", device_id: 0x20B010DE, subsystem_id: 0x134F10DE}}}}
pcie_topology:
  cores_per_numa: 16
  root_complexes:
  - {{id: "pci0000:00", numa_node: 0, devices: ["0000:07:00.0", "0000:0F:00.0"], cpu_affinity: "0-3,8"}}
  - {{id: "pci0000:40", numa_node: 0, devices: ["0000:47:00.0"]}}
  - {{id: "pci0000:80", numa_node: 1, devices: ["0000:87:00.0"]}}
"""
Ask = Callable[..., SmiRun]


@pytest.fixture
def ask(smi_binary: Callable[[int], Path], library_path: Path, repository: Path, tmp_path: Path) -> Ask:
    """``ask(470, "topo", "-m")``: what the binary of a branch says of the node."""

    def start(branch: int, *arguments: str) -> SmiRun:
        profile, image = tmp_path / "node.yaml", tmp_path / "node.img"
        profile.write_text(PROFILE.format(version=VERSIONS[branch]), "utf-8")
        image.write_bytes(serving.image_bytes(profile, Workspace.find(repository)))
        return run_smi(smi_binary(branch), arguments, library=library_path, variables={"NVPARITY_IMAGE": str(image)}, limit_s=20)

    return start


@pytest.mark.spec("Z17")
@pytest.mark.parametrize("branch", VERSIONS)
def test_the_matrix_has_links_processors_and_nodes(ask: Ask, branch: int) -> None:
    done = ask(branch, "topo", "-m")
    rows = [[word.strip() for word in line.split("\t")] for line in done.stdout.decode().splitlines() if line.startswith("GPU")]
    assert done.status == 0
    wanted = [
        ["X", "PIX", "PHB", "SYS", "0-3,8", "0"],
        ["PIX", "X", "PHB", "SYS", "0-3,8", "0"],
        ["PHB", "PHB", "X", "SYS", "0-15", "0"],
        ["SYS", "SYS", "SYS", "X", "16-31", "1"],
    ]
    if branch < 450:  # no column of nodes, and a processor by itself is a range
        wanted = [[word.replace(",8", ",8-8") for word in row[:5]] for row in wanted]
    assert [row[1:7] for row in rows] == wanted


@pytest.mark.parametrize("branch", VERSIONS)
def test_neighbours_paths_and_processors_are_told_one_by_one(ask: Ask, branch: int) -> None:
    said = {
        ("-c", "8"): "CPU 8 are:\n0, 1",
        ("-c", "20"): "CPU 20 are:\n3",
        ("-n", "1", "-i", "0"): "device(s): 1",
        ("-p", "-i", "0,3"): "SMP interconnect link",
    }
    for arguments, words in said.items():
        done = ask(branch, "topo", *arguments)
        assert (done.status, words in done.stdout.decode()) == (0, True), done.stdout
