"""A recording of a profile's mock derives into that profile's keys: every one that a call of the list or a field id answers."""

from __future__ import annotations

import pytest

from harness.stages import compile_device, derive
from harness.stages.answers import contradicting, deriving, gathering, inverting, replaying
from harness.stages.answers.told import Told
from harness.stores import captures, profiles
from harness.stores.profiles import Device
from harness.stores.schema import keys
from harness.tables import drivers
from mocklib import fields
from tests.parity.mutations_board import SPACE
from tests.parity.test_fixed_point import one_a_driver

pytestmark = pytest.mark.usefixtures("served_library")
FIELD_OF = {
    "processes": "processes.compute",
    "supported_clocks.memory_clocks": "clocks.supported",
    "accounting.terminated": "accounting.processes",
    **dict.fromkeys(keys.FLAGS, "clocks_throttle_reasons.mask"),
    **{path: "fabric.health_mask" for path, _ in keys.HEALTH},
    "power.smoothing.supported": "power.smoothing.enabled",
    "power.smoothing.state": "power.smoothing.enabled",
}
"""Key that has another name than the field that answers it."""
UNMODELLED = {"geforce-gtx-1070-x2_384.66_4", "p100-pcie-12gb-x2_375.66"}
"""Captures whose profile keeps readings that no call gives back (totals of ECC counters with ECC off; one member of a struct without the other)."""
DRAW = "power.current_draw_mw"


def answered(key: str, told: dict[str, Told]) -> Told | None:
    """What an answer says of a key, None for one that nothing was asked of: keys of slots, and of calls that the driver does not have yet."""
    name = FIELD_OF.get(key, key)
    return told.get(name) if name in fields.device_fields() else None


def excused(said: Told, device: Device) -> bool:
    """A code in place of the key's value: while ECC is off its counters are refused, and a struct is refused for another member of it."""
    return bool(said.code) and (said.shared or inverting.lacking(said.name, device.values))


@pytest.mark.parametrize("name", one_a_driver())
def test_keys_of_answers_are_the_profiles_own(name: str) -> None:
    profile = profiles.load(SPACE.profile_path(name))
    driver = drivers.load().resolve(profile.driver_version)
    recording = replaying.record_mock(SPACE.profile_path(name), SPACE)
    made = deriving.derive(recording, drivers.load())
    derived = profiles.parse(made.text.encode())
    told = gathering.gather(recording, driver)
    assert made.counts["unheld"] == 0
    assert [device.state for device in derived.devices] == [device.state for device in profile.devices]
    assert (derived.driver_version, len(derived.devices)) == (profile.driver_version, len(profile.devices))
    for index, (own, again) in enumerate(zip(profile.devices, derived.devices, strict=True)):
        if own.state is not None:
            continue
        asked = told[index].fields
        wrong = {
            key: (value, again.values.get(key))
            for key, value in own.values.items()
            if (said := answered(key, asked)) is not None and again.values.get(key) != value and not excused(said, own)
        }
        served, given = compile_device.device_fields(own, index), compile_device.device_fields(again, index)
        if served[DRAW] == given[DRAW]:  # the one draw of a board comes back as its mean and its instant
            wrong.pop(DRAW, None)
        assert wrong == {}
        assert {key for key, said in asked.items() if not excused(said, own) and served[key].status != given[key].status} == set()


@pytest.mark.parametrize("name", [name for name in one_a_driver() if "nodrv" not in name])
def test_a_mock_contradicts_no_reading_of_its_own_capture(name: str) -> None:
    query = captures.load(SPACE.captures, name).query
    if query is None:
        pytest.skip("a list alone")
    tree = drivers.load()
    driver = tree.resolve(str(query.get("driver_version")))
    recording = replaying.record_mock(SPACE.profile_path(name), SPACE)
    found = contradicting.find(recording, query, driver)
    unmodelled = {reading.path for reading in derive.derive(query, driver).unmodelled}
    assert [each for each in found if each.path not in unmodelled] == []
    assert bool(found) == (name in UNMODELLED)
    judge = contradicting.Judge(recording, query, driver)
    judged = [reading for reading in judge.readings if judge.asks(reading) is not None]
    silent = [reading.row for reading in judged if judge.answered(reading) is None]
    assert len(silent) < len(judged) / 4, sorted(set(map(str, silent)))
