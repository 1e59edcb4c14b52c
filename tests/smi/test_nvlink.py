"""`nvlink` and `topo` with the real binaries on a node with NVLinks: what each prints is the profile, and what one sets the next one reads."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.stages.render import serving
from harness.stages.smi import SmiRun, run_smi
from harness.stores.workspace import Workspace
from mocklib import state
from mocklib.spec import Clock

VERSIONS = {390: "390.157", 418: "418.226.00", 450: "450.248.02", 460: "460.106.00", 470: "470.256.02", 525: "525.147.05", 535: "535.274.02",
            550: "550.163.01", 555: "555.58.02"}  # fmt: skip
NODE = """version: "1.0"
system: {{driver_version: "{version}"}}
clock: {{mode: frozen, at: "2026-08-21T08:54:01Z"}}
device_defaults: {{name: Made Up Board, brand: tesla, architecture: hopper}}
devices:
- {{index: 0, uuid: GPU-0, pci: {{bus_id: "0000:07:00.0", device_id: 0x20B010DE, subsystem_id: 0x134F10DE}}}}
- {{index: 1, uuid: GPU-1, pci: {{bus_id: "0000:0F:00.0", device_id: 0x20B010DE, subsystem_id: 0x134F10DE}}}}
pcie_topology:
  root_complexes: [{{id: "pci0000:00", numa_node: 0, devices: ["0000:07:00.0", "0000:0F:00.0"]}}]
nvlink:
  version: 6
  bandwidth_per_link_mbps: 26562
  bw_mode: {{scope: system}}
  defaults: {{counter_seed: 123456}}
"""
SWITCHED = NODE + "  links_per_gpu: 3\n  switches: [{{bdf: '0000:05:00.0'}}]\n"
DIRECT = NODE + """  links_per_gpu: 3
  device_links:
  - [{{link: 0, remote_device_type: GPU, remote_index: 1, remote_link: 1}}, {{link: 1, remote_device_type: GPU, remote_index: 1, remote_link: 0}}]
  - [{{link: 0, remote_device_type: GPU, remote_index: 0, remote_link: 1}}, {{link: 1, remote_device_type: GPU, remote_index: 0, remote_link: 0}}]
"""
Ask = Callable[..., SmiRun]


@pytest.fixture
def ask(smi_binary: Callable[[int], Path], library_path: Path, repository: Path, tmp_path: Path) -> Ask:
    """``ask(470, SWITCHED, "nvlink", "-s")``: what the binary of a branch says of the node; runs of one branch share a state."""

    def start(branch: int, text: str, *arguments: str) -> SmiRun:
        profile, image = tmp_path / f"{branch}.yaml", tmp_path / f"{branch}.img"
        profile.write_text(text.format(version=VERSIONS[branch]), "utf-8")
        if not image.exists():
            image.write_bytes(serving.image_bytes(profile, Workspace.find(repository)))
        variables = {"NVPARITY_IMAGE": str(image), "MOCK_NVML_STATE": str(tmp_path / f"{branch}.state")}
        return run_smi(smi_binary(branch), arguments, library=library_path, variables=variables, limit_s=20)

    return start


def lines(done: SmiRun) -> list[str]:
    """The lines below the first GPU's heading."""
    assert done.status == 0, done
    return [line.strip() for line in done.stdout.decode().partition("GPU 1:")[0].splitlines()[1:] if line.strip()]


@pytest.mark.parametrize("branch", VERSIONS)
@pytest.mark.spec("S02", "S03", "S30", "Z15")
def test_links_are_printed_with_their_speed_ends_and_capabilities(ask: Ask, branch: int) -> None:
    assert lines(ask(branch, DIRECT, "nvlink", "-s")) == ["Link 0: 26.562 GB/s", "Link 1: 26.562 GB/s", "Link 2: <inactive>"]
    assert lines(ask(branch, DIRECT, "nvlink", "-p")) == ["Link 0: 00000000:0F:00.0", "Link 1: 00000000:0F:00.0"]
    able = lines(ask(branch, DIRECT, "nvlink", "-c", "-l", "1"))
    assert [line.partition(", ")[2] for line in able] == [
        "P2P is supported: true", "Access to system memory supported: true", "P2P atomics supported: true", "System memory atomics supported: true",
        "SLI is supported: true", "Link is supported: true",
    ]  # fmt: skip
    if branch >= 450:
        ends = ["Link 0: Remote Device 00000000:0F:00.0: Link 1", "Link 1: Remote Device 00000000:0F:00.0: Link 0"]
        assert lines(ask(branch, DIRECT, "nvlink", "-R")) == ends
        assert lines(ask(branch, DIRECT, "nvlink", "-gt", "d"))[:2] == ["Link 0: Data Tx: 123456 KiB", "Link 0: Data Rx: 123456 KiB"]


@pytest.mark.parametrize("branch", VERSIONS)
@pytest.mark.spec("S13", "S27", "S28", "S30")
def test_errors_of_one_link_and_traffic_of_all_are_those_of_the_time_that_passed(ask: Ask, tmp_path: Path, branch: int) -> None:
    volta = DIRECT.replace("hopper", "volta").replace("mbps: 26562", "mbps: 2048")
    text = volta.replace("brand: tesla", "brand: tesla, nvlink_error: {{rate: 2.5, links: [1]}}")
    errors = lambda: [int(word) for line in lines(ask(branch, text, "nvlink", "-e")) for word in line[7:].split() if word.isdigit()]  # noqa: E731
    assert set(errors()) == {0}
    path = tmp_path / f"{branch}.state"
    state.create(path, (tmp_path / f"{branch}.img").read_bytes())
    state.set_clock(path, Clock("frozen", state.read(path).node.clock.at_ns + 8_000_000_000))
    each = len(errors()) // 2
    assert errors() == [0] * each + [20] * each
    if branch >= 450:
        sent = 123456 + 8 * 102_400_000 // 1024
        assert lines(ask(branch, text, "nvlink", "-gt", "d"))[:2] == [f"Link 0: Data Tx: {sent} KiB", f"Link 0: Data Rx: {sent} KiB"]


@pytest.mark.parametrize("architecture", ["volta", "ampere", "hopper"])
@pytest.mark.parametrize("branch", VERSIONS)
@pytest.mark.spec("S13", "S30", "Z15")
def test_errors_are_told_lane_by_lane_and_end_with_a_clear(ask: Ask, tmp_path: Path, branch: int, architecture: str) -> None:
    """21 errors of each link, 100 seconds after the epoch; CRC errors of eight lanes, from Ampere on (460 and newer) ECC corrections of four."""
    board = DIRECT.replace("counter_seed: 123456", "error_rate: 0.21").replace("hopper", architecture)
    assert ask(branch, board, "-L").status == 0
    state.set_clock(tmp_path / f"{branch}.state", Clock("frozen", 1_787_302_541 * 10**9))
    corrections = branch >= 460 and architecture != "volta"
    counts = [6, 5, 5, 5] if corrections else [3, 3, 3, 3, 3, 2, 2, 2]
    if not corrections and architecture == "ampere":
        counts = [6, 5, 5, 5, 0, 0, 0, 0]  # 390 to 450 ask for eight lanes of any board
    told = [f"Lane {lane} ECC Correction Count: {count} (Overflow=0)" if corrections else f"Lane {lane}: {count} CRC errors"
            for lane, count in enumerate(counts)]  # fmt: skip
    unsure = ["NVML: Unable to retrieve Num Lanes on Nvlink 1"] if branch >= 525 and architecture == "hopper" else []
    assert lines(ask(branch, board, "nvlink", "-ec", "-l", "1")) == ["Link 1:", *unsure, *told]
    if branch >= 525:
        whole = [f"Link 1: {kind} Errors: 21" for kind in ("Replay", "Recovery", "CRC")]
    else:
        whole = [f"Link 1: 21 {kind} errors" for kind in ("replay", "recovery", "flit CRC")]
        whole += ["Link 1:", *told] if corrections else ["Link 1: 21 data CRC errors"]
    assert lines(ask(branch, board, "nvlink", "-e", "-l", "1")) == whole
    cleared = ask(branch, board, "nvlink", "-re", "-i", "0")
    assert lines(cleared) == ["Link 0: error counters reset", "Link 1: error counters reset", "Link 2: skipping error counter reset on inactive link"]
    left = lines(ask(branch, board, "nvlink", "-ec", "-l", "1"))[1 + len(unsure) :]
    assert {int(re.findall(r": (\d+)", line)[0]) for line in left} == {0}


@pytest.mark.parametrize("branch", VERSIONS)
@pytest.mark.spec("D16", "D18", "S11", "S32")
def test_gpus_are_joined_by_as_many_links_as_there_are(ask: Ask, branch: int) -> None:
    def cells(text: str, *arguments: str) -> list[list[str]]:
        done = ask(branch, text, "topo", *arguments)
        assert done.status == 0, done
        rows = [line.strip() for line in done.stdout.decode().splitlines() if line.strip().startswith("GPU")]
        return [[word.strip() for word in row.split("\t")][1:3] for row in rows]

    assert cells(DIRECT, "-m") == [["X", "NV2"], ["NV2", "X"]]
    assert cells(DIRECT, "-p2p", "n") == [["X", "OK"], ["OK", "X"]]


@pytest.mark.parametrize("branch", [390, 418])
def test_boards_older_than_pascal_have_no_links_in_the_matrix_of_390_and_418(ask: Ask, branch: int) -> None:
    """Both ask the private table for the architecture, and print no matrix where it is refused; newer ones count links on any board."""
    said = ask(branch, DIRECT.replace("hopper", "maxwell"), "topo", "-m").stdout.decode()
    rows = [line.split() for line in said.splitlines() if line.startswith("GPU")]
    assert [row[1:3] for row in rows] == [["X", "PIX"], ["PIX", "X"]]


def test_none_of_the_ten_knows_nvlink_info(smi_binaries: dict[int, Path], library_path: Path) -> None:
    for branch, binary in smi_binaries.items():
        done = run_smi(binary, ["nvlink", "--info"], library=library_path, variables={})
        said = 'Option "--info" is not recognized.' if branch > 340 else "Invalid combination of input arguments."
        assert (done.status, done.stdout.decode().startswith(said)) == (2, True), branch


@pytest.mark.parametrize(("branch", "said"), [(450, "PIX"), (460, "NV3"), (555, "NV3")])
@pytest.mark.spec("S11")
def test_gpus_on_switches_are_joined_by_all_their_links_from_460_on(ask: Ask, branch: int, said: str) -> None:
    """Older binaries do not ask how many links lead to switches (field id 147), and none of them asks what is at the other end."""
    rows = [line.split("\t") for line in ask(branch, SWITCHED, "topo", "-m").stdout.decode().splitlines() if line.startswith("GPU")]
    assert [row[2 - place].strip() for place, row in enumerate(rows)] == [said, said]


@pytest.mark.parametrize("branch", [525, 555])
def test_a_board_whose_links_are_all_down_says_so_in_the_words_of_a_capture(ask: Ask, branch: int) -> None:
    done = ask(branch, SWITCHED.replace("counter_seed: 123456", "state: down"), "nvlink", "-s")
    assert b"information as all links are inActive" in done.stdout
    assert done.status == 0


@pytest.mark.parametrize("branch", [535, 550, 555])
@pytest.mark.spec("S24", "Z15")
def test_the_bandwidth_mode_that_one_process_sets_the_next_one_prints(ask: Ask, branch: int) -> None:
    assert b"bandwidth mode: FULL" in ask(branch, SWITCHED, "nvlink", "-gBwMode").stdout
    for name in ("OFF", "MIN", "HALF", "3QUARTER", "FULL"):
        done = ask(branch, SWITCHED, "nvlink", "-sBwMode", name)
        assert (done.status, done.stdout.split(b" bandwidth mode to ")[-1].strip()) == (0, name.encode())
        assert ask(branch, SWITCHED, "nvlink", "-gBwMode").stdout.strip().endswith(f"mode: {name}".encode())


@pytest.mark.parametrize(("branch", "most"), [(525, 8191), (535, 8191), (550, 8191), (555, 1023)])
@pytest.mark.spec("S16", "S17", "Z15")
def test_the_low_power_threshold_that_one_process_sets_the_next_one_prints(ask: Ask, branch: int, most: int) -> None:
    told = lambda: lines(ask(branch, SWITCHED, "nvlink", "-gLowPwrInfo"))  # noqa: E731
    assert told()[:2] == ["Link 0: Low Power Mode: High Speed State", "Link 0: Low Power Threshold: 100000 us"]
    assert ask(branch, SWITCHED, "nvlink", "-sLowPwrThres", str(most)).status == 0
    assert told()[1] == f"Link 0: Low Power Threshold: {most * 100} us"
    refused = ask(branch, SWITCHED, "nvlink", "-sLowPwrThres", str(most + 1))
    assert f"in the range of 1 to {most}".encode() in refused.stdout
    assert told()[1] == f"Link 0: Low Power Threshold: {most * 100} us"
    assert ask(branch, SWITCHED, "nvlink", "-sLowPwrThres", "default").status == 0
    assert told()[1] == "Link 0: Low Power Threshold: 100000 us"
