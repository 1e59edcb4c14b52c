"""Re-targeting: values stay, what hangs on the driver is that of the new one, and nothing takes the result for the profile's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.stages import compile as compiling
from harness.stages import retargeting
from harness.stages.render import serving
from harness.stores import profiles
from harness.stores.profiles import Device
from harness.stores.workspace import Workspace
from harness.tables import drivers
from harness.words.errors import UsageError

ROOT = Path(__file__).resolve().parents[3]
SPACE = Workspace(ROOT)
T4 = SPACE.profile_path("t4-x1_595.91.07")
HEAD = """
version: "1.0"
system: {driver_version: "595.91.07", nvml_version: "13.595.91.07", driver_branch: r595_00, cuda_version: "13.2", num_devices: 1}
device_defaults:
  name: Board
  architecture: turing
  fan: {speed_percent: 40}
  states: {persistence_mode: deprecated}
"""


UNMODELLED = 'origin: {capture: x, driver: "595.91.07", layout: "595.91.07", unmodelled: {"gpu[0]/odd": text}}\n'


def profile(text: str = "") -> profiles.Profile:
    return profiles.parse((HEAD + text).encode(), "p.yaml")


def test_a_branch_is_the_version_of_its_binary():
    tree = drivers.load()
    assert {branch: version.branch for branch, version in tree.binaries().items()} == {branch: branch for branch in tree.binaries()}
    assert retargeting.version_of("535", tree).text == "535.274.02"
    assert retargeting.version_of("580.1.2", tree).text == "580.1.2"


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("53", "did you mean '535'"),
        ("580", "name a version, such as 580"),
        ("535.274.0x", "did you mean '535.274.02'"),
        ("five", "is not dotted numbers"),
        ("٥٣٥", "is not dotted numbers"),
        ("-550", "did you mean '550'"),
        ("5" * 5000, "is not dotted numbers"),
    ],
)
def test_a_name_that_is_no_drivers_is_refused_with_the_nearest(wanted: str, said: str):
    with pytest.raises(UsageError, match=said):
        retargeting.version_of(wanted, drivers.load())


def test_values_and_states_stay_and_what_names_the_driver_follows():
    served = retargeting.retarget(profile(), SPACE, "550")
    assert served.profile.devices == profile().devices
    spec = compiling.compile_profile(served.profile, served.driver)
    assert spec.system["system.driver_version"].value == "550.163.01"
    assert spec.system["system.nvml_version"].value == "13.550.163.01"
    assert spec.system["system.driver_branch"].value == "r550_00"
    assert spec.system["system.cuda_version"].value == 13020
    assert (served.origin, served.changed) == ("595.91.07", True)


def test_gates_slots_and_field_ids_are_those_of_the_driver_asked_for():
    tree = drivers.load()
    served = retargeting.retarget(profile(), SPACE, "525")
    spec, own = (compiling.compile_profile(*pair) for pair in ((served.profile, served.driver), (profile(), tree.resolve("595.91.07"))))
    assert "nvmlDeviceGetPlatformInfo" in spec.gates
    assert "nvmlDeviceGetPlatformInfo" not in own.gates
    assert (spec.slots, spec.field_ids) != (own.slots, own.field_ids)


def test_its_own_driver_changes_nothing():
    own = profile(UNMODELLED)
    served = retargeting.retarget(own, SPACE, "595.91.07")
    assert (served.profile, served.changed, served.line) == (own, False, "")


def test_rows_of_the_new_layout_without_data_are_told_and_those_with_data_are_not():
    served = retargeting.retarget(profile(), SPACE, "470")
    assert "voltage.graphics_uv" in served.lacking
    later = retargeting.retarget(replace(profile(), system={**profile().system, "driver_version": "470.74"}), SPACE, "550")
    assert "gpu_fru_part_number" in later.lacking
    assert not {"name", "fan.speed_percent", "persistence_mode"} & {*later.lacking}
    assert ", ".join(later.lacking) in later.line
    assert later.line.startswith("p.yaml: re-targeted from 470.74 to 550.163.01; ")


def test_an_answer_is_carried_to_a_driver_that_has_the_call_and_what_is_said_of_a_library_is_not():
    given = profile(
        """  answers:
    nvmlDeviceGetSerial: 'SUCCESS {"serial":"1"}'
    nvmlDeviceGetMigMode: missing
    nvmlDeviceGetBrand: FUNCTION_NOT_FOUND
    'nvmlDeviceGetPlatformInfo {"platformInfo.version":1}': ARGUMENT_VERSION_MISMATCH
    nvmlDeviceGetBoardId: UNKNOWN
    'nvmlDeviceGetFieldValues {"fieldId":1,"scopeId":0}': NOT_SUPPORTED
    'nvmlDeviceGetFieldValues {"fieldId":302,"scopeId":0}': NOT_SUPPORTED
    nvmlDeviceGetGpuFabricInfo: UNKNOWN
answers: {nvmlSystemGetDriverVersion: UNKNOWN}
"""
    )
    served = retargeting.retarget(given, SPACE, "470")
    spec = compiling.compile_profile(served.profile, served.driver)
    assert [(one.asked.function, one.asked.arguments[:1]) for one in spec.answers] == [
        ("nvmlDeviceGetSerial", ()),
        ("nvmlDeviceGetBoardId", ()),
        ("nvmlDeviceGetFieldValues", (("fieldId", 1),)),
    ]
    assert served.dropped == 6
    assert served.profile.missing == frozenset()


def test_texts_that_no_row_explains_are_of_the_profiles_own_driver():
    served = retargeting.retarget(profile(UNMODELLED), SPACE, "550")
    assert "unmodelled" not in served.profile.origin
    assert served.dropped == 1
    assert "1 recorded answers and unmodelled texts left out" in served.line


def test_the_image_of_another_driver_is_another_in_the_cache_and_none_that_the_library_takes_for_the_profiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("NVPARITY_CACHE", str(tmp_path))
    own, other = serving.image_of(T4, SPACE), serving.image_of(T4, SPACE, "550")
    assert own != other
    served = serving.retargeted(T4, SPACE, "550")
    assert compiling.compile_profile(served.profile, served.driver).source is None
    assert serving.apart(T4, served).name == "t4-x1_595.91.07.550.163.01.nvpimg"
    assert serving.apart(T4, serving.retargeted(T4, SPACE, "595.91.07")) == serving.beside(T4)


def test_what_follows_from_a_sum_of_zero_is_told_to_a_driver_that_asks_for_the_parts():
    def served(architecture: str, aggregate: int) -> Mapping[str, Any]:
        text = HEAD.replace("turing", architecture).replace("595.91.07", "535.54.03")
        text += f"  ecc: {{mode_current: enabled, sram: {{volatile: {{uncorrectable: 0}}, aggregate: {{uncorrectable: {aggregate}}}}}}}\n"
        return retargeting.retarget(profiles.parse(text.encode(), "p.yaml"), SPACE, "535").profile.devices[0].values

    assert served("ampere", 0)["ecc.sram.aggregate.uncorrectable_parity"] == 0
    assert served("ampere", 0)["ecc.sram.threshold_exceeded"] is False
    assert "ecc.sram.volatile.uncorrectable_secded" not in served("ampere", 3)
    assert "ecc.sram.volatile.uncorrectable_secded" not in served("turing", 0)


def test_a_board_of_a_driver_that_prints_no_architecture_is_served_as_the_oldest_where_none_is_printed():
    old = replace(profile(), system={**profile().system, "driver_version": "460.39"}, devices=(Device({"name": "Board"}, {}),))
    assert retargeting.retarget(old, SPACE, "470").profile.devices[0].values["architecture"] == "kepler"
    assert "architecture" not in retargeting.retarget(old, SPACE, "550").profile.devices[0].values
    young = replace(old, system={**old.system, "driver_version": "595.91.07"})
    assert "architecture" not in retargeting.retarget(young, SPACE, "470").profile.devices[0].values
