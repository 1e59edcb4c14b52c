"""The comparison: hashes decide, findings have the right kind, place and count."""

from __future__ import annotations

import hashlib
import sys

import pytest

from harness.stages.compare import Actual, Expected, compare

STATES = frozenset({"N/A", "Requested functionality has been deprecated"})
BOARD = [
    ("driver_version", "470.74"),
    ("gpu[0]/uuid", "GPU-a"),
    ("gpu[0]/temperature/gpu_temp", "36 C"),
    ("gpu[0]/fan_speed", "N/A"),
    ("gpu[0]/supported_clocks/supported_mem_clock[0]/value", "405 MHz"),
    ("gpu[1]/uuid", "GPU-b"),
    ("gpu[1]/temperature/gpu_temp", "37 C"),
]


def text(leaves):
    return "".join(f"{path}={value}\n" for path, value in leaves).encode()


def read(data):
    return [tuple(line.split("=", 1)) for line in data.decode().splitlines()]


def sha(data):
    return hashlib.sha256(data).hexdigest()


def case(got, wanted=BOARD, kind="own", **more):
    expected = Expected("board", kind, list(wanted), text(wanted), sha(text(wanted)), sha(text(wanted)), **more)
    data = got if isinstance(got, bytes) else text(got)
    return compare(expected, Actual("builtin", "470.74", "470.74", data, read, sha), STATES)


def changed(path, value, leaves=BOARD):
    return [(name, value if name == path else old) for name, old in leaves]


def summary(result):
    return [(finding.gpu, finding.path, finding.kind, finding.expected, finding.actual) for finding in result.findings]


def equation(counts, findings):
    told = sum(1 for finding in findings if finding.kind != "invented")
    ruled = counts.volatile + counts.tolerated + counts.gaps + counts.deferred
    return counts.elements == counts.exact + ruled + counts.redacted + counts.unmodelled + told


def test_equal_bytes_are_parity_and_every_element_is_exact():
    result = case(BOARD)
    assert result.parity
    assert result.bytes == "equal"
    assert (result.counts.elements, result.counts.exact, result.gpus, result.counts.clock_lines) == (7, 7, 2, 1)
    assert (result.rows.elements, result.rows.exact) == (5, 5)


def test_equal_bytes_never_load_the_differ(monkeypatch):
    monkeypatch.delitem(sys.modules, "harness.stages.compare.diff", raising=False)
    case(BOARD)
    assert "harness.stages.compare.diff" not in sys.modules


def test_a_changed_value_is_one_finding_on_its_gpu():
    result = case(changed("gpu[1]/temperature/gpu_temp", "38 C"))
    assert summary(result) == [("GPU-b", "gpu[1]/temperature/gpu_temp", "changed", "37 C", "38 C")]
    assert result.bytes == "differs"
    assert equation(result.counts, result.findings)
    assert result.rows.exact == 4


@pytest.mark.parametrize(("path", "value"), [("gpu[0]/fan_speed", "0 %"), ("gpu[0]/temperature/gpu_temp", "N/A")])
def test_a_state_in_place_of_a_value_is_a_finding_of_kind_state(path, value):
    assert [finding.kind for finding in case(changed(path, value)).findings] == ["state"]


def test_one_state_for_another_is_a_finding_of_kind_state():
    result = case(changed("gpu[0]/fan_speed", "Requested functionality has been deprecated"))
    assert [finding.kind for finding in result.findings] == ["state"]


def test_a_missing_element():
    result = case([leaf for leaf in BOARD if leaf[0] != "gpu[0]/fan_speed"])
    assert summary(result) == [("GPU-a", "gpu[0]/fan_speed", "missing", "N/A", None)]
    assert equation(result.counts, result.findings)


def test_an_invented_element_stands_on_top_of_the_equation():
    result = case([*BOARD, ("gpu[1]/fan_speed", "30 %")])
    assert summary(result) == [("GPU-b", "gpu[1]/fan_speed", "invented", None, "30 %")]
    assert (result.counts.elements, result.counts.exact, result.counts.invented) == (7, 7, 1)


def test_one_element_moved_is_one_finding_of_kind_order():
    moved = [BOARD[0], BOARD[1], BOARD[3], BOARD[2], *BOARD[4:]]
    result = case(moved)
    assert [finding.kind for finding in result.findings] == ["order"]
    assert result.findings[0].path in ("gpu[0]/fan_speed", "gpu[0]/temperature/gpu_temp")
    assert equation(result.counts, result.findings)


def test_an_element_both_moved_and_changed_is_counted_once():
    moved = [BOARD[0], BOARD[1], ("gpu[0]/fan_speed", "3 %"), BOARD[2], *BOARD[4:]]
    result = case(moved)
    assert equation(result.counts, result.findings)
    assert len({finding.path for finding in result.findings}) == len(result.findings)


def test_gpus_pair_by_uuid_so_swapped_gpus_are_out_of_order_but_unchanged():
    swapped = [
        BOARD[0],
        ("gpu[0]/uuid", "GPU-b"),
        ("gpu[0]/temperature/gpu_temp", "37 C"),
        *((path.replace("gpu[0]", "gpu[1]"), value) for path, value in BOARD[1:5]),
    ]
    result = case(swapped)
    assert {finding.kind for finding in result.findings} == {"order"}
    assert equation(result.counts, result.findings)


def test_a_changed_uuid_is_one_finding_and_no_lost_gpu():
    result = case(changed("gpu[1]/uuid", "GPU-c"))
    assert summary(result) == [("GPU-b", "gpu[1]/uuid", "changed", "GPU-b", "GPU-c")]


def test_gpus_that_share_a_uuid_are_told_apart_by_index():
    shared = [(path, "GPU-0" if path.endswith("uuid") else value) for path, value in BOARD]
    result = case(changed("gpu[1]/temperature/gpu_temp", "1 C", shared), wanted=shared)
    assert summary(result) == [("1", "gpu[1]/temperature/gpu_temp", "changed", "37 C", "1 C")]


def test_a_gpu_the_capture_has_not_is_invented():
    more = [*BOARD, ("gpu[2]/uuid", "GPU-z"), ("gpu[2]/temperature/gpu_temp", "1 C")]
    result = case(more)
    assert [(finding.gpu, finding.kind) for finding in result.findings] == [("GPU-z", "invented")] * 2


def test_bytes_that_differ_outside_every_element_are_a_finding_with_the_line():
    wanted = text(BOARD)
    expected = Expected("board", "own", BOARD, wanted, sha(wanted), sha(wanted))
    actual = Actual("builtin", "470.74", "470.74", wanted.replace(b"gpu[1]/uuid", b" gpu[1]/uuid"), lambda _: BOARD, sha)
    result = compare(expected, actual, STATES)
    assert [(finding.path, finding.kind) for finding in result.findings] == [("line 6", "invented")]
    assert not result.parity


def test_a_trimmed_capture_is_judged_by_its_readings_and_a_gpu_that_it_left_out_is_invented():
    result = case(BOARD[:5], wanted=BOARD[:5], kind="trimmed")
    assert (result.parity, result.bytes, result.counts.exact, result.counts.invented) == (True, "n/a", 5, 0)
    more = case(BOARD, wanted=BOARD[:5], kind="trimmed")
    assert {finding.kind for finding in more.findings} == {"invented"}
    assert more.counts.invented == len(BOARD) - 5
    wrong = case(changed("gpu[0]/fan_speed", "3 %")[:5], wanted=BOARD[:5], kind="trimmed")
    assert [finding.path for finding in wrong.findings] == ["gpu[0]/fan_speed"]


def test_a_golden_whose_readings_hash_is_not_that_of_its_transcript_is_drift():
    wanted = text(BOARD)
    expected = Expected("board", "re-indented", BOARD, wanted, sha(wanted), "0" * 64)
    result = compare(expected, Actual("builtin", "470.74", "470.74", wanted, read, sha), STATES)
    assert (result.findings, len(result.drift)) == ([], 1)


def test_a_reindented_capture_is_judged_by_its_readings():
    wanted = text(BOARD)
    expected = Expected("board", "re-indented", BOARD, b"other layout", sha(b"other layout"), sha(wanted))
    result = compare(expected, Actual("builtin", "470.74", "470.74", wanted, read, sha), STATES)
    assert (result.bytes, result.parity, result.counts.exact) == ("n/a", True, 7)
    different = compare(expected, Actual("builtin", "470.74", "470.74", text(BOARD[:-1]), read, sha), STATES)
    assert [finding.kind for finding in different.findings] == ["missing"]


def test_an_edited_capture_is_a_case_without_elements():
    result = case(BOARD[:2], kind="edited")
    assert (result.counts.elements, result.bytes, result.findings, result.parity) == (0, "n/a", [], True)


def test_verbatim_elements_are_unmodelled_and_never_exact():
    result = case(BOARD, unmodelled=frozenset({"gpu[0]/fan_speed"}))
    assert (result.counts.unmodelled, result.counts.exact) == (1, 6)
    assert equation(result.counts, result.findings)


def test_redacted_readings_are_counted_apart_and_not_compared():
    result = case(changed("gpu[0]/fan_speed", "30 %"), redacted=frozenset({"gpu[0]/fan_speed"}))
    assert (result.findings, result.counts.redacted, result.counts.exact) == ([], 1, 6)


def test_a_transcript_that_left_its_golden_fails_the_gate():
    wanted = text(BOARD)
    expected = Expected("board", "own", BOARD, wanted + b"x", sha(wanted), sha(wanted))
    result = compare(expected, Actual("builtin", "470.74", "470.74", wanted, read, sha), STATES)
    assert result.findings == []
    assert len(result.drift) == 1
    assert not result.parity


def test_assumed_routes_are_counted_by_element_and_by_row():
    wanted = text(BOARD)
    expected = Expected("board", "own", BOARD, wanted, sha(wanted), sha(wanted))
    assumed = frozenset({"gpu[0]/temperature/gpu_temp", "gpu[1]/temperature/gpu_temp"})
    result = compare(expected, Actual("builtin", "470.74", "470.74", wanted, read, sha, assumed), STATES)
    assert (result.counts.assumed, result.rows.assumed, result.counts.exact) == (2, 1, 7)
