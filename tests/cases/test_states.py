"""States: what stands in place of a value is kept as what it is, answered by its code and printed again."""

from __future__ import annotations

import pytest

from harness.stages.compare.judge import Actual, Expected, compare
from mocklib.binding import Nvml
from tests.cases.boards import A100, GT1030, H100, T4, drop, each, put, text_of
from tests.cases.conftest import Ask, Take
from tests.cases.taken import refused

DEPRECATED = "Requested functionality has been deprecated"


def code(nvml: Nvml, device: int, name: str, **arguments: int) -> int:
    return nvml.call(name, device, arguments).code


def test_a_deprecated_reading_is_a_state_of_its_own_and_costs_nothing_else(take: Take, ask: Ask):
    """BL-003: one GPU's odd leaf never drops the GPU."""
    given = text_of(A100).replace("<power_state>P0<", f"<power_state>{DEPRECATED}<")
    given = put(put(given, "display_mode", DEPRECATED), "applications_clocks", {"graphics_clock": DEPRECATED, "mem_clock": DEPRECATED})
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})
    assert [taken.value(key) for key in ("display.mode", "power.power_state", "clocks.graphics_app")] == ["deprecated"] * 3
    nvml, device = ask(taken)
    assert code(nvml, device, "nvmlDeviceGetDisplayMode") == 26
    assert code(nvml, device, "nvmlDeviceGetPowerState") == 26
    assert code(nvml, device, "nvmlDeviceGetApplicationsClock", clockType=0) == 26
    assert nvml.call("nvmlDeviceGetTemperature", device, {"sensorType": 0}).out == {"temp": 33}


@pytest.mark.parametrize(("was", "now"), [("N/A", DEPRECATED), (DEPRECATED, "N/A"), ("N/A", "0"), ("Insufficient Permissions", "Unknown Error")])
def test_two_states_or_a_state_and_a_zero_are_a_finding(was: str, now: str):
    """BL-003: the gate fails on it, and says that a state moved."""

    def read(data: bytes) -> list[tuple[str, str]]:
        return [("gpu[0]/display_mode", data.decode())]

    expected = Expected(
        id="x", kind="own", leaves=read(was.encode()), data=was.encode(), scrubbed="", readings="", redacted=frozenset(), unmodelled=frozenset()
    )
    actual = Actual(renderer="builtin", driver="570.148.08", layout="570.148.08", data=now.encode(), read=read, hash_readings=lambda _: "")
    case = compare(expected, actual, {"N/A", DEPRECATED, "Insufficient Permissions", "Unknown Error"})
    assert [(finding.kind, finding.path, finding.expected, finding.actual) for finding in case.findings] == [
        ("state", "gpu[0]/display_mode", was, now)
    ]
    assert not case.parity


def test_what_the_board_says_na_to_is_an_error_return_and_no_default_fills_it(take: Take, ask: Ask):
    """BL-006: the fields that other mocks made up."""
    given = put(text_of(H100), "sparse_operation_mode", "N/A")
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    nvml, device = ask(taken)
    assert code(nvml, device, "nvmlDeviceGetGpuOperationMode") == 3
    assert [code(nvml, device, "nvmlDeviceGetRetiredPages", cause=cause) for cause in (0, 1)] == [3, 3]
    assert [code(nvml, device, "nvmlDeviceGetRetiredPages_v2", cause=cause) for cause in (0, 1)] == [3, 3]
    assert [code(nvml, device, "nvmlDeviceGetTemperatureThreshold", thresholdType=kind) for kind in (4, 5, 6)] == [3, 3, 3]
    assert code(nvml, device, "nvmlDeviceGetInforomVersion", object=2) == 3


def test_a_count_of_no_pages_is_a_count(ask: Ask):
    """BL-006: the T4 has retired pages, none of them."""
    nvml, device = ask(T4)
    for cause in (0, 1):
        answer = nvml.call("nvmlDeviceGetRetiredPages", device, {"cause": cause})
        assert (answer.code, answer.out["pageCount"]) == (0, 0)


def test_a_block_that_is_a_bare_token_stays_one(take: Take, ask: Ask):
    """BL-027: no remapped rows at all, on a board whose capture had them."""
    given = put(text_of(A100), "remapped_rows", "N/A")
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})
    nvml, device = ask(taken)
    assert code(nvml, device, "nvmlDeviceGetRemappedRows") == 3
    assert refused(nvml, "nvmlDeviceGetRowRemapperHistogram", device, "nvmlRowRemapperHistogramValues_t") == 3


def test_a_block_of_zeros_is_not_a_block_that_is_absent(ask: Ask):
    """BL-027."""
    nvml, device = ask(A100)
    assert nvml.call("nvmlDeviceGetRemappedRows", device).out == {"corrRows": 0, "uncRows": 0, "isPending": 0, "failureOccurred": 0}
    assert nvml.call("nvmlDeviceGetRowRemapperHistogram", device).out["values.max"] == 640
    for board in (T4, GT1030):
        nvml, device = ask(board)
        assert code(nvml, device, "nvmlDeviceGetRemappedRows") == 3


def test_a_fan_in_error_and_a_recovery_action_are_readings(take: Take, ask: Ask):
    """BL-047: ``Unknown Error`` of one element is 999 of its call; ``None`` is a recovery action like any other."""
    first, second, rest = text_of(H100).partition("</gpu>\n")
    given = put(put(first, "fan_speed", "Unknown Error"), "gpu_recovery_action", "Reset") + second + rest
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})
    assert [taken.value("fan.speed_percent", gpu) for gpu in (0, 1)] == ["unknown_error", None]
    assert [taken.value("recovery_action", gpu) for gpu in (0, 1)] == ["reset", "none"]
    nvml, device = ask(taken)
    assert code(nvml, device, "nvmlDeviceGetFanSpeed") == 999
    assert nvml.field_values(device, [(230, 0)])[0].value == 1
    nvml, device = ask(taken, 1)
    assert code(nvml, device, "nvmlDeviceGetFanSpeed") == 3
    assert (nvml.field_values(device, [(230, 0)])[0].code, nvml.field_values(device, [(230, 0)])[0].value) == (0, 0)


def test_every_recovery_action_has_its_number(take: Take, ask: Ask):
    """BL-047."""
    actions = ["None", "Reset", "Reboot", "Drain P2P", "Drain and Reset", "N/A", "None", "None"]
    given = each(text_of(H100), lambda number, block: put(block, "gpu_recovery_action", actions[number]))
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})
    answers = [nvml.field_values(device, [(230, 0)])[0] for nvml, device in (ask(taken, index) for index in range(6))]
    assert [(answer.code, answer.value) for answer in answers] == [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (3, None)]


def test_a_word_that_no_query_prints_is_kept_as_it_stands_and_told(take: Take):
    """BL-047, BL-037: no zero and no nearest state.  ``ERR!`` and bracketed words are of the table and of CSV; XML has them from an editor's hand."""
    odd = {"gpu_recovery_action": "Reboot Twice", "fan_speed": "ERR!", "gpu_temp": "[N/A]", "performance_state": "[Not Supported]"}
    given = text_of(T4)
    for element, text in odd.items():
        given = put(given, element, text)
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    assert {path.rpartition("/")[2].removeprefix("gpu[0]/"): text for path, text in taken.unmodelled.items()} == odd
    assert all(f"{element}: {text!r}" in taken.out for element, text in odd.items())


STATES = [("Insufficient Permissions", "no_permission", 4), ("Unknown Error", "unknown_error", 999), ("GPU is lost", "gpu_lost", 15),
          ("GPU requires reset", "reset_required", 16), (DEPRECATED, "deprecated", 26), ("Not Found", "not_found", 6),
          ("System is not in ready state", "not_ready", 27), ("N/A", None, 3)]  # fmt: skip


def test_a_state_in_place_of_any_reading_is_answered_by_its_code(take: Take, ask: Ask):
    """Text states, of a number, a word and a serial alike: no scrubber takes a state for an identifier, no GPU takes its neighbour's."""

    def change(number: int, block: str) -> str:
        for element in ("gpu_temp", "compute_mode", "serial"):
            block = put(block, element, STATES[number][0])
        return block

    given = each(text_of(H100), change)
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})
    for index, (_, state, number) in enumerate(STATES):
        assert [taken.value(key, index) for key in ("thermal.temperature_gpu_c", "compute_mode", "serial")] == [state] * 3
        nvml, device = ask(taken, index)
        assert code(nvml, device, "nvmlDeviceGetTemperature", sensorType=0) == number
        assert code(nvml, device, "nvmlDeviceGetComputeMode") == number
        assert code(nvml, device, "nvmlDeviceGetSerial") == number


def test_an_element_that_is_absent_is_neither_printed_nor_made_a_state(take: Take):
    """Absent is a fact of layout: the profile has neither a value nor a state for it."""
    given = drop(text_of(T4), "fan_speed")
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.value("fan.speed_percent")) == (0, given, None)
