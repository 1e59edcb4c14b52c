"""Recorded answers: a call of exactly the recorded arguments gets exactly the recorded code and values, every other call goes on as before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mocklib import calls, image
from mocklib import fields as tables
from mocklib.answers import Asked, Gpu
from mocklib.binding import Answer, FieldAnswer, Nvml
from mocklib.image import Clock, FieldValue, ImageError, ImageSpec, Recorded
from tests.contract import answering, boards

Serve = Callable[..., tuple[Nvml, int]]
SECOND = 1_000_000_000


def spec(answers: Sequence[Recorded], **given: Any) -> ImageSpec:
    """Three boards with answers."""
    return boards.spec(answering.DEVICES, answers=tuple(answers), **given)


def one(function: str, arguments: dict[str, Any], answer: Answer, gpu: int | None = 0) -> Recorded:
    """One recorded call."""
    return Recorded(Asked(function, gpu, tuple(arguments.items())), answer)


def live(item: Any, nvml: Nvml) -> Any:
    """A value with every Gpu as the handle of this process."""
    if isinstance(item, Gpu):
        return nvml.device(item.index)
    if isinstance(item, dict):
        return {name: live(inner, nvml) for name, inner in item.items()}
    return [live(inner, nvml) for inner in item] if isinstance(item, list) else item


def ask(nvml: Nvml, call: Asked) -> Answer:
    """The call on the library."""
    arguments = {name: live(item, nvml) for name, item in call.arguments}
    return nvml.call(call.function, nvml.device(call.gpu) if call.gpu is not None else None, arguments)


def handles_first(calls_of: list[Asked]) -> list[Asked]:
    """Without the lookups of handles, which the tests themselves go through."""
    return [call for call in calls_of if call.function not in answering.FIRST]


@pytest.mark.parametrize("gpu", [0, 2])
def test_every_function_gives_back_exactly_the_answer_that_was_recorded(serve: Serve, gpu: int) -> None:
    asked = handles_first(answering.every(seed=1, gpu=gpu))
    answers = {call: answering.answer(call) for call in asked}
    nvml, _ = serve(spec([Recorded(call, answer) for call, answer in answers.items()]))
    wrong = [(call, got, answers[call]) for call in asked if (got := ask(nvml, call)) != replace(answers[call], out=live(answers[call].out, nvml))]
    assert wrong == []
    assert len({call.function for call in asked}) > 300


@pytest.mark.parametrize("code", [2, 3, 4, 7, 13, 15, 25, 26, 999])
def test_a_recorded_code_is_given_and_nothing_is_written(serve: Serve, code: int) -> None:
    asked = handles_first(answering.every(seed=1))
    nvml, _ = serve(spec([Recorded(call, Answer(code)) for call in asked]))
    got = {call: ask(nvml, call) for call in asked}
    assert {call for call, answer in got.items() if answer.code != code} == set()
    untouched = {name: 0 if any(role == "list" for _, _, role in params) else calls.TEXT_SIZE for name, params in counted().items()}
    for call, answer in got.items():
        assert set(answer.out.values()) <= {untouched.get(call.function), 0 if code == 7 else untouched.get(call.function)}


def counted() -> dict[str, tuple[tuple[str, str, str], ...]]:
    """The functions with a count."""
    return {name: params for name, params in calls.signatures().FUNCTIONS.items() if any(role == "count" for _, _, role in params)}


def test_other_arguments_and_other_devices_go_on_as_before(serve: Serve) -> None:
    others = [*handles_first(answering.every(seed=0, gpu=0)), *handles_first(answering.every(seed=1, gpu=1))]
    others = [call for call in others if call.gpu is not None or call.arguments != answering.asked(call.function, {}, 1).arguments]
    recorded = {(call.function, call.gpu, call.arguments) for call in answering.every(seed=1, gpu=0)}
    others = [call for call in others if (call.function, call.gpu, call.arguments) not in recorded]
    nvml, _ = serve(spec([]))
    before = {call: ask(nvml, call) for call in others}
    handles = {nvml.device(index): index for index in range(answering.DEVICES)}
    nvml, _ = serve(spec([Recorded(call, answering.answer(call)) for call in handles_first(answering.every(seed=1, gpu=0))]))
    handles |= {nvml.device(index): index for index in range(answering.DEVICES)}

    def known(item: Any) -> Any:
        return [known(one) for one in item] if isinstance(item, list) else handles.get(item, item) if isinstance(item, int) else item

    def plain(answer: Answer) -> Answer:
        return replace(answer, out={name: known(item) for name, item in answer.out.items()})

    assert [call for call in others if plain(ask(nvml, call)) != plain(before[call])] == []
    assert len(others) > 350


def test_each_version_of_a_struct_has_its_own_answers(serve: Serve) -> None:
    first = one("nvmlDeviceGetPlatformInfo", {"platformInfo.version": 1}, Answer(25))
    nvml, device = serve(spec([first]))
    assert nvml.call("nvmlDeviceGetPlatformInfo", device, {"platformInfo.version": 1}).code == 25
    assert nvml.call("nvmlDeviceGetPlatformInfo", device, {"platformInfo.version": 2}).code == 0


def test_a_refusal_of_arguments_is_given_before_the_library_looks_at_them(serve: Serve) -> None:
    refused = [one("nvmlDeviceGetClockInfo", {"type": 99}, Answer(3)), one("nvmlDeviceGetPlatformInfo", {"platformInfo.version": 9}, Answer(2))]
    nvml, device = serve(spec(refused))
    assert nvml.call("nvmlDeviceGetClockInfo", device, {"type": 99}).code == 3
    assert nvml.call("nvmlDeviceGetClockInfo", device, {"type": 98}).code == 2
    assert nvml.call("nvmlDeviceGetPlatformInfo", device, {"platformInfo.version": 9}).code == 2
    assert nvml.call("nvmlDeviceGetPlatformInfo", device, {"platformInfo.version": 8}).code == 25


def test_init_handles_and_null_come_before_a_recorded_answer(serve: Serve) -> None:
    nvml, device = serve(spec([one("nvmlDeviceGetClockInfo", {"type": 1}, Answer(0, {"clock": 5}))]))
    function, handle = nvml.function("nvmlDeviceGetClockInfo"), nvml.ffi.cast("nvmlDevice_t", device)
    assert function(handle, 1, nvml.ffi.NULL) == 2
    assert nvml.call("nvmlDeviceGetClockInfo", device ^ 1, {"type": 1}).code == 2
    nvml.shutdown()
    assert nvml.call("nvmlDeviceGetClockInfo", device, {"type": 1}).code == 1


def test_a_text_goes_into_a_buffer_that_holds_it_with_its_nul_and_into_no_shorter_one(serve: Serve) -> None:
    nvml, device = serve(spec([one("nvmlDeviceGetName", {}, Answer(0, {"name": "MADE UP \udcff"}))]))
    assert nvml.call("nvmlDeviceGetName", device, {"length": 10}).out == {"name": "MADE UP \udcff"}
    short = nvml.call("nvmlDeviceGetName", device, {"length": 9})
    assert (short.code, short.out) == (7, {})


def test_a_text_in_a_struct_is_held_by_the_length_that_is_told_beside_it(serve: Serve) -> None:
    recorded = one("nvmlSystemGetDriverBranch", {"branchInfo.version": 1}, Answer(0, {"branchInfo.branch": "r570_12"}), gpu=None)
    nvml, _ = serve(spec([recorded]))
    for length, code, text in ((80, 0, "r570_12"), (8, 0, "r570_12"), (7, 7, None), (0, 7, None)):
        answer = nvml.call("nvmlSystemGetDriverBranch", None, {"branchInfo.version": 1, "length": length})
        assert (answer.code, answer.out.get("branchInfo.branch")) == (code, text)


@pytest.mark.parametrize(("room", "code", "count"), [(None, 7, 2), (0, 7, 2), (1, 7, 2), (2, 0, 2), (3, 0, 2)])
def test_a_list_that_is_too_short_or_null_is_told_how_long_it_must_be(serve: Serve, room: int | None, code: int, count: int) -> None:
    answer = Answer(0, {"count": 2, "deviceArray": [Gpu(2), Gpu(1)]})
    nvml, device = serve(spec([one("nvmlDeviceGetTopologyNearestGpus", {"level": 20}, answer)]))
    number = nvml.ffi.new("unsigned int *", room or 0)
    items = nvml.ffi.new("nvmlDevice_t[]", room) if room else nvml.ffi.NULL
    assert nvml.function("nvmlDeviceGetTopologyNearestGpus")(nvml.ffi.cast("nvmlDevice_t", device), 20, number, items) == code
    assert number[0] == count
    if code == 0:
        assert [int(nvml.ffi.cast("uintptr_t", items[place])) for place in range(2)] == [nvml.device(2), nvml.device(1)]


def test_a_list_in_a_struct_is_told_how_long_it_must_be_too(serve: Serve) -> None:
    call = answering.asked("nvmlDeviceGetRunningProcessDetailList", {"plist.version": 1})
    answer = answering.answer(call)
    nvml, device = serve(spec([Recorded(call, answer)]))
    made = nvml.ffi.new("nvmlProcessDetailList_v1_t *", {"version": nvml.ffi.sizeof("nvmlProcessDetailList_v1_t") | 1 << 24, "mode": 0})
    function, handle = nvml.function(call.function), nvml.ffi.cast("nvmlDevice_t", device)
    assert (function(handle, made), made.numProcArrayEntries) == (7, answer.out["plist.numProcArrayEntries"])
    assert made.procArray == nvml.ffi.NULL
    rows = nvml.ffi.new("nvmlProcessDetail_v1_t[]", made.numProcArrayEntries)
    made.procArray = rows
    assert (function(handle, made), made.procArray == rows) == (0, True)
    assert [row.pid for row in rows] == [row["pid"] for row in answer.out["plist.procArray"]]


def test_a_length_known_alone_answers_a_probe_and_leaves_the_list_to_the_fields(serve: Serve) -> None:
    alone = one("nvmlDeviceGetRetiredPages", {"cause": 0, "addresses": 0}, Answer(0, {"pageCount": 9, "addresses": []}))
    nvml, device = serve(spec([alone]))
    assert nvml.call("nvmlDeviceGetRetiredPages", device, {"cause": 0, "addresses": 0}).out["pageCount"] == 9
    assert nvml.call("nvmlDeviceGetRetiredPages", device, {"cause": 1, "addresses": 0}).out["pageCount"] == 2
    number = nvml.ffi.new("unsigned int *", 9)
    items = nvml.ffi.new("unsigned long long[]", 9)
    assert nvml.function("nvmlDeviceGetRetiredPages")(nvml.ffi.cast("nvmlDevice_t", device), 0, number, items) == 0
    assert number[0] == 2  # the fields' own list


def test_a_handle_inside_a_recorded_struct_is_one_that_the_process_can_use(serve: Serve) -> None:
    nvml, device = serve(spec([one("nvmlDeviceGetHandleByUUID", {"uuid": "GPU-made-up"}, Answer(0, {"device": Gpu(1)}), gpu=None)]))
    found = nvml.call("nvmlDeviceGetHandleByUUID", None, {"uuid": "GPU-made-up"})
    assert nvml.call("nvmlDeviceGetIndex", found.out["device"]).out == {"index": 1}
    assert nvml.call("nvmlDeviceGetHandleByUUID", None, {"uuid": "GPU-made-u"}).code == 6
    assert nvml.call("nvmlDeviceGetHandleByUUID", None, {"uuid": "GPU-made-upp"}).code == 6
    assert nvml.call("nvmlDeviceGetHandleByUUID", None, {"uuid": boards.UUID.format(2)}).out == {"device": nvml.device(2)}
    assert device


def test_field_values_are_answered_entry_by_entry(serve: Serve) -> None:
    name = "nvmlDeviceGetFieldValues"
    answers = [
        one(name, {"fieldId": 82, "scopeId": 0}, Answer(0, {"valueType": 0, "value": 1.25})),
        one(name, {"fieldId": 185, "scopeId": 1}, Answer(4)),
        one(name, {"fieldId": 5000, "scopeId": 0}, Answer(0, {"valueType": 4, "value": -9})),
    ]
    nvml, device = serve(spec(answers))
    at_us = boards.AT_NS // 1000
    before = boards.value_of(tables.device_fields()["power.average_draw_mw"])
    wanted = [(82, 0), (185, 0), (185, 1), (5000, 0), (5000, 1), (9, 0)]
    assert nvml.field_values(device, wanted) == [
        FieldAnswer(0, 0, 1.25, at_us),
        FieldAnswer(0, 1, before, at_us),
        FieldAnswer(4, 0, None, at_us),
        FieldAnswer(0, 4, -9, at_us),
        FieldAnswer(2, 0, None, at_us),
        FieldAnswer(3, 0, None, at_us),
    ]


def test_a_symbol_that_the_recorded_library_lacks_is_not_found_whatever_is_asked(serve: Serve) -> None:
    nvml, device = serve(spec([Recorded(Asked("nvmlDeviceGetName", 0), Answer(13, missing=True))]))
    assert nvml.call("nvmlDeviceGetName", device) == Answer(13)
    assert nvml.call("nvmlDeviceGetName", 0) == Answer(13)


def test_a_recorded_answer_wins_over_the_gate_of_its_function(serve: Serve) -> None:
    recorded = one("nvmlDeviceGetClockInfo", {"type": 1}, Answer(0, {"clock": 5}))
    nvml, device = serve(spec([recorded], gates={"nvmlDeviceGetClockInfo": 13}))
    assert nvml.call("nvmlDeviceGetClockInfo", device, {"type": 1}).out == {"clock": 5}
    assert nvml.call("nvmlDeviceGetClockInfo", device, {"type": 0}).code == 13


def test_what_was_recorded_of_a_device_that_is_not_there_is_what_it_answers(serve: Serve) -> None:
    recorded = one("nvmlDeviceGetName", {}, Answer(0, {"name": "MADE UP"}), gpu=1)
    nvml, _ = serve(spec([recorded], modes=[frozenset({"present"}), frozenset(), frozenset({"present"})], absences=[image.Absence(0, 6)] * 3))
    lost = nvml.device(1)
    assert nvml.call("nvmlDeviceGetName", lost).out == {"name": "MADE UP"}
    assert nvml.call("nvmlDeviceGetPowerUsage", lost).code == 6


def steps(loop: bool) -> Recorded:
    """A reading that moves four times, and its list that grows."""
    answers = tuple(Answer(0, {"clock": number}) if number != 2 else Answer(15) for number in range(4))
    return replace(one("nvmlDeviceGetClockInfo", {"type": 1}, answers[0]), steps=answers, period_ns=10 * SECOND, start_ns=boards.AT_NS, loop=loop)


@pytest.mark.parametrize(
    ("seconds", "held", "looped"),
    [(-5, 0, 0), (0, 0, 0), (9, 0, 0), (10, 1, 1), (20, 2, 2), (39, 3, 3), (40, 3, 0), (55, 3, 1), (4000, 3, 0)],
)
def test_an_answer_steps_with_the_clock_and_holds_its_last_or_loops(serve: Serve, seconds: int, held: int, looped: int) -> None:
    for loop, number in ((False, held), (True, looped)):
        nvml, device = serve(spec([steps(loop)], clock=Clock("frozen", boards.AT_NS + seconds * SECOND)))
        expected = Answer(15) if number == 2 else Answer(0, {"clock": number})
        assert nvml.call("nvmlDeviceGetClockInfo", device, {"type": 1}) == expected


@pytest.mark.parametrize(("started_ns", "number"), [(0, 3), (1 << 62, 0)], ids=["long ago", "not yet"])
def test_a_scaled_clock_moves_the_steps(serve: Serve, started_ns: int, number: int) -> None:
    scaled = Clock("scaled", boards.AT_NS, scale=0.000_001, start_ns=started_ns)  # half an hour and more since 1970
    nvml, device = serve(spec([steps(loop=False)], clock=scaled))
    assert nvml.call("nvmlDeviceGetClockInfo", device, {"type": 1}).out == {"clock": number}


def test_setters_and_what_moves_of_the_fields_leave_recorded_answers_as_they_are(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "state"))
    limits = {"power.min_limit_mw": 1, "power.max_limit_mw": 500_000, "power.requested_limit_mw": 300_000, "power.enforced_limit_mw": 300_000}
    fields = boards.device() | {name: FieldValue(number) for name, number in limits.items()}
    recorded = one("nvmlDeviceGetEnforcedPowerLimit", {}, Answer(0, {"limit": 7}))
    nvml, device = serve(boards.spec(1, devices=[fields], answers=(recorded,)))
    assert nvml.call("nvmlDeviceSetPowerManagementLimit", device, {"limit": 200_000}).code == 0
    assert nvml.call("nvmlDeviceGetPowerManagementLimit", device).out == {"limit": 200_000}
    assert nvml.call("nvmlDeviceGetEnforcedPowerLimit", device).out == {"limit": 7}


def test_a_list_may_have_another_length_in_each_step(serve: Serve) -> None:
    found = tuple(Answer(0, {"count": number, "pids": list(range(number))}) for number in (0, 2, 1))
    recorded = replace(one("nvmlDeviceGetAccountingPids", {}, found[0]), steps=found, period_ns=SECOND, start_ns=boards.AT_NS)
    for number, answer in enumerate(found):
        nvml, device = serve(spec([recorded], clock=Clock("frozen", boards.AT_NS + number * SECOND)))
        assert nvml.call("nvmlDeviceGetAccountingPids", device) == answer


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        (one("nvmlDeviceGetNaem", {}, Answer(3)), r"nvmlDeviceGetNaem of device 0: no such function \(did you mean 'nvmlDeviceGetName'\?\)"),
        (one("nvmlInit_v2", {}, Answer(3), None), "nvmlInit_v2: no recording answers it"),
        (one("nvmlDeviceGetName", {}, Answer(3), None), "nvmlDeviceGetName: it has a device, and none was asked"),
        (one("nvmlDeviceGetName", {}, Answer(3), 3), "nvmlDeviceGetName of device 3: no device 3; the node has 3"),
        (one("nvmlDeviceGetName", {"nmae": 1}, Answer(3)), "nmae is no input of it; its parameters are device, name, length"),
        (one("nvmlDeviceGetClockInfo", {"type": 1 << 40}, Answer(3)), '{"type":1099511627776} of device 0: type: 1099511627776 does not fit'),
        (one("nvmlDeviceGetClockInfo", {"type": 1}, Answer(0, {"clokc": 1})), r"clokc is nothing it writes \(did you mean 'clock'\?\)"),
        (one("nvmlDeviceGetClockInfo", {"type": 1}, Answer(0, {"clock": -1})), "clock: -1 does not fit unsigned int"),
        (one("nvmlDeviceGetClockInfo", {"type": 1}, Answer(0, {"clock": "x"})), "clock: 'x' is no unsigned int"),
        (one("nvmlDeviceGetClockInfo", {"type": 1}, Answer(3, {"clock": 1})), "clock is nothing it writes"),
        (one("nvmlDeviceGetClockInfo", {"type": 1}, Answer(70000)), "70000 is no return code"),
        (one("nvmlDeviceGetGspFirmwareVersion", {}, Answer(0, {"version": "x" * 64})), "version: 64 bytes do not fit its 64"),
        (one("nvmlDeviceGetPciInfo_v3", {}, Answer(0, {"pci.busId": "x" * 33})), "pci.busId: 33 bytes do not fit its 32"),
        (one("nvmlDeviceGetPciInfo_v3", {}, Answer(0, {"pci.busid": "x"})), r"pci.busid: .* has no member 'busid' \(did you mean 'busId'\?\)"),
        (one("nvmlDeviceGetTopologyNearestGpus", {"level": 1}, Answer(0, {"count": 2, "deviceArray": [Gpu(0)]})), "1 items, and count says 2"),
        (one("nvmlDeviceGetTopologyNearestGpus", {"level": 1}, Answer(0, {"deviceArray": [5]})), "deviceArray\\[0\\]: 5 is no GPU"),
        (one("nvmlDeviceGetTopologyNearestGpus", {"level": 1}, Answer(0, {"deviceArray": [Gpu(3)]})), "no device 3; the node has 3"),
        (one("nvmlDeviceGetP2PStatus", {"device2": 5, "p2pIndex": 0}, Answer(3)), "device2 is a device, and 5 is none"),
    ],
)
def test_what_cannot_be_packed_is_named_with_function_arguments_and_member(recorded: Recorded, said: str) -> None:
    with pytest.raises(ImageError, match=said):
        image.pack(spec([recorded]))


@pytest.mark.parametrize(
    ("period", "start", "said"),
    [(0, 0, "4 steps with a period of 0 ns"), (1 << 64, 0, "steps of"), (1, -1, "from -1 ns on"), (1, 1 << 64, "both are 0 to")],
)
def test_steps_that_no_clock_reaches_are_refused(period: int, start: int, said: str) -> None:
    with pytest.raises(ImageError, match=rf'nvmlDeviceGetClockInfo \{{"type":1\}} of device 0: .*{said}'):
        image.pack(spec([replace(steps(loop=False), period_ns=period, start_ns=start)]))


def test_one_call_is_recorded_once(serve: Serve) -> None:
    recorded = one("nvmlDeviceGetClockInfo", {"type": 1}, Answer(0, {"clock": 1}))
    with pytest.raises(ImageError, match=r'nvmlDeviceGetClockInfo \{"type":1\} of device 0: recorded twice'):
        image.pack(spec([recorded, recorded]))
    with pytest.raises(ImageError, match="recorded as missing and as answering 0"):
        image.pack(spec([recorded, Recorded(Asked("nvmlDeviceGetClockInfo", 1), Answer(13, missing=True))]))
