"""Init and shutdown nest; handles die with the last shutdown and never come back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from mocklib import calls
from mocklib.binding import Nvml
from mocklib.image import Absence, FieldValue, ImageSpec
from tests.contract import boards

Serve = Callable[..., Any]


@pytest.mark.spec("A17")
def test_each_init_needs_its_shutdown(nvml: Nvml, image_path: Callable[[ImageSpec], Any]) -> None:
    image_path(boards.spec())
    assert [nvml.init(), nvml.init(), nvml.shutdown()] == [0, 0, 0]
    assert nvml.count() == 1
    assert [nvml.shutdown(), nvml.shutdown()] == [0, 1]
    assert nvml.call("nvmlDeviceGetCount_v2").code == 1


ALWAYS = {"nvmlSystemGetDriverVersion", "nvmlSystemGetNVMLVersion", "nvmlSystemGetCudaDriverVersion", "nvmlSystemGetCudaDriverVersion_v2",
          "nvmlSystemGetDriverBranch"}  # fmt: skip
"""What answers before the first init and after the last shutdown; nvmlErrorString does as well."""


@pytest.mark.spec("A17")
def test_before_init_and_after_shutdown_every_call_but_those_of_versions_is_uninitialized(nvml: Nvml, image_path: Callable[[ImageSpec], Any]) -> None:
    image_path(boards.spec())
    others = {"nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags", "nvmlErrorString", "nvmlInternalGetExportTable"}
    for _ in range(2):
        codes = {name: nvml.call(name).code for name in calls.signatures().FUNCTIONS if name not in others}
        assert len(codes) > 400
        assert {name for name, code in codes.items() if code != 1} == ALWAYS
        assert (nvml.error_string(1), {codes[name] for name in ALWAYS}) == ("Uninitialized", {0})
        assert (nvml.init(), nvml.shutdown()) == (0, 0)


@pytest.mark.spec("A17")
def test_a_handle_is_dead_after_the_last_shutdown_and_its_number_is_not_given_again(serve: Serve) -> None:
    seen = set()
    for _ in range(50):
        nvml, handle = serve()
        assert handle not in seen
        seen.add(handle)
        assert all(nvml.call("nvmlDeviceGetName", old).code == 2 for old in seen - {handle})
    nvml.shutdown()
    assert nvml.call("nvmlDeviceGetName", handle).code == 1


@pytest.mark.spec("A17", "B02", "B03", "B05", "B06")
def test_versions_answer_before_init(nvml: Nvml, image_path: Callable[[ImageSpec], Any]) -> None:
    image_path(boards.spec())
    assert nvml.call("nvmlSystemGetDriverVersion").out == {"version": "570.148.08"}
    assert nvml.call("nvmlSystemGetNVMLVersion").out == {"version": "12.570.148.08"}
    assert nvml.call("nvmlSystemGetCudaDriverVersion").out == {"cudaDriverVersion": 12080}
    assert nvml.call("nvmlSystemGetCudaDriverVersion_v2").out == {"cudaDriverVersion": 12080}
    assert nvml.call("nvmlSystemGetDriverBranch").out["branchInfo.branch"] == "r570_00"
    assert nvml.call("nvmlDeviceGetCount_v2").code == 1


@pytest.mark.spec("A19")
def test_init_flags_change_nothing(nvml: Nvml, image_path: Callable[[ImageSpec], Any]) -> None:
    image_path(boards.spec())
    for flags in (0, 1, 2, 3, 0xFFFFFFFF):
        assert nvml.call("nvmlInitWithFlags", None, {"flags": flags}).code == 0
        assert (nvml.count(), nvml.call("nvmlDeviceGetName", nvml.device(0)).code) == (1, 0)


def test_another_image_is_served_after_a_new_init(serve: Serve) -> None:
    nvml, handle = serve(boards.spec(1))
    first = nvml.call("nvmlDeviceGetSerial", handle).out
    nvml, handle = serve(boards.spec(3, devices=[boards.device(number, serial=FieldValue("other")) for number in range(3)]))
    assert nvml.count() == 3
    assert nvml.call("nvmlDeviceGetSerial", handle).out == {"serial": "other"} != first


def test_error_strings_are_those_of_a_real_library(nvml: Nvml) -> None:
    known = {0: "Success", 3: "Not Supported", 15: "GPU is lost", 25: "Argument version mismatch", 26: "Requested functionality has been deprecated"}
    assert {code: nvml.error_string(code) for code in known} == known
    assert nvml.error_string(999) == nvml.error_string(12345) == "Unknown Error"


def test_a_gate_answers_before_any_check(serve: Serve) -> None:
    nvml, handle = serve(boards.spec(gates={"nvmlDeviceGetSerial": 13}))
    assert nvml.call("nvmlDeviceGetSerial", handle).code == 13
    assert nvml.call("nvmlDeviceGetSerial", 5).code == 13
    nvml.shutdown()
    assert nvml.call("nvmlDeviceGetSerial", handle).code == 1


def test_a_device_that_is_not_present_is_lost_for_every_reading(serve: Serve) -> None:
    nvml, _ = serve(boards.spec(2, modes=[frozenset({"present"}), frozenset({"ecc"})]))
    assert nvml.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": 1}).code == 15
    lost = nvml.slot(None, 81, "handle", 1).out["value"]
    assert {nvml.call(name, lost).code for name in ("nvmlDeviceGetName", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetMemoryInfo")} == {15}
    assert nvml.field_values(lost, [(82, 0)])[0].code == 15


ABSENCES = pytest.mark.parametrize(
    "absence",
    [Absence(), Absence(handle=999), Absence(handle=0, reading=6)],
    ids=["lost", "lost with another reason", "uncaptured"],
)


@pytest.mark.spec("M07")
@ABSENCES
def test_a_device_that_is_not_present_answers_its_code_from_every_function_that_takes_a_device(serve: Serve, absence: Absence) -> None:
    nvml, _ = serve(boards.spec(2, modes=[frozenset({"present"}), frozenset()], absences=[Absence(), absence]))
    lost = nvml.slot(None, 81, "handle", 1).out["value"]
    event_set = nvml.call("nvmlEventSetCreate").out["set"]
    more = {"nvmlDeviceRegisterEvents": {"set": event_set}, "nvmlGpmQueryDeviceSupport": {"gpmSupport.version": 1}}
    asked = {}
    for name, params in calls.signatures().FUNCTIONS.items():
        roles = [role for _, _, role in params]
        other = any("vgpu" in kind.lower() for _, kind, _ in params) or ("handle" in roles and name not in more)  # none of these can be given
        if "device" in roles and not other:
            second = {param: lost for param, _, role in params[1:] if role == "device"}
            asked[name] = nvml.call(name, lost, second | more.get(name, {})).code
    assert len(asked) > 200
    refused = {name: code for name, code in asked.items() if code != absence.reading}
    assert refused == {"nvmlDeviceGetFieldValues": 2}  # a code in each entry; here none is asked
    known, unknown = nvml.field_values(lost, [(82, 0), (300, 0)])
    assert (known.code, unknown.code) == (absence.reading, absence.reading)


@ABSENCES
def test_lookups_find_a_device_that_is_not_present_and_answer_its_code(serve: Serve, absence: Absence) -> None:
    nvml, _ = serve(boards.spec(2, modes=[frozenset({"present"}), frozenset()], absences=[Absence(), absence]))
    assert nvml.count() == 2
    board = boards.device(1)
    lookups = {"HandleByIndex_v2": {"index": 1}, "HandleByUUID": {"uuid": board["uuid"].value}, "HandleBySerial": {"serial": board["serial"].value}}
    lookups["HandleByPciBusId_v2"] = {"pciBusId": board["pci.bus_id"].value}
    assert {name: nvml.call(f"nvmlDeviceGet{name}", None, given).code for name, given in lookups.items()} == dict.fromkeys(lookups, absence.handle)


def test_a_combination_of_arguments_that_no_field_has_is_not_what_a_device_that_is_not_present_answers(serve: Serve) -> None:
    nvml, _ = serve(boards.spec(2, modes=[frozenset({"present"}), frozenset()], absences=[Absence(), Absence(0, 6)]))
    absent = nvml.device(1)
    asked = {
        "nvmlDeviceGetClock": {"clockType": 0, "clockId": 3},
        "nvmlDeviceGetTemperature": {"sensorType": 0},
        "nvmlDeviceSetPowerManagementLimit": {"limit": 100},
    }
    assert {name: nvml.call(name, absent, given).code for name, given in asked.items()} == dict.fromkeys(asked, 6)


@pytest.mark.spec("J12")
def test_policies_without_a_counter_never_held_a_counting_board_back(serve: Serve) -> None:
    counters = "clocks_throttle_reasons.counters."
    nvml, handle = serve(boards.spec(devices=[boards.device() | {f"{counters}sw_power_cap_us": FieldValue(5000)}]))
    seen = {policy: nvml.call("nvmlDeviceGetViolationStatus", handle, {"perfPolicyType": policy}) for policy in range(13)}
    codes = dict.fromkeys(range(13), 0) | dict.fromkeys((6, 7, 8, 9, 12), 2) | {10: 3}
    assert {policy: answer.code for policy, answer in seen.items()} == codes
    assert {policy: seen[policy].out["violTime.violationTime"] for policy in (0, 3, 4, 5, 11)} == {0: 5000, 3: 0, 4: 0, 5: 0, 11: 0}
    nvml, handle = serve(boards.spec(devices=[boards.device() | {f"{counters}sw_power_cap_us": FieldValue(status=3)}]))
    assert nvml.call("nvmlDeviceGetViolationStatus", handle, {"perfPolicyType": 3}).code == 3


def test_ecc_counters_need_the_mode(serve: Serve) -> None:
    asked = {"errorType": 0, "counterType": 0, "locationType": 2}
    nvml, handle = serve(boards.spec(modes=[frozenset({"present", "ecc"})]))
    assert nvml.call("nvmlDeviceGetMemoryErrorCounter", handle, asked).code == 0
    nvml, handle = serve(boards.spec(modes=[frozenset({"present"})]))
    assert nvml.call("nvmlDeviceGetMemoryErrorCounter", handle, asked).code == 3
    assert nvml.call("nvmlDeviceGetEccMode", handle).code == 0


@pytest.mark.spec("A22")
def test_threads_that_init_read_and_shut_down_never_see_a_wrong_code(serve: Serve) -> None:
    nvml, _ = serve()
    nvml.init()
    codes: set[int] = set()

    def work() -> None:
        for _ in range(200):
            codes.add(nvml.init())
            codes.add(nvml.call("nvmlDeviceGetName", nvml.device(0)).code)
            codes.add(nvml.shutdown())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == {0}
