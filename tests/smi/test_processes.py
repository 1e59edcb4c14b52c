"""Slots of the private table with every real binary on the mock: processes in every view that lists them, pmon, dmon, links between GPUs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.stages.render import serving
from harness.stages.smi import SmiRun, run_smi
from harness.stores.workspace import Workspace

VERSIONS = {340: "340.108", 390: "390.157", 418: "418.226.00", 450: "450.248.02", 460: "460.106.00", 470: "470.256.02", 525: "525.147.05",
            535: "535.274.02", 550: "550.163.01", 555: "555.58.02"}  # fmt: skip
TYPED = [branch for branch in VERSIONS if branch != 340]
PRIVATE = [branch for branch in VERSIONS if branch >= 525]
MONITORED = TYPED
PROFILE = """version: "1.0"
system: {{driver_version: "{version}", num_devices: {count}}}
clock: {{mode: frozen, at: "2024-02-03T04:05:06Z"}}
device_defaults:
  name: Made Up Board
  brand: tesla
  architecture: ampere
  pci: {{bus_id: "0000:07:00.0", device_id: 0x20B010DE, subsystem_id: 0x134F10DE}}
  utilization: {{gpu: 7, memory: 8, encoder: 9, decoder: 10, jpeg: 11, ofa: 12}}
  power: {{current_draw_mw: 71000}}
  thermal: {{temperature_gpu_c: 41, temperature_memory_c: 42}}
  clocks: {{sm_current: 1300, graphics_current: 1200, memory_current: 5100}}
  memory: {{total_bytes: 1073741824, used_bytes: 104857600, free_bytes: 968884224}}
  bar1_memory: {{total_bytes: 268435456, used_bytes: 3145728, free_bytes: 265289728}}
  pcie: {{replay_counter: 13, tx_throughput_kbps: 14000, rx_throughput_kbps: 15000}}
  ecc: {{mode_current: enabled, mode_pending: enabled, errors: {{volatile: {{single_bit: {{total: 16}}, double_bit: {{total: 17}}}}}}}}
  accounting: {{mode: enabled, terminated: [{{pid: 9, gpu_util: 5, mem_util: 6, max_memory_mib: 7, time_ms: 8}}]}}
  processes: {processes}
{more}
"""
Ask = Callable[..., SmiRun]


@pytest.fixture
def ask(smi_binary: Callable[[int], Path], library_path: Path, repository: Path, tmp_path: Path) -> Ask:
    """``ask(470, processes, "-q", "-x")``: what the binary of a branch says of a board with these processes."""
    space = Workspace.find(repository)

    def start(branch: int, processes: list[dict[str, Any]], *arguments: str, more: str = "", count: int = 1) -> SmiRun:
        profile, image = tmp_path / "board.yaml", tmp_path / "board.img"
        text = json.dumps(processes)
        profile.write_text(PROFILE.format(version=VERSIONS[branch], processes=text, more=more, count=count), "utf-8")
        image.write_bytes(serving.image_bytes(profile, space))
        return run_smi(smi_binary(branch), arguments, library=library_path, variables={"NVPARITY_IMAGE": str(image)}, limit_s=20)

    return start


def printed(done: SmiRun) -> list[dict[str, str]]:
    """The processes of `-q -x`: element -> text."""
    assert done.status == 0
    blocks = re.findall(r"<process_info>(.*?)</process_info>", done.stdout.decode("utf-8", "surrogateescape"), re.DOTALL)
    return [dict(re.findall(r"<(\w+)>(.*?)</\1>", block, re.DOTALL)) for block in blocks]


def columns(done: SmiRun) -> list[dict[str, str]]:
    """The lines of pmon or dmon: heading -> text."""
    heading = next(line for line in done.stdout.decode().splitlines() if line.startswith("# gpu")).removeprefix("#").split()
    return [dict(zip(heading, line.split(), strict=True)) for line in done.stdout.decode().splitlines() if not line.startswith("#")]


EACH_TYPE = [{"pid": 11 + number, "type": kind, "name": f"/opt/{number}", "used_memory_mib": 21 + number}
             for number, kind in enumerate(("C", "G", "C+G", "M+C", "M+C+G"))]  # fmt: skip


@pytest.mark.parametrize("branch", TYPED)
def test_the_three_lists_make_the_type(ask: Ask, branch: int) -> None:
    """BL-007: two processes are marked by the MPS list, so that entries of another size than the binary reads show."""
    found = printed(ask(branch, EACH_TYPE, "-q", "-x"))
    assert [(int(entry["pid"]), entry["type"], entry["process_name"], entry["used_memory"]) for entry in found] == [
        (entry["pid"], entry["type"], entry["name"], f"{entry['used_memory_mib']} MiB") for entry in EACH_TYPE
    ]


def test_340_prints_the_compute_list_alone_and_no_type(ask: Ask) -> None:
    found = printed(ask(340, EACH_TYPE[::-1], "-q", "-x"))
    assert [(entry["pid"], entry.get("type")) for entry in found] == [("15", None), ("14", None), ("13", None), ("11", None)]


@pytest.mark.parametrize("branch", TYPED)
def test_a_process_of_the_mps_list_alone_is_not_printed_and_up_to_535_ends_the_marking(ask: Ask, branch: int) -> None:
    processes = [{"pid": 5, "type": "M"}, {"pid": 6, "type": "M+C"}]
    assert [(entry["pid"], entry["type"]) for entry in printed(ask(branch, processes, "-q", "-x"))] == [("6", "M+C" if branch >= 550 else "C")]


@pytest.mark.spec("R20", "Z17")
@pytest.mark.parametrize("branch", VERSIONS)
def test_the_query_of_compute_apps_lists_the_compute_list_alone(ask: Ask, branch: int) -> None:
    done = ask(branch, EACH_TYPE, "--query-compute-apps=pid,used_memory,name", "--format=csv,noheader,nounits")
    names = ["/opt/0"] * 4 if branch == 340 else [f"/opt/{number}" for number in (0, 2, 3, 4)]
    assert done.stdout.decode().splitlines() == [f"{pid}, {pid + 10}, {name}" for pid, name in zip((11, 13, 14, 15), names, strict=True)]


@pytest.mark.parametrize("branch", PRIVATE)
@pytest.mark.parametrize("count", [0, 1])
def test_no_process_is_no_row_in_any_view(ask: Ask, branch: int, count: int) -> None:
    """BL-015: an empty list is an empty block, no row of pid 0; one process is one row with its name, in each view."""
    processes = [{"pid": 4101, "name": "/opt/a", "used_memory_mib": 2806}][:count]
    query = ask(branch, processes, "-q", "-x")
    assert [(entry["pid"], entry["process_name"]) for entry in printed(query)] == [("4101", "/opt/a")][:count]
    assert b"<processes>" in query.stdout
    table = ask(branch, processes).stdout.decode()
    assert (len(re.findall(r"4101 +C +/opt/a +2806MiB", table)), "No running processes found" in table) == (count, count == 0)
    apps = ask(branch, processes, "--query-compute-apps=pid,name,used_memory", "--format=csv,noheader")
    assert apps.stdout.decode() == "4101, /opt/a, 2806 MiB\n" * count


ROOM = {340: (250, 0), 390: (250, 0), 418: (250, 0), 450: (250, 0), 460: (250, 0), 470: (500, 0)}
"""Branch -> processes that `-q -x` has room for, and how many it prints of a list that is longer; since 525 it prints what fits."""


@pytest.mark.parametrize("branch", VERSIONS)
@pytest.mark.parametrize("count", [250, 251, 500, 600])
def test_processes_are_printed_as_far_as_there_is_room(ask: Ask, branch: int, count: int) -> None:
    room, beyond = ROOM.get(branch, (500, 500))
    found = printed(ask(branch, [{"pid": pid, "name": f"/{pid}"} for pid in range(1, count + 1)], "-q", "-x"))
    wanted = count if count <= room else beyond
    assert [(int(entry["pid"]), entry["process_name"]) for entry in found] == [(pid, f"/{pid}") for pid in range(1, wanted + 1)]


NAMES = {
    "": "",
    "/opt/<a> & \"b\" 'c'": "/opt/&lt;a&gt; &amp; &quot;b&quot; &apos;c&apos;",
    "led and trailed ": "led and trailed ",
    "/opt/\uf7ff\uf780": "/opt/\udcff\udc80",
    "x" * 4096: "x" * 4096,
}
"""Name in a profile (bytes that are no UTF-8 as private-use characters) -> how it is printed."""


@pytest.mark.parametrize("branch", VERSIONS)
def test_a_name_is_printed_with_entities_and_else_as_it_is(ask: Ask, branch: int) -> None:
    found = printed(ask(branch, [{"pid": pid, "name": name} for pid, name in enumerate(NAMES, 1)], "-q", "-x"))
    room = 4096 if branch < 525 else 4095  # an entry of the private list holds its name, and the byte that ends it, in 4096
    assert [entry["process_name"] for entry in found] == [name[:room] for name in NAMES.values()]


@pytest.mark.parametrize("branch", TYPED)
def test_a_pid_of_several_lists_is_as_the_compute_list_has_it(ask: Ask, branch: int) -> None:
    """BL-007: instances and sizes come back in order; memory that is not known is N/A."""
    processes = [{"pid": 3, "type": "G"}, {"pid": 2, "type": "C", "used_memory_mib": 5, "gpu_instance_id": 1, "compute_instance_id": 0},
                 {"pid": 3, "type": "C", "used_memory_mib": 7}]  # fmt: skip
    found = printed(ask(branch, processes, "-q", "-x"))
    assert [(entry["pid"], entry["type"], entry["used_memory"]) for entry in found] == [("2", "C", "5 MiB"), ("3", "C+G", "7 MiB")]
    if branch >= 460:
        assert [(entry["gpu_instance_id"], entry["compute_instance_id"]) for entry in found] == [("1", "0"), ("N/A", "N/A")]


USED = [{"pid": 31, "name": "/opt/a", "used_memory_mib": 3, "sm_util": 21, "mem_util": 31, "enc_util": 41, "dec_util": 51},
        {"pid": 32, "name": "/opt/b", "type": "G", "used_memory_mib": 4, "protected_memory_mib": 6},
        {"pid": 33, "name": "/opt/c", "type": "C+G", "sm_util": 100, "mem_util": 1}]  # fmt: skip


@pytest.mark.parametrize("branch", MONITORED)
def test_pmon_lists_each_process_with_its_type_and_use(ask: Ask, branch: int) -> None:
    done = ask(branch, USED, "pmon", "-c", "1", "-s", "um")
    assert (done.status, done.stderr) == (0, b"")
    rows = columns(done)
    assert [[row[name] for name in ("pid", "type", "sm", "mem", "enc", "dec", "fb", "command")] for row in rows] == [
        ["31", "C", "21", "31", "41", "51", "3", "a"],
        ["32", "G", "0", "0", "0", "0", "4", "b"],
        ["33", "C+G", "100", "1", "0", "0", "0", "c"],
    ]
    extra = [{name: row[name] for name in ("jpg", "ofa", "ccpm") if name in row} for row in rows]
    protected = [{}, {}, {}] if branch < 535 else [{"ccpm": "0"}, {"ccpm": "6"}, {"ccpm": "0"}]
    engines = {} if branch < 550 else {"jpg": "-", "ofa": "-"}
    assert extra == [{**engines, **entry} for entry in protected]


@pytest.mark.parametrize("branch", MONITORED)
def test_pmon_without_processes_or_uses_has_dashes(ask: Ask, branch: int) -> None:
    (nobody,) = columns(ask(branch, [], "pmon", "-c", "1"))
    assert set(nobody.values()) == {"0", "-"}
    (idle,) = columns(ask(branch, [{"pid": 31, "name": "/opt/a"}], "pmon", "-c", "1"))
    assert [idle[name] for name in ("pid", "sm", "mem", "enc", "dec")] == ["31", *["0" if branch in (390, 418) else "-"] * 4]


@pytest.mark.spec("Z17")
@pytest.mark.parametrize("branch", MONITORED)
def test_dmon_prints_the_readings(ask: Ask, branch: int) -> None:
    (row,) = columns(ask(branch, [], "dmon", "-c", "1", "-s", "pucmet"))
    wanted = {"pwr": "71", "gtemp": "41", "mtemp": "42", "sm": "7", "mem": "8", "enc": "9", "dec": "10", "mclk": "5100", "pclk": "1300", "fb": "100",
              "bar1": "3", "sbecc": "16", "dbecc": "17", "pci": "13", "rxpci": "15", "txpci": "14"}  # fmt: skip
    assert {name: row[name] for name in wanted} == wanted


@pytest.mark.parametrize("branch", MONITORED)
@pytest.mark.parametrize("more", ["  monitoring: false", "  states: {monitoring: no_permission}", "  states: {monitoring: not_supported}"])
def test_a_board_that_is_not_monitored_is_told(ask: Ask, branch: int, more: str) -> None:
    for view in ("dmon", "pmon"):
        done = ask(branch, USED, view, "-c", "1", more=more)
        assert (done.status, done.stdout.decode().splitlines()[0]) == (255, "Not supported on the device(s)")


@pytest.mark.spec("R09", "Z17")
@pytest.mark.parametrize("branch", VERSIONS)
def test_accounted_apps_are_the_buffer(ask: Ask, branch: int) -> None:
    done = ask(branch, USED[:1], "--query-accounted-apps=pid,gpu_util,mem_util,max_memory_usage,time", "--format=csv,noheader")
    assert done.stdout.decode().splitlines() == ["9, 5 %, 6 %, 7 MiB, 8 ms", "31, 21 %, 31 %, 3 MiB, 0 ms"]


@pytest.mark.parametrize("branch", VERSIONS)
def test_a_comma_in_a_name_is_a_question_mark_in_csv(ask: Ask, branch: int) -> None:
    """BL-042 reports columns that shift: none does in 340 to 555, which print names in CSV without commas."""
    done = ask(branch, [{"pid": 31, "name": "/opt/com,ma --x=1,2"}], "--query-compute-apps=name,pid", "--format=csv,noheader")
    assert done.stdout == b"/opt/com?ma --x=1?2, 31\n"


@pytest.mark.parametrize("branch", [branch for branch in VERSIONS if branch >= 450])
def test_links_between_gpus_that_no_profile_says_are_unknown(ask: Ask, branch: int) -> None:
    """390 and 418 end before they print a link, as long as slot 65 answers no number."""
    two = 'devices: [{index: 0}, {index: 1, pci: {bus_id: "0000:08:00.0"}}]'
    done = ask(branch, [], "topo", "-m", more=two, count=2)
    (row,) = (line.split("\t") for line in done.stdout.decode().splitlines() if line.startswith("GPU0"))
    assert (done.status, row[1:3]) == (0, [" X ", "Unknown"])
