"""What the real nvidia-smi makes of cases: the binary of a branch on the mock, leaf by leaf against builtin."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.stages.smi import run_smi
from tests.cases.boards import A100, H100, Content, each, process, put
from tests.cases.conftest import On, Take
from tests.cases.taken import Taken

Run = Callable[..., str]


@pytest.fixture
def run(smi_binary: Callable[[int], Path], library_path: Path) -> Run:
    """``run(550, taken, "-q", "-x")``: what the binary of a branch prints for an import, its clock left out."""

    def start(branch: int, taken: Taken, *arguments: str) -> str:
        done = run_smi(smi_binary(branch), arguments, library=library_path, variables={"NVPARITY_IMAGE": str(taken.image)})
        assert done.status == 0
        return clockless(done.stdout.decode("utf-8", "surrogateescape"))

    return start


def clockless(text: str) -> str:
    return re.sub("<timestamp>.*</timestamp>", "<timestamp/>", text)


def test_link_generations_and_board_ids_come_back_through_the_binary(take: Take, on: On, run: Run):
    """BL-056: the host slower than the board, board ids that differ; no N/A that is a zero in one of the two renders."""
    generations: Content = {
        "max_link_gen": "6", "current_link_gen": "6", "device_current_link_gen": "6", "max_device_link_gen": "6", "max_host_link_gen": "4",
    }  # fmt: skip
    given = each(on(H100, "550.163.01"), lambda number, block: put(block, "board_id", f"0x{0x80600 + number:x}"))
    given = put(given, "pcie_gen", generations)
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    printed = run(550, taken, "-q", "-x")
    assert printed == clockless(given)
    assert re.findall("<board_id>(.*)</board_id>", printed) == [f"0x{0x80600 + number:x}" for number in range(8)]


@pytest.mark.parametrize("branch", [535, 550])
@pytest.mark.parametrize("count", [0, 2])
def test_the_private_list_has_the_processes_of_the_public_one(branch: int, count: int, take: Take, on: On, run: Run):
    """BL-015: none is an empty block, two are two with their names; the binary takes them from its private table."""
    processes = [process(4101, "/opt/a", "2806 MiB"), process(4102, "/opt/b", "3047 MiB")][:count]
    given = on(A100, {535: "535.274.02", 550: "550.163.01"}[branch])
    given = put(given, "processes", processes) if processes else given
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    printed = run(branch, taken, "-q", "-x")
    assert re.findall("<process_name>(.*)</process_name>", printed) == ["/opt/a", "/opt/b"][:count]
    assert re.findall("<used_memory>(.*)</used_memory>", printed) == ["2806 MiB", "3047 MiB"][:count]


def test_a_binary_of_another_branch_prints_the_version_that_the_library_reports(take: Take, on: On, run: Run):
    """BL-016: it runs, which the report says it would not; so a version that does not match is ours to tell, never the binary's."""
    printed = run(550, take(on(A100, "580.105.08")), "-q", "-x")
    assert "<driver_version>580.105.08</driver_version>" in printed
    assert "<product_name>NVIDIA A100-SXM4-40GB</product_name>" in printed


def test_a_state_is_the_binarys_text_of_its_code(take: Take, on: On, run: Run):
    """BL-003, BL-047, text states: the sentence, the error and the lost GPU come back through the binary."""
    texts = {"gpu_temp": "GPU is lost", "compute_mode": "Insufficient Permissions", "display_mode": "Requested functionality has been deprecated",
             "fan_speed": "Unknown Error", "performance_state": "GPU requires reset"}  # fmt: skip
    given = on(A100, "550.163.01")
    for element, text in texts.items():
        given = put(given, element, text)
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})
    printed = run(550, taken, "-q", "-x")
    assert {element: re.findall(f"<{element}>(.*)</{element}>", printed)[0] for element in texts} == texts
