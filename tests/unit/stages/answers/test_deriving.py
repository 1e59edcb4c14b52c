"""Derive from answers: what calls said becomes keys and states, and wins over what a text said; nothing is invented."""

from __future__ import annotations

import pytest

from harness.stages import compile_device, derive
from harness.stages.answers import deriving
from harness.stores import profiles
from harness.tables import drivers
from harness.text import transcript
from harness.words.errors import InputError
from harness.words.state import State
from mocklib.answers import Asked, Gpu
from mocklib.binding import Answer

H100 = "h100-sxm5-x8_580.105.08"
FIELD_VALUES = "nvmlDeviceGetFieldValues"
COUNTER = "nvmlDeviceGetMemoryErrorCounter"
DEPRECATED, LOST, NOT_FOUND_FUNCTION = 26, 15, 13


@pytest.fixture(scope="module")
def tree():
    return drivers.load()


@pytest.fixture(scope="module")
def captured(repository):
    return transcript.load((repository / "captures" / H100 / "transcript.txt").read_text())


def node(version="580.105.08", gpus=1):
    handles = {Asked("nvmlDeviceGetHandleByIndex_v2", None, (("index", index),)): Answer(0, {"device": Gpu(index)}) for index in range(gpus)}
    return {
        Asked("nvmlSystemGetDriverVersion"): Answer(0, {"version": version}),
        Asked("nvmlDeviceGetCount_v2"): Answer(0, {"deviceCount": gpus}),
        **handles,
        **{Asked("nvmlDeviceGetIndex", index): Answer(0, {"index": index}) for index in range(gpus)},
    }


def asked(function, gpu=0, **arguments):
    return Asked(function, gpu, tuple((name.replace("__", "."), value) for name, value in arguments.items()))


def field(number, value, kind=1, scope=0):
    return {asked(FIELD_VALUES, fieldId=number, scopeId=scope): Answer(0, {"valueType": kind, "value": value})}


def derived(answers, tree, version="580.105.08", **more):
    return deriving.derive({**node(version), **answers}, tree, **more)


def device(made, index=0):
    return profiles.parse(made.text.encode()).devices[index]


def test_a_value_becomes_the_key_of_its_field(tree):
    made = device(derived({asked("nvmlDeviceGetPowerUsage"): Answer(0, {"power": 68573})}, tree))
    assert made.values["power.current_draw_mw"] == 68573
    assert made.states == {}


def test_words_and_scales_are_turned_back(tree):
    answers = {
        asked("nvmlDeviceGetComputeMode"): Answer(0, {"mode": 3}),
        asked("nvmlDeviceGetMultiGpuBoard"): Answer(0, {"multiGpuBool": 1}),
        asked("nvmlDeviceGetViolationStatus", perfPolicyType=0): Answer(0, {"violTime.violationTime": 7000}),
    }
    values = device(derived(answers, tree)).values
    assert (values["compute_mode"], values["multi_gpu_board"]) == ("exclusive_process", True)
    assert values["clocks_throttle_reasons.counters.sw_power_cap_us"] == 7


@pytest.mark.parametrize("state", [State.NO_PERMISSION, State.GPU_LOST, State.RESET_REQUIRED, State.DEPRECATED, State.UNKNOWN_ERROR])
def test_a_code_becomes_the_state_and_no_other(tree, state):
    made = device(derived({asked("nvmlDeviceGetPowerUsage"): Answer(state.code)}, tree))
    assert made.states == {"power.current_draw_mw": state}
    assert "power.current_draw_mw" not in made.values


def test_not_supported_is_left_out_where_a_missing_key_says_it(tree):
    assert device(derived({asked("nvmlDeviceGetPowerUsage"): Answer(3)}, tree)).states == {}


def test_not_supported_is_kept_where_a_key_has_a_default(tree):
    made = device(derived({asked("nvmlDeviceGetPerformanceState"): Answer(3)}, tree))
    assert made.states == {"performance_state": State.NOT_SUPPORTED}


def test_a_missing_symbol_and_a_call_that_was_not_asked_say_nothing(tree):
    made = device(derived({asked("nvmlDeviceGetPowerUsage"): Answer(NOT_FOUND_FUNCTION, missing=True)}, tree))
    assert made.states == {}
    assert not any(key.startswith("power.") for key in made.values)


def test_function_not_found_of_a_driver_that_lacks_the_function_is_no_state(tree):
    answers = {asked("nvmlDeviceGetPdi"): Answer(NOT_FOUND_FUNCTION), asked("nvmlDeviceGetBoardId"): Answer(NOT_FOUND_FUNCTION)}
    made = device(derived(answers, tree, version="525.147.05"))
    assert made.states == {"board_id": State.FUNCTION_NOT_FOUND}


def test_a_code_without_a_state_leaves_the_key_unsaid(tree):
    assert device(derived({asked("nvmlDeviceGetPowerUsage"): Answer(10)}, tree)).states == {}


def test_of_two_calls_the_function_wins_over_the_field_id(tree):
    answers = {**field(190, 650_000), asked("nvmlDeviceGetEnforcedPowerLimit"): Answer(0, {"limit": 700_000})}
    for order in (answers, dict(reversed(answers.items()))):
        made = derived(order, tree)
        assert device(made).values["power.enforced_limit_mw"] == 700_000
        assert "power.enforced_limit_mw: nvmlDeviceGetEnforcedPowerLimit" in made.text
        assert made.counts["unheld"] == 0


def test_of_two_functions_the_one_that_nvidia_smi_asks_is_believed(tree):
    answers = {
        asked("nvmlDeviceGetClock", clockType=0, clockId=1): Answer(0, {"clockMHz": 1980}),
        asked("nvmlDeviceGetApplicationsClock", clockType=0): Answer(DEPRECATED),
    }
    for order in (answers, dict(reversed(answers.items()))):
        made = device(derived(order, tree, version="550.163.01"))
        assert made.states == {"clocks.graphics_app": State.DEPRECATED}


def test_a_field_id_says_the_key_where_no_function_does(tree):
    made = derived(field(186, 68_920), tree)
    assert device(made).values["power.instant_draw_mw"] == 68_920
    origin = profiles.parse(made.text.encode()).origin["keys"]
    assert origin["power.instant_draw_mw"] == 'nvmlDeviceGetFieldValues {"fieldId":186,"scopeId":0}'


def test_the_code_of_a_struct_is_said_of_the_members_that_nothing_else_tells(tree):
    answers = {
        asked("nvmlDeviceGetMemoryInfo_v2", memory__version=2): Answer(LOST),
        asked("nvmlDeviceGetMemoryInfo"): Answer(0, {"memory.total": 1 << 34, "memory.free": 1 << 33, "memory.used": 1 << 33}),
    }
    made = device(derived(answers, tree))
    assert (made.values["memory.total_bytes"], made.values["memory.free_bytes"]) == (1 << 34, 1 << 33)
    assert made.states == {"memory.reserved_bytes": State.GPU_LOST, "memory.used_bytes": State.GPU_LOST}


def test_a_struct_whose_code_a_member_has_by_itself_says_nothing_of_the_others(tree):
    answers = {asked("nvmlDeviceGetEccMode"): Answer(LOST), asked(FIELD_VALUES, fieldId=1, scopeId=0): Answer(LOST)}
    assert device(derived(answers, tree)).states == {"ecc.mode_current": State.GPU_LOST}


def test_counters_that_are_refused_while_ecc_is_off_say_nothing(tree):
    off = {
        asked("nvmlDeviceGetEccMode"): Answer(0, {"current": 0, "pending": 0}),
        asked(COUNTER, errorType=0, counterType=0, locationType=2): Answer(3),
    }
    assert device(derived(off, tree)).states == {}
    on = {**off, asked("nvmlDeviceGetEccMode"): Answer(0, {"current": 1, "pending": 1})}
    assert device(derived(on, tree)).states == {"ecc.errors.volatile.single_bit.device_memory": State.NOT_SUPPORTED}


def test_a_recording_without_the_driver_version_is_refused(tree):
    with pytest.raises(InputError, match="nvmlSystemGetDriverVersion was not asked"):
        deriving.derive({asked("nvmlDeviceGetPowerUsage"): Answer(0, {"power": 1})}, tree)
    with pytest.raises(InputError, match="nvmlSystemGetDriverVersion answered NO_PERMISSION"):
        deriving.derive({Asked("nvmlSystemGetDriverVersion"): Answer(4)}, tree)


def test_a_driver_that_nobody_has_seen_is_told(tree):
    made = derived({}, tree, version="581.15.01")
    assert "581.15.01 has no node" in made.notes[0]
    assert "(assumed)" in made.text
    assert derived({}, tree).notes == ()


def test_the_cuda_version_and_names_of_the_node(tree):
    answers = {
        Asked("nvmlSystemGetCudaDriverVersion_v2"): Answer(0, {"cudaDriverVersion": 13010}),
        Asked("nvmlSystemGetNVMLVersion"): Answer(0, {"version": "13.580.105.08"}),
        Asked("nvmlSystemGetDriverBranch", None, (("branchInfo.version", 1),)): Answer(0, {"branchInfo.branch": "r580_99"}),
    }
    system = profiles.parse(derived(answers, tree).text.encode()).system
    assert (system["cuda_version_major"], system["cuda_version_minor"]) == (13, 1)
    assert (system["nvml_version"], system["driver_branch"]) == ("13.580.105.08", "r580_99")


def test_gpus_without_a_handle_and_gpus_left_out_keep_their_places(tree):
    answers = {
        **node(gpus=3),
        Asked("nvmlDeviceGetHandleByIndex_v2", None, (("index", 0),)): Answer(LOST),
        Asked("nvmlDeviceGetIndex", 1): Answer(6),
        asked("nvmlDeviceGetName", 2): Answer(0, {"name": "NVIDIA Test"}),
    }
    del answers[Asked("nvmlDeviceGetIndex", 0)]
    made = deriving.derive(answers, tree)
    found = profiles.parse(made.text.encode()).devices
    assert [entry.state for entry in found] == [State.GPU_LOST, State.UNCAPTURED, None]
    assert found[2].values["name"] == "NVIDIA Test"
    assert made.notes == ("GPU 0 has no readings: gpu_lost", "GPU 1 has no readings: uncaptured")


def test_two_gpus_with_one_address_and_one_minor_number_make_a_sound_profile(tree):
    address = Answer(0, {"pci.busIdLegacy": "0000:53:00.0", "pci.domain": 0, "pci.bus": 0x53, "pci.device": 0, "pci.busId": "00000000:53:00.0"})
    answers = {**node(gpus=2)}
    for gpu in (0, 1):
        answers[asked("nvmlDeviceGetPciInfo_v3", gpu)] = address
        answers[asked("nvmlDeviceGetMinorNumber", gpu)] = Answer(0, {"minorNumber": 7})
    found = profiles.parse(deriving.derive(answers, tree).text.encode()).devices
    assert [entry.values.get("pci.bus_id") for entry in found] == ["0000:53:00.0", None]
    assert [entry.values.get("minor_number") for entry in found] == [None, None]


def test_answers_win_over_the_text_value_by_value(tree, captured):
    text = derive.derive(captured, tree.resolve("580.105.08"), H100)
    bar1 = {"bar1Memory.bar1Total": 137438953472, "bar1Memory.bar1Free": 137437904897, "bar1Memory.bar1Used": 1048575}
    answers = {
        **node(gpus=8),
        asked(FIELD_VALUES, 3, fieldId=185, scopeId=0): Answer(0, {"valueType": 1, "value": 68_573}),
        asked("nvmlDeviceGetBAR1MemoryInfo", 3): Answer(0, bar1),
        asked("nvmlDeviceGetDisplayMode", 3): Answer(DEPRECATED),
    }
    before = profiles.parse(text.text.encode())
    now = profiles.parse(deriving.derive(answers, tree, text=text).text.encode())
    assert now.devices[3].values["power.average_draw_mw"] == 68_573
    assert now.devices[3].values["bar1_memory.used_bytes"] == 1048575
    assert now.devices[3].states["display.mode"] == State.DEPRECATED
    assert now.devices[3].values["gpu_part_number"] == before.devices[3].values["gpu_part_number"]
    for gpu in (0, 1, 2, 4, 5, 6, 7):
        assert (now.devices[gpu].values, now.devices[gpu].states) == (before.devices[gpu].values, before.devices[gpu].states)
    assert now.clock == before.clock
    changed = {key for key, value in before.devices[3].values.items() if now.devices[3].values.get(key) != value}
    assert changed == {"power.average_draw_mw", "bar1_memory.used_bytes", "bar1_memory.free_bytes", "display.mode"}


def test_a_text_beside_a_recording_of_nothing_stays_as_it_is(tree, captured):
    text = derive.derive(captured, tree.resolve("580.105.08"), H100)
    made = deriving.derive(node(gpus=8), tree, text=text)
    one, other = profiles.parse(text.text.encode()), profiles.parse(made.text.encode())
    assert [(entry.values, entry.states) for entry in one.devices] == [(entry.values, entry.states) for entry in other.devices]


def test_processes_of_two_lists_are_one_entry_with_the_name_that_the_driver_gives(tree):
    entry = {"pid": 77, "usedGpuMemory": 5 << 20, "gpuInstanceId": 0xFFFFFFFF, "computeInstanceId": 0xFFFFFFFF}
    alone = {**entry, "pid": 12, "usedGpuMemory": 0xFFFFFFFFFFFFFFFF}
    answers = {
        asked("nvmlDeviceGetComputeRunningProcesses_v3"): Answer(0, {"infoCount": 1, "infos": [entry]}),
        asked("nvmlDeviceGetGraphicsRunningProcesses_v3"): Answer(0, {"infoCount": 2, "infos": [alone, entry]}),
        Asked("nvmlSystemGetProcessName", None, (("pid", 77),)): Answer(0, {"name": "/opt/made-up"}),
    }
    made = device(derived(answers, tree))
    assert made.values["processes"] == [
        {"pid": 12, "type": "G", "name": ""}, {"pid": 77, "type": "C+G", "name": "/opt/made-up", "used_memory_mib": 5},
    ]  # fmt: skip


def test_a_retired_page_list_that_is_counted_only(tree):
    answers = {
        asked("nvmlDeviceGetRetiredPages", cause=1): Answer(3, {"pageCount": 2}),
        asked("nvmlDeviceGetRetiredPages_v2", cause=0): Answer(0, {"pageCount": 1, "addresses": [4096], "timestamps": [1_700_000_000]}),
    }
    values = device(derived(answers, tree)).values
    assert values["retired_pages.double_bit"] == {"count": 2}
    assert values["retired_pages.single_bit"] == {"count": 1, "addresses": [4096], "timestamps": [1_700_000_000]}


def test_a_default_without_room_is_not_supported_rather_than_an_error(tree):
    answers = {
        asked("nvmlDeviceGetPlatformInfo", platformInfo__version=1): Answer(0, {"platformInfo.nodeIndex": 3}),
        asked("nvmlDeviceGetModuleId"): Answer(0, {"moduleId": 70_000}),
    }
    made = device(derived(answers, tree))
    assert made.values["module_id"] == 70_000
    assert compile_device.device_fields(made, 0)["platform.module_id"].status == 3


_TOUCHED = {"name", "brand", "power.current_draw_mw", "processes", "supported_clocks.memory_clocks", "pci.bus_id", "minor_number"}


@pytest.mark.parametrize(
    ("call", "out"),
    [
        ("nvmlDeviceGetName", {"name": 5}), ("nvmlDeviceGetName", {}), ("nvmlDeviceGetPowerUsage", {"power": "1"}),
        ("nvmlDeviceGetPowerUsage", {"power": True}), ("nvmlDeviceGetPowerUsage", {"power": -1}), ("nvmlDeviceGetPowerUsage", {"power": 2**64}),
        ("nvmlDeviceGetBrand", {"type": 99}), ("nvmlDeviceGetName", {"name": "x" * 5000}), ("nvmlDeviceGetName", {"name": "a\0b"}),
        ("nvmlDeviceGetName", {"name": "\ud800"}), ("nvmlDeviceGetSupportedMemoryClocks", {"clocksMHz": [1, "2"]}),
        ("nvmlDeviceGetSupportedMemoryClocks", {"clocksMHz": 7}), ("nvmlDeviceGetComputeRunningProcesses_v3", {"infos": [{"pid": -1}]}),
        ("nvmlDeviceGetComputeRunningProcesses_v3", {"infos": [3]}), ("nvmlDeviceGetAccountingPids", {"pids": [2**40]}),
        ("nvmlDeviceGetBridgeChipInfo", {"bridgeHierarchy.bridgeChipInfo": 1}), ("nvmlDeviceGetMinorNumber", {"minorNumber": 255}),
        ("nvmlDeviceGetPciInfo_v3", {"pci.busId": "nonsense", "pci.domain": "x"}),
    ],
)  # fmt: skip
def test_an_answer_that_no_key_holds_leaves_the_profile_sound(tree, call, out):
    found = device(derived({asked(call): Answer(0, out)}, tree))
    assert compile_device.device_fields(found, 0)
    assert found.states == {}
    assert not _TOUCHED & set(found.values)
