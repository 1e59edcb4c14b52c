"""What two runs of a view are judged to be: a crash, a hang, a byte that nobody wrote and a status that no table explains never pass."""

from __future__ import annotations

import signal

import pytest

from harness.stages.matrix import cells
from harness.stages.smi import SmiRun
from harness.tables.views import View

VIEW = View("topo-m", ("topo", "-m"), since=390, ends={255: "no topology is known"}, none="No GPU")
QUERY = View("query-gpu", ("--query-gpu={fields}", "--format=csv"), fields=("--help-query-gpu",))
UNKNOWN = {2}


def judged(first: SmiRun | None, second: SmiRun | None = None, *, view: View = VIEW, branch: int = 550) -> cells.Cell:
    return cells.judge("board", branch, view, (first, first if second is None else second), UNKNOWN)


def ran(text: bytes, status: int = 0, stderr: bytes = b"") -> SmiRun:
    return SmiRun(status, text, stderr)


@pytest.mark.parametrize(
    ("run", "branch", "outcome", "said"),
    [
        (ran(b"GPU0 X\n"), 550, cells.VALUES, ""),
        (ran(b""), 550, cells.EMPTY, ""),
        (ran(b" No GPU at hand\nBye\n"), 550, cells.NONE, "No GPU at hand"),
        (ran(b"Failed to run\n\n", 255), 550, cells.REFUSED, "Failed to run"),
        (ran(b"Option is not known.\n", 2), 340, cells.UNKNOWN, "Option is not known."),
    ],
)
def test_what_a_view_gives(run, branch, outcome, said):
    cell = judged(run, branch=branch)
    assert (cell.outcome, cell.said, cell.status, cell.faults) == (outcome, said, run.status, ())


@pytest.mark.parametrize(
    ("runs", "branch", "fault"),
    [
        ((ran(b"half", -signal.SIGSEGV), ran(b"half", -signal.SIGSEGV)), 550, "ends by SIGSEGV"),
        ((ran(b"whole"), ran(b"half", -signal.SIGABRT)), 550, "ends by SIGABRT"),
        ((ran(b"a\nb 1\n"), ran(b"a\nb 2\n")), 550, "prints bytes that nobody wrote: 'b 1' and 'b 2'"),
        ((ran(b"a\n"), ran(b"a\nb\n")), 550, "prints bytes that nobody wrote: 1 and 2 lines"),
        ((ran(b"a"), ran(b"a", 255)), 550, "ends with status 0 and 255"),
        ((ran(b"Internal error", 9),) * 2, 550, "ends with status 9, documented: 0, 255"),
        ((ran(b"odd", 255),) * 2, 340, "ends with status 255, documented: 2"),
        ((ran(b"knows it"),) * 2, 340, "ends with status 0, documented: 2"),
        ((ran(b"not here", 2),) * 2, 550, "ends with status 2, documented: 0, 255"),
        ((ran(b"a", 0, b"libnvidia-ml: odd\n"),) * 2, 550, "says on stderr: libnvidia-ml: odd"),
        ((ran(b"", 255),) * 2, 550, "ends with status 255 and says nothing"),
    ],
)
def test_what_no_view_may_do(runs, branch, fault):
    cell = judged(*runs, branch=branch)
    assert cell.outcome == cells.FAULT
    assert fault in cell.faults


@pytest.mark.parametrize("runs", [(None, ran(b"a")), (ran(b"a"), None), (None, None)])
def test_a_run_that_does_not_end_is_a_fault(runs):
    cell = cells.judge("board", 550, VIEW, runs, UNKNOWN)
    assert (cell.outcome, cell.faults) == (cells.FAULT, ("does not end in time",))


def test_the_host_s_time_is_no_difference():
    first = ran(b"Mon Nov 30 20:03:34 2026  \n2026/11/30 20:03:34.123, 5\n")
    assert judged(first, ran(b"Tue Dec  1 00:00:00 2026  \n2026/12/01 00:00:00.000, 5\n")).faults == ()
    assert judged(first, ran(b"Tue Dec  1 00:00:00 2026  \n2026/12/01 00:00:00.000, 6\n")).faults != ()


def test_columns_with_a_value_on_any_gpu_are_counted():
    text = b"name, power.draw [W], a, b\nT4, [N/A], [Not Supported], 0\nT4, 1.5 W, [N/A], 1\n"
    assert judged(ran(text), view=QUERY).given == (3, 4)
    assert judged(ran(b"name, a\n"), view=QUERY).given == (0, 2)
    assert judged(ran(b"GPU0 X\n")).given is None


def test_a_status_that_the_profile_accounts_for_is_no_fault():
    lost = ran(b"Unable to determine the device handle\n", 15)
    assert cells.judge("board", 550, VIEW, (lost, lost), UNKNOWN, {15}).outcome == cells.REFUSED
    assert judged(lost).faults == ("ends with status 15, documented: 0, 255",)
