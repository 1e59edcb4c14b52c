"""The accounting buffer of a capture: terminated processes, running ones, and buffers that no profile says."""

from __future__ import annotations

import pytest

from harness.stages import compile as compiling
from harness.stages import derive
from harness.stores import profiles
from harness.tables import drivers
from harness.text import document, transcript
from mocklib.image import Accounted

PROCESS = """<process_info><gpu_instance_id>N/A</gpu_instance_id><compute_instance_id>N/A</compute_instance_id><pid>{0}</pid><type>C</type>
<process_name>p</process_name><used_memory>{1} MiB</used_memory></process_info>"""
RECORD = """<accounted_process_info><pid>{0}</pid><gpu_util>{1} %</gpu_util><memory_util>{2} %</memory_util>
<max_memory_usage>{3} MiB</max_memory_usage><time>{4} ms</time><is_running>{5}</is_running></accounted_process_info>"""
GONE, RUNS, MORE = (8, 3, 2, 40, 700, 0), (9, 77, 22, 50, 0, 1), (7, 5, 4, 60, 0, 1)


@pytest.fixture(scope="module")
def made(repository):
    """The derived profile of a board of 470.74 with these processes and records, and what it serves."""
    stored = (repository / "captures" / "geforce-gt-1030-x1_470.74" / "transcript.txt").read_text()
    data = transcript.load(stored).to_bytes().decode()

    def derived(processes, records, mode="Enabled"):
        text = data.replace("<accounting_mode>Disabled<", f"<accounting_mode>{mode}<")
        head, _, rest = text.partition("<processes>")
        tail = rest.partition("</accounted_processes>")[2]
        lists = "".join(PROCESS.format(*process) for process in processes), "".join(RECORD.format(*record) for record in records)
        text = f"{head}<processes>{lists[0]}</processes>\n<accounted_processes>{lists[1]}</accounted_processes>{tail}"
        driver = drivers.load().resolve("470.74")
        found = derive.derive(document.read(text.encode()), driver)
        profile = profiles.parse(found.text.encode())
        spec = compiling.compile_profile(profile, driver)
        return found.unmodelled, profile.devices[0].values, spec.devices[0]["accounting.processes"].value

    return derived


def test_terminated_processes_stand_under_accounting_and_running_ones_under_processes(made):
    unmodelled, values, served = made([(9, 50), (7, 59)], [GONE, RUNS, MORE])
    assert unmodelled == ()
    assert values["accounting.terminated"] == [{"pid": 8, "gpu_util": 3, "mem_util": 2, "max_memory_mib": 40, "time_ms": 700}]
    nine, seven = values["processes"]
    assert (nine["sm_util"], nine["mem_util"], "max_memory_mib" in nine) == (77, 22, False)
    assert (seven["sm_util"], seven["max_memory_mib"]) == (5, 60)
    assert served == (
        Accounted(8, 3, 2, 40 << 20, 700), Accounted(9, 77, 22, 50 << 20, running=True), Accounted(7, 5, 4, 60 << 20, running=True),
    )  # fmt: skip


def test_a_process_without_a_record_is_not_accounted_for(made):
    unmodelled, values, served = made([(9, 50), (7, 59)], [RUNS])
    assert unmodelled == ()
    assert values["processes"][1]["accounted"] is False
    assert [record.pid for record in served] == [9]


def test_without_accounting_no_process_is_marked_and_the_library_has_those_running_for_when_it_is_turned_on(made):
    _, values, served = made([(9, 50)], [], mode="Disabled")
    assert "accounted" not in values["processes"][0]
    assert [(record.pid, record.running) for record in served] == [(9, True)]


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([RUNS, GONE], "a terminated process stands behind a running one"),
        ([GONE, GONE], "a process stands twice"),
        ([MORE, RUNS], "its running processes are not those of the process list in order"),
        ([(1, *RUNS[1:])], "its running processes are not those of the process list in order"),
    ],
)
def test_a_buffer_no_profile_says_is_kept_whole_and_none_of_it_is_served(made, records, said):
    unmodelled, values, served = made([(9, 50), (7, 59)], records)
    assert {reading.why for reading in unmodelled} == {f"no profile says such a buffer: {said}"}
    assert len(unmodelled) == 6 * len(records)
    assert served == ()
    assert "accounting.terminated" not in values
