"""Asking a library that is not ours: handles that are pointers, lists that grow, refuse NULL or lie, and functions that end the process if called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.text import answers
from mocklib import asking, binding, build, getters
from mocklib.answers import Asked, Gpu, Recording
from mocklib.asking import Asker
from mocklib.binding import Answer, BindingError, Nvml

SOURCE = Path(__file__).with_name("other.c")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The other library, built against nvml.h."""
    path = tmp_path_factory.mktemp("other") / "libother.so"
    flags = ["-Wall", "-Wextra", "-Werror", "-DNVML_NO_UNVERSIONED_FUNC_DEFS", f"-I{build.nvml_header().parent}"]
    build.find_compiler().run("-shared", "-fPIC", *flags, str(SOURCE), "-o", str(path))
    return path


@pytest.fixture
def other(library: Path) -> Nvml:
    return binding.open_library(library)


@pytest.fixture
def found(other: Nvml) -> Recording:
    return asking.ask(other)


def of(found: Recording, function: str, gpu: int | None = None, **arguments: Any) -> Answer:
    return found[Asked(function, gpu, tuple((name.replace("__", "."), value) for name, value in arguments.items()))]


def test_a_list_that_grows_between_two_calls_is_asked_again(found: Recording) -> None:
    answer = of(found, "nvmlDeviceGetSupportedMemoryClocks", 0)
    assert answer.code == 0
    assert answer.out["clocksMHz"] == [1000 + number for number in range(answer.out["count"])]


def test_a_list_whose_length_comes_with_success_is_read(found: Recording) -> None:
    answer = of(found, "nvmlDeviceGetEncoderSessions", 1)
    assert (answer.code, answer.out["sessionCount"]) == (0, 1)
    assert [(entry["sessionId"], entry["codecType"]) for entry in answer.out["sessionInfos"]] == [(7, 1)]


def test_a_list_that_is_refused_as_null_is_read(found: Recording) -> None:
    answer = of(found, "nvmlSystemGetHicVersion")
    assert answer.out == {"hwbcCount": 1, "hwbcEntries": [{"hwbcId": 0, "firmwareVersion": "1.0\udcff"}]}


def test_handles_are_the_indices_of_gpus(found: Recording) -> None:
    assert of(found, "nvmlDeviceGetTopologyNearestGpus", 0, level=50).out == {"count": 1, "deviceArray": [Gpu(1)]}
    assert of(found, "nvmlDeviceGetTopologyNearestGpus", 0, level=0) == Answer(3)
    assert of(found, "nvmlDeviceGetHandleByIndex_v2", index=1).out == {"device": Gpu(1)}
    assert of(found, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", 0).out == {"device": Gpu(0)}
    assert of(found, "nvmlDeviceGetP2PStatus", 0, device2=Gpu(1), p2pIndex=0).out == {"p2pStatus": 0}
    assert of(found, "nvmlDeviceGetP2PStatus", 1, device2=Gpu(1), p2pIndex=0).out == {"p2pStatus": 6}
    assert of(found, "nvmlDeviceGetP2PStatus", 1, device2=Gpu(0), p2pIndex=5).code == 2


def test_a_handle_of_no_gpu_of_the_node_is_left_out(found: Recording) -> None:
    assert of(found, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", 1) == Answer(0, {})


def test_a_gpu_without_a_handle_is_asked_nothing(found: Recording) -> None:
    assert of(found, "nvmlDeviceGetHandleByIndex_v2", index=2) == Answer(15)
    assert {asked.gpu for asked in found} == {None, 0, 1}
    assert not any(value == Gpu(2) for asked in found for _, value in asked.arguments)


def test_a_count_beyond_the_room_or_beyond_reason_is_not_believed(found: Recording) -> None:
    assert len(of(found, "nvmlDeviceGetFBCSessions", 0).out["sessionInfo"]) == 2
    assert of(found, "nvmlDeviceGetAccountingPids", 0) == Answer(7, {"count": 0xFFFFFFFF})


def test_a_list_that_a_struct_points_to_is_read(found: Recording) -> None:
    answer = of(found, "nvmlDeviceGetRunningProcessDetailList", 0, plist__version=1, plist__mode=0)
    assert answer.out["plist.numProcArrayEntries"] == 1
    assert [(entry["pid"], entry["usedGpuMemory"]) for entry in answer.out["plist.procArray"]] == [(41, 1 << 40)]
    assert of(found, "nvmlDeviceGetRunningProcessDetailList", 0, plist__version=1, plist__mode=4) == Answer(2)


@pytest.mark.parametrize("version", [1, 2])
def test_a_list_for_which_room_is_made_beforehand_has_it(found: Recording, version: int) -> None:
    answer = of(found, "nvmlDeviceGetVgpuTypeSupportedPlacements", 0, vgpuTypeId=35, pPlacementList__version=version)
    assert (answer.out["pPlacementList.count"], answer.out["pPlacementList.placementIds"]) == (3, [0, 4, 8])


def test_an_array_is_as_large_as_its_input_says(found: Recording) -> None:
    words = [(1 << 64) - 1 - number for number in range(16)]
    assert of(found, "nvmlDeviceGetCpuAffinity", 0, cpuSetSize=1).out == {"cpuSet": words[:1]}
    assert of(found, "nvmlDeviceGetCpuAffinity", 0, cpuSetSize=16).out == {"cpuSet": words}
    assert of(found, "nvmlDeviceGetSupportedPerformanceStates", 0, size=64).out == {"pstates": [0, 1, *[32] * 14]}


def test_texts_unions_and_members_of_structs_are_read_and_given(found: Recording) -> None:
    assert of(found, "nvmlVgpuTypeGetName", vgpuTypeId=35).out == {"vgpuTypeName": "board-1", "size": 8}
    assert of(found, "nvmlDeviceGetVgpuSchedulerState", 0).out["pSchedulerState.schedulerParams"] == bytes([33, 0, 0, 0, 2, 1, 0, 0])
    assert of(found, "nvmlSystemGetDriverBranch", branchInfo__version=1).out["branchInfo.branch"] == "r" * 79
    drained = [(dict(asked.arguments), answer.out) for asked, answer in found.items() if asked.function == "nvmlDeviceQueryDrainState"]
    assert {given["pciInfo.busId"]: out["currentState"] for given, out in drained} == {"00000000:01:00.0": 0, "00000000:02:00.0": 1}


def test_what_one_gpu_answered_is_not_in_the_answer_of_the_next(found: Recording) -> None:
    vendors = [of(found, "nvmlDeviceGetPciInfo_v3", index).out["pci.pciDeviceId"] for index in (0, 1)]
    assert vendors == [0x10DE, 0]


def test_links_are_those_whose_state_is_known_and_one_more(found: Recording) -> None:
    first = {asked: answer for asked, answer in found.items() if asked.gpu == 0}
    assert len([asked for asked in first if asked.function == "nvmlDeviceGetNvLinkState"]) == 36
    versions = [(asked.arguments, answer.code) for asked, answer in first.items() if asked.function == "nvmlDeviceGetNvLinkVersion"]
    assert versions == [((("link", link),), 0 if link < 3 else 2) for link in range(4)]
    scopes = [dict(asked.arguments)["scopeId"] for asked in first if dict(asked.arguments).get("fieldId") == 138]
    assert scopes == [0, 1, 2, 3, 0xFFFFFFFF]


def test_field_values_are_read_by_their_type(found: Recording) -> None:
    def value(number: int, scope: int = 0) -> Answer:
        return of(found, "nvmlDeviceGetFieldValues", 0, fieldId=number, scopeId=scope)

    assert value(9) == Answer(0, {"valueType": 0, "value": 0.1})
    assert value(18).out["value"] == bytes.fromhex("000000000000f87f"), "a number that is not finite is its bytes"
    assert value(2).out == {"valueType": 2, "value": 1 << 63}
    assert value(4).out == {"valueType": 4, "value": -(1 << 63)}
    assert value(8).out == {"valueType": 8, "value": bytes.fromhex("0000000000000080")}, "a type that nvml.h has not"
    assert value(185, 3).out == {"valueType": 5, "value": 3}
    assert value(10) == Answer(3)
    assert value(310) == Answer(2), "a call that fails as a whole is its entry's code"


def test_times_of_the_asking_are_not_kept(found: Recording) -> None:
    assert of(found, "nvmlDeviceGetViolationStatus", 0, perfPolicyType=0).out == {"violTime.violationTime": 12}
    assert "timestamp" not in answers.dump(found)


def test_what_the_library_lacks_is_missing_once(found: Recording) -> None:
    assert of(found, "nvmlDeviceGetName") == Answer(13, missing=True)
    assert [asked for asked in found if asked.function == "nvmlDeviceGetName"] == [Asked("nvmlDeviceGetName")]
    assert Asked("nvmlSystemGetDriverVersion") in found
    assert len({asked.function for asked in found}) > 150


def test_the_recording_is_text_and_back(found: Recording) -> None:
    text = answers.dump(found)
    assert answers.load(text, "answers.txt") == found
    assert answers.dump(answers.load(text, "answers.txt")) == text


class Spy:
    """A library that notes every symbol that is looked up."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.names: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.names.add(name)
        return getattr(self.library, name)


def test_no_function_off_the_list_and_no_slot_is_looked_up(other: Nvml, monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Spy(other.library)
    other.library = spy
    monkeypatch.setattr(Nvml, "slot", None)
    asking.ask(other)
    assert spy.names == set(getters.asked_functions())


def test_a_count_of_gpus_beyond_reason_is_told_and_not_counted_through(other: Nvml, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Nvml, "count", lambda _self: 0xFFFFFFFF)
    with pytest.raises(BindingError, match="nvmlDeviceGetCount_v2 answers 4294967295 GPUs; a node has at most 4000"):
        Asker(other)


def test_one_call_can_be_asked_again_and_no_other(other: Nvml) -> None:
    asker = Asker(other)
    assert asker.answer(Asked("nvmlDeviceGetNvLinkVersion", 1, (("link", 2),))) == Answer(0, {"version": 5})
    assert asker.answer(Asked("nvmlDeviceGetName", 0)).missing
    for function, why in (("nvmlDeviceGetSamples", "past readings"), ("nvmlDeviceSetPersistenceMode", "not on the list"), ("nvmlInternal", "list")):
        with pytest.raises(BindingError, match=rf"{function} is not asked: .*{why}"):
            asker.answer(Asked(function, 0))
    for function, arguments in (
        ("nvmlDeviceGetNvLinkVersion", (("link", 1 << 64),)),
        ("nvmlDeviceGetNvLinkVersion", (("links", 1),)),
        ("nvmlDeviceGetNvLinkVersion", (("link", "x"),)),
        ("nvmlDeviceGetCpuAffinity", (("cpuSetSize", 1 << 30),)),
        ("nvmlDeviceGetP2PStatus", (("device2", Gpu(7)), ("p2pIndex", 0))),
        ("nvmlDeviceGetFieldValues", (("fieldId", 1),)),
        ("nvmlDeviceGetPciInfo_v3", (("pci.nme", 1),)),
        ("nvmlVgpuTypeGetName", (("vgpuTypeId", -1),)),
    ):
        with pytest.raises(BindingError, match=r"."):
            asker.answer(Asked(function, 0, arguments))
    with pytest.raises(BindingError, match="GPU 2 has no handle"):
        asker.answer(Asked("nvmlDeviceGetNvLinkVersion", 2, (("link", 2),)))


def test_some_functions_alone_are_asked_with_what_their_arguments_come_from(other: Nvml, found: Recording) -> None:
    some = asking.ask(other, ["nvmlVgpuTypeGetName", "nvmlDeviceGetNvLinkVersion"])
    assert {asked.function for asked in some} == {"nvmlVgpuTypeGetName", "nvmlDeviceGetNvLinkVersion"}
    assert some == {asked: answer for asked, answer in found.items() if asked in some}
