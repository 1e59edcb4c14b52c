"""The C ABI as old and new clients meet it: symbols a driver lacks, version words, batches of fields."""

from __future__ import annotations

import pytest

from mocklib.binding import Nvml
from tests.cases.boards import A100, GT1030, H100, T4, put, text_of
from tests.cases.conftest import Ask, On, Take

MEMORY_V2 = 0x02000028
NEW_IN = {
    535: ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetSramEccErrorStatus", "nvmlDeviceGetCurrentClocksEventReasons"),
    550: ("nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetC2cModeInfoV"),
    565: (
        "nvmlDeviceGetTemperatureV",
        "nvmlDeviceGetPlatformInfo",
        "nvmlDeviceGetPdi",
        "nvmlDeviceGetAddressingMode",
        "nvmlDeviceGetMarginTemperature",
    ),
}


def codes(nvml: Nvml, device: int, names: tuple[str, ...]) -> set[int]:
    return {nvml.call(name, device).code for name in names}


def test_a_driver_answers_function_not_found_for_every_name_it_does_not_have(ask: Ask):
    """BL-008: one library serves all drivers, so a name is exported and answers 13, at each call; which name is of which driver is the table of the
    headers and real libraries.  A branch library has no such symbol at all.
    """
    nvml, device = ask(GT1030)
    for names in NEW_IN.values():
        assert codes(nvml, device, names) == {13}
        assert codes(nvml, device, names) == {13}
    nvml, device = ask(T4)
    for names in NEW_IN.values():
        assert 13 not in codes(nvml, device, names)


@pytest.mark.parametrize(("driver", "has"), [("525.147.05", ()), ("535.274.02", (535,)), ("550.163.01", (535, 550)), ("580.105.08", (535, 550, 565))])
def test_each_branch_has_what_the_branches_before_had_and_its_own(driver: str, has: tuple[int, ...], take: Take, ask: Ask, on: On):
    """BL-008: absent in 525 and present in 535, absent in 535 and present in 550, absent through 555."""
    taken = take(on(A100, driver) if driver != "525.147.05" else on(GT1030, driver))
    nvml, device = ask(taken)
    for branch, names in NEW_IN.items():
        gated = {name for name in names if nvml.call(name, device).code == 13}
        expected = set() if branch in has else set(names)
        assert gated - {"nvmlDeviceGetComputeRunningProcesses_v3"} == expected - {"nvmlDeviceGetComputeRunningProcesses_v3"}
    assert nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", device).code == 0  # of 510


def test_a_batch_of_fields_succeeds_and_each_entry_says_its_own(take: Take, ask: Ask):
    """BL-009: no memory temperature, an average, an id that is none."""
    given = put(put(text_of(H100), "memory_temp", "N/A"), "average_power_draw", "65.64 W")
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    nvml, device = ask(taken)
    unsigned = 1  # NVML_VALUE_TYPE_UNSIGNED_INT
    memory, average, nothing = nvml.field_values(device, [(82, 0), (185, 0), (9999, 0)])
    assert (memory.code, memory.value) == (3, None)
    assert (average.code, average.value_type, average.value) == (0, unsigned, 65640)
    assert (nothing.code in (2, 3), nothing.value) == (True, None)


def test_a_batch_of_nothing_but_refusals_is_one_that_succeeds(ask: Ask):
    """BL-009: the call's code is of the call; scopes are read from each entry."""
    nvml, device = ask(A100)
    answers = nvml.field_values(device, [(185, 0), (185, 1), (185, 2), (9999, 0), (193, 0)])
    assert [answer.code for answer in answers if answer.value is None] == [answer.code for answer in answers]
    assert 0 not in {answer.code for answer in answers}
    assert [answer.value for answer in nvml.field_values(device, [(190, 0), (190, 1), (190, 0)])] == [400000, None, 400000]


@pytest.mark.parametrize(("word", "code"), [(MEMORY_V2, 0), (2, 25), (0x02000018, 25), (0x01000028, 25), (0, 25)])
def test_a_version_word_is_size_and_version_and_any_other_is_refused(word: int, code: int, ask: Ask):
    """BL-033: 2 alone, as a comment once had it, is not the word of version 2; nothing is written for it."""
    nvml, device = ask(A100)
    ffi = nvml.ffi
    memory = ffi.new("nvmlMemory_v2_t *")
    whole = ffi.buffer(memory)
    whole[:] = b"\xa5" * len(whole)
    memory.version = word
    before = bytes(whole)
    assert nvml.function("nvmlDeviceGetMemoryInfo_v2")(ffi.cast("nvmlDevice_t", device), memory) == code
    assert (bytes(whole) == before) == bool(code)
    assert memory.version == word


def test_a_short_buffer_is_refused_for_the_driver_version_and_left_as_it_was(ask: Ask):
    """BL-038: the text is exact or not there."""
    nvml, _ = ask(A100)
    buffer = nvml.ffi.new("char[10]", b"unchanged")
    assert nvml.function("nvmlSystemGetDriverVersion")(buffer, 10) == 7
    assert nvml.ffi.string(buffer) == b"unchanged"
    exact = nvml.ffi.new("char[11]")
    assert nvml.function("nvmlSystemGetDriverVersion")(exact, 11) == 0
    assert nvml.ffi.string(exact) == b"570.148.08"
