"""Contradictions: a reading that is not what its row makes of the answer is told, and nothing else is."""

from __future__ import annotations

import dataclasses

import pytest

from harness.stages.answers import contradicting
from harness.tables import drivers
from harness.text import document, transcript
from mocklib.answers import Asked
from mocklib.binding import Answer

H100 = "h100-sxm5-x8_580.105.08"
TEMPERATURE = Asked("nvmlDeviceGetTemperature", 0, (("sensorType", 0),))
PATH = "gpu[0]/temperature/gpu_temp"


@pytest.fixture(scope="module")
def driver():
    return drivers.load().resolve("580.105.08")


@pytest.fixture(scope="module")
def captured(repository):
    return transcript.load((repository / "captures" / H100 / "transcript.txt").read_text())


def find(recording, captured, driver, **more):
    return contradicting.find(recording, captured, driver, **more)


def paths(found):
    return [each.path for each in found]


def test_an_answer_that_the_text_prints_is_no_contradiction(captured, driver):
    assert find({TEMPERATURE: Answer(0, {"temp": 29})}, captured, driver) == ()


def test_a_contradiction_names_element_row_both_values_and_the_call(captured, driver):
    (found,) = find({TEMPERATURE: Answer(0, {"temp": 31})}, captured, driver)
    assert (found.path, found.gpu, found.row) == (PATH, 0, "thermal.temperature_gpu_c")
    assert (found.printed, found.answered) == ("29 C", "31 C")
    assert (found.call, found.answer) == ('nvmlDeviceGetTemperature {"sensorType":0}', 'SUCCESS {"temp":31}')
    assert "29 C" in str(found)


def test_a_code_whose_text_is_another_is_one(captured, driver):
    (found,) = find({TEMPERATURE: Answer(3)}, captured, driver)
    assert (found.printed, found.answered, found.answer) == ("29 C", "N/A", "NOT_SUPPORTED")


def test_rounding_is_that_of_the_row(captured, driver):
    draw = Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", 185), ("scopeId", 0)))
    assert find({draw: Answer(0, {"valueType": 1, "value": 68_573})}, captured, driver) == ()
    assert paths(find({draw: Answer(0, {"valueType": 1, "value": 68_590})}, captured, driver)) == ["gpu[0]/gpu_power_readings/average_power_draw"]


def test_a_call_that_was_not_asked_or_is_missing_says_nothing(captured, driver):
    assert find({}, captured, driver) == ()
    assert find({TEMPERATURE: Answer(13, missing=True)}, captured, driver) == ()


def test_a_reading_in_motion_is_set_aside_by_evidence_alone(captured, driver):
    recording = {TEMPERATURE: Answer(0, {"temp": 31})}
    assert find(recording, captured, driver, moved=[PATH]) == ()
    assert len(find(recording, captured, driver, moved=["gpu[1]/temperature/gpu_temp"])) == 1
    later = document.read(captured.to_bytes().replace(b"<gpu_temp>29 C</gpu_temp>", b"<gpu_temp>31 C</gpu_temp>", 1))
    assert find(recording, captured, driver, second=later) == ()
    assert len(find(recording, captured, driver, second=captured)) == 1


def test_a_row_with_the_route_of_another_is_seen_at_exactly_its_elements(captured, driver):
    """The answers of the calls that two rows ask, each under the other's row: a route swapped."""
    recording = {
        Asked("nvmlDeviceGetMaxClockInfo", 0, (("type", kind),)): Answer(0, {"clock": clock})
        for kind, clock in ((0, 1980), (1, 1980), (2, 2619), (3, 1545))
    }
    assert find(recording, captured, driver) == ()
    rows = ("clocks.memory_max", "clocks.video_max")
    swapped = {rows[0]: driver.routes[rows[1]], rows[1]: driver.routes[rows[0]]}
    wrong = dataclasses.replace(driver, routes={**driver.routes, **swapped})
    found = find(recording, captured, wrong)
    assert [(each.row, each.printed, each.answered) for each in found] == [
        ("clocks.memory_max", "2619 MHz", "1545 MHz"), ("clocks.video_max", "1545 MHz", "2619 MHz"),
    ]  # fmt: skip


def test_every_row_that_asks_a_call_is_judged(captured, driver):
    """No row falls silent: of a recording that has every call of GPU 0, all readings of it are said something of."""
    judge = contradicting.Judge({}, captured, driver)
    routes = {reading.row: judge.asks(reading) for reading in judge.readings if reading.gpu == 0 and judge.asks(reading) is not None}
    recording = {}
    for route in routes.values():
        if route.kind == "call":
            recording[Asked(route.target, 0, tuple((name, value) for name, value in route.args if isinstance(value, int)))] = Answer(3)
        elif route.kind == "fieldvalue":
            recording[Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", driver.field_ids[route.target]), ("scopeId", route.scope)))] = Answer(3)
        if route.supported:
            recording[Asked(route.supported, 0)] = Answer(0, {"mask": 2**63})
    judge = contradicting.Judge(recording, captured, driver)
    silent = [reading.row for reading in judge.readings if reading.row in routes and reading.gpu == 0 and judge.answered(reading) is None]
    assert set(silent) <= {"supported_clocks.graphics", "ecc.errors.volatile.single_bit.total"}
    assert len(routes) > 100


def test_lists_are_compared_entry_by_entry(captured, driver):
    listed = Asked("nvmlDeviceGetSupportedMemoryClocks", 0)
    assert find({listed: Answer(0, {"count": 2, "clocksMHz": [2619, 1593]})}, captured, driver) == ()
    found = find({listed: Answer(0, {"count": 2, "clocksMHz": [2619, 1600]})}, captured, driver)
    assert [(each.printed, each.answered) for each in found] == [("1593 MHz", "1600 MHz")]
    found = find({listed: Answer(0, {"count": 1, "clocksMHz": [2619]})}, captured, driver)
    assert [(each.printed, each.answered) for each in found] == [("1593 MHz", "(no such entry)")]
    clocks = Asked("nvmlDeviceGetSupportedGraphicsClocks", 0, (("memoryClockMHz", 1593),))
    found = find({clocks: Answer(0, {"count": 2, "clocksMHz": [1980, 1964]})}, captured, driver)
    assert found[0].path == "gpu[0]/supported_clocks/supported_mem_clock[1]/supported_graphics_clock[1]"
    assert (found[0].printed, found[0].answered) == ("1965 MHz", "1964 MHz")


def test_slots_and_literals_are_never_contradicted(captured, driver):
    """Their answers are not asked, or nothing is asked for them."""
    recording = {Asked("nvmlDeviceGetApplicationsClock", 0, (("clockType", 0),)): Answer(0, {"clockMHz": 1})}
    printed = {each.row for each in find(recording, captured, driver)}
    assert all(driver.routes[row].kind in ("call", "fieldvalue") for row in printed)


@pytest.mark.parametrize("out", [{}, {"temp": "x"}, {"other": 1}, {"temp": [1, 2]}])
def test_an_answer_of_another_shape_ends_in_no_error(captured, driver, out):
    find({TEMPERATURE: Answer(0, out)}, captured, driver)


@pytest.mark.parametrize("value", [-1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, "", "x" * 99, b"\xff" * 16, [2**64 - 1, "x"], {"a": 1}, 1.5], ids=repr)
def test_no_value_of_any_call_breaks_the_comparison(captured, driver, value):
    """Every row with a route of its own gets the value, whatever it is, from the call that it asks."""
    judge = contradicting.Judge({}, captured, driver)
    recording: dict[Asked, Answer] = {}
    for reading in judge.readings:
        route = judge.asks(reading)
        if route is not None and route.kind == "call":
            asked = Asked(route.target, 0, tuple((name, given) for name, given in route.args if isinstance(given, int)))
            recording[asked] = Answer(0, {**(recording[asked].out if asked in recording else {}), route.out or "value": value})
        elif route is not None and route.kind == "fieldvalue":
            asked = Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", driver.field_ids[route.target]), ("scopeId", route.scope)))
            recording[asked] = Answer(0, {"valueType": 3, "value": value})
    found = find(recording, captured, driver)
    assert all(each.printed != each.answered for each in found)
    assert found or not isinstance(value, int)
