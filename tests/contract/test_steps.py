"""The closed set of steps of setter programs, each run through the library under the name of a setter of one number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mocklib import image, packing, state
from mocklib.image import Clock, FieldValue, ImageError
from tests.contract import boards

Serve = Callable[..., Any]
Step = dict[str, Any]
TAKEN, LEAST, MOST = "power.requested_limit_mw", "power.min_limit_mw", "power.max_limit_mw"
OTHER, LISTED, COUNTED = "power.enforced_limit_mw", "topology.cpus", "power.total_energy_consumption_mj"
FIELDS = {TAKEN: FieldValue(50), LEAST: FieldValue(10), MOST: FieldValue(90), OTHER: FieldValue(60)}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """MOCK_NVML_STATE, naming a file that is not there yet."""
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "steps.state"))
    return tmp_path / "steps.state"


def run(serve: Serve, steps: list[Step], argument: int, given: dict[str, FieldValue] | None = None) -> int:
    """The code of a setter whose program has these steps."""
    spec = boards.spec(devices=[boards.device() | FIELDS | (given or {})], programs={"power_limit": steps})
    nvml, handle = serve(spec)
    return int(nvml.call("nvmlDeviceSetPowerManagementLimit", handle, {"limit": argument}).code)


def value(path: Path, name: str) -> FieldValue:
    """What the state says of a field of device 0."""
    return state.read(path).devices[0].values[name]


@pytest.mark.parametrize(
    ("check", "codes"),
    [
        ({"check": "range", "argument": 0, "low": LEAST, "high": MOST, "code": 7}, {9: 7, 10: 0, 90: 0, 91: 7}),
        ({"check": "range", "argument": 0, "value": 5, "code": 7}, {4: 7, 5: 0}),
        ({"check": "equals", "field": TAKEN, "value": 50, "code": 7}, {0: 0}),
        ({"check": "equals", "field": TAKEN, "value": 51, "code": 7}, {0: 7}),
        ({"check": "differs", "field": TAKEN, "value": 50, "code": 19}, {0: 19}),
        ({"check": "equals", "argument": 0, "value": 3, "code": 7}, {3: 0, 4: 7}),
        ({"check": "differs", "argument": 0, "value": 3, "code": 7}, {3: 7, 4: 0}),
        ({"check": "mode", "mode": "ecc", "code": 7}, {0: 0}),
        ({"check": "mode", "mode": "unarmed", "code": 7}, {0: 0}),
        ({"check": "index", "argument": 0, "field": LISTED, "code": 7}, {1: 0, 2: 7}),
        ({"check": "list", "argument": 0, "field": LISTED, "code": 7}, {4: 0, 6: 7}),
        ({"check": "status", "field": TAKEN}, {0: 0}),
    ],
)
def test_a_check_holds_where_it_says(serve: Serve, path: Path, check: Step, codes: dict[int, int]) -> None:
    given = {LISTED: FieldValue((4, 5))}
    assert {argument: run(serve, [check, {"set": OTHER, "value": 1}], argument, given) for argument in codes} == codes


@pytest.mark.parametrize(("op", "code"), [("equals", 7), ("differs", 0), ("status", 15)])
def test_a_field_with_a_status_equals_nothing_and_is_answered_where_it_is_asked_for(serve: Serve, path: Path, op: str, code: int) -> None:
    step: Step = {"check": op, "field": TAKEN, "value": 50, "code": 7}
    assert run(serve, [step, {"set": OTHER, "value": 1}], 50, {TAKEN: FieldValue(status=15)}) == code


@pytest.mark.parametrize(
    ("step", "argument", "after"),
    [
        ({"set": TAKEN, "argument": 0}, 77, 77),
        ({"set": TAKEN, "value": 5}, 77, 5),
        ({"copy": TAKEN, "from": OTHER}, 0, 60),
        ({"zero": TAKEN}, 0, 0),
        ({"clamp": TAKEN, "low": OTHER, "high": MOST}, 0, 60),
        ({"clamp": TAKEN, "high": LEAST}, 0, 10),
        ({"set": TAKEN, "value": 5, "when": {"argument": 0, "value": 1}}, 1, 5),
        ({"set": TAKEN, "value": 5, "when": {"argument": 0, "value": 1}}, 2, 50),
        ({"set": TAKEN, "value": 5, "when": {"field": OTHER, "value": 60}}, 0, 5),
        ({"set": TAKEN, "value": 5, "when": {"field": OTHER, "value": 61}}, 0, 50),
    ],
)
def test_a_step_changes_what_it_says(serve: Serve, path: Path, step: Step, argument: int, after: int) -> None:
    assert run(serve, [step], argument) == 0
    view = state.read(path).devices[0]
    assert view.values[TAKEN].value == after
    assert (TAKEN in view.overridden) is (after != 50)


def test_a_guard_keeps_a_check_from_being_made(serve: Serve, path: Path) -> None:
    steps: list[Step] = [{"check": "differs", "field": TAKEN, "value": 50, "code": 19, "when": {"argument": 0, "value": 1}}, {"zero": OTHER}]
    assert [run(serve, steps, argument) for argument in (0, 1)] == [0, 19]


def test_restore_takes_back_what_was_set_and_its_mark(serve: Serve, path: Path) -> None:
    steps: list[Step] = [{"set": TAKEN, "argument": 0, "when": {"argument": 0, "value": 5}}, {"restore": TAKEN, "when": {"argument": 0, "value": 6}}]
    assert run(serve, steps, 5) == 0
    assert value(path, TAKEN) == FieldValue(5)
    assert run(serve, steps, 6) == 0
    view = state.read(path).devices[0]
    assert (view.values[TAKEN], view.overridden) == (FieldValue(50), frozenset())


def test_restore_brings_back_a_status(serve: Serve, path: Path) -> None:
    steps: list[Step] = [{"set": TAKEN, "argument": 0, "when": {"argument": 0, "value": 5}}, {"restore": TAKEN, "when": {"argument": 0, "value": 6}}]
    for argument in (5, 6):
        assert run(serve, steps, argument, {TAKEN: FieldValue(status=3)}) == 0
    assert value(path, TAKEN) == FieldValue(status=3)


def test_a_moving_field_begins_again_from_zero(serve: Serve, path: Path) -> None:
    spec = boards.spec(devices=[boards.device() | {COUNTED: FieldValue(500, kind=1, rate=7)}], programs={"power_limit": [{"rebase": COUNTED}]})
    state.create(path, image.pack(spec))
    nvml, handle = serve(spec)
    asked = "nvmlDeviceGetTotalEnergyConsumption"
    state.set_clock(path, Clock("frozen", boards.AT_NS + 10 * 10**9))
    assert nvml.call(asked, handle).out["energy"] == 570
    assert nvml.call("nvmlDeviceSetPowerManagementLimit", handle, {"limit": 1}).code == 0
    assert nvml.call(asked, handle).out["energy"] == 0
    state.set_clock(path, Clock("frozen", boards.AT_NS + 12 * 10**9))
    assert nvml.call(asked, handle).out["energy"] == 14


def test_a_mode_is_set_and_what_needs_it_follows(serve: Serve, path: Path) -> None:
    asked = {"errorType": 0, "counterType": 0, "locationType": 2}
    spec = boards.spec(programs={"power_limit": [{"set_mode": "ecc", "argument": 0}]})
    nvml, handle = serve(spec)
    codes = []
    for mode in (0, 1):
        assert nvml.call("nvmlDeviceSetPowerManagementLimit", handle, {"limit": mode}).code == 0
        codes.append(nvml.call("nvmlDeviceGetMemoryErrorCounter", handle, asked).code)
    assert codes == [3, 0]


def test_a_mark_is_set_for_the_next_init(serve: Serve, path: Path) -> None:
    spec = boards.spec(2, programs={"power_limit": [{"set_mark": "draining", "argument": 0}]})
    nvml, handle = serve(spec)
    assert nvml.call("nvmlDeviceSetPowerManagementLimit", handle, {"limit": 1}).code == 0
    assert (nvml.count(), state.read(path).devices[0].head.marks) == (2, frozenset({"draining"}))
    nvml.shutdown()
    nvml.init()
    assert nvml.count() == 1


def test_an_item_past_the_end_is_not_set(serve: Serve, path: Path) -> None:
    steps: list[Step] = [{"set_item": LISTED, "index": 0, "argument": 0}]
    for index, after in ((1, (4, 1, 6)), (3, (4, 5, 6)), (0xFFFFFFFF, (4, 5, 6))):
        path.unlink(missing_ok=True)
        assert run(serve, steps, index, {LISTED: FieldValue((4, 5, 6))}) == 0
        assert value(path, LISTED).value == after


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"sett": TAKEN}, "no step"),
        ({"check": "set", "field": TAKEN}, "no step"),
        ({"set": "power.requested_limit_w", "value": 1}, "did you mean"),
        ({"set": TAKEN, "valu": 1}, "no key valu"),
        ({"set": TAKEN, "when": {"field": TAKEN}}, "when"),
        ({"set_mode": "eccc", "value": 1}, "eccc"),
        ({"set_mark": "gone", "value": 1}, "gone"),
    ],
)
def test_a_step_that_is_none_is_named(step: Step, said: str) -> None:
    with pytest.raises(ImageError, match=said):
        packing.programs({"power_limit": [step]})


def test_the_image_refuses_a_program_whose_field_is_none(nvml: Any, image_path: Callable[..., Path]) -> None:
    made = image_path(replace(boards.spec(), programs={"power_limit": [{"set": TAKEN, "value": 0x1234567890}]}))
    data = bytearray(made.read_bytes())
    place = data.index((0x1234567890).to_bytes(8, "little")) - 14  # the step's field stands 14 bytes before its value
    data[place : place + 2] = (0x7FFF).to_bytes(2, "little")
    image.write(made, image.seal(bytes(data)))
    assert nvml.init() == 9
