"""Writing the answers document of DCGM's NVML injection: the text of small recordings, written by hand, and what it leaves out."""

from __future__ import annotations

import pytest

from harness.text import dcgm_reader, dcgm_writer
from harness.words.errors import InputError
from mocklib.answers import Asked, Gpu
from mocklib.binding import Answer

UUIDS = {
    Asked("nvmlDeviceGetUUID", 0): Answer(0, {"uuid": "GPU-b"}),
    Asked("nvmlDeviceGetUUID", 1): Answer(0, {"uuid": "GPU-a"}),
}
RECORDING = {
    Asked("nvmlSystemGetDriverVersion"): Answer(0, {"version": "570.10"}),
    Asked("nvmlDeviceGetCount_v2"): Answer(0, {"deviceCount": 2}),
    **UUIDS,
    Asked("nvmlDeviceGetName", 0): Answer(0, {"name": 'a "b": \\ é \x85 😀'}),
    Asked("nvmlDeviceGetClockInfo", 0, (("type", 10),)): Answer(0, {"clock": 345}),
    Asked("nvmlDeviceGetClockInfo", 0, (("type", 9),)): Answer(3),
    Asked("nvmlDeviceGetEccMode", 0): Answer(0, {"current": 1, "pending": 0}),
    Asked("nvmlDeviceGetMemoryInfo", 0): Answer(0, {"memory.total": 10, "memory.free": 4, "memory.used": 6}),
    Asked("nvmlDeviceGetMemoryInfo_v2", 0, (("memory.version", 2),)): Answer(
        0, {"memory.version": 33554472, "memory.total": 10, "memory.reserved": 1, "memory.free": 4, "memory.used": 5}
    ),
    Asked("nvmlDeviceGetP2PStatus", 0, (("device2", Gpu(1)), ("p2pIndex", 0))): Answer(0, {"p2pStatus": 1}),
    Asked("nvmlDeviceGetComputeRunningProcesses_v3", 0): Answer(
        0, {"infoCount": 1, "infos": [{"pid": 7, "usedGpuMemory": 5, "gpuInstanceId": 1, "computeInstanceId": 2}]}
    ),
    Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", 83), ("scopeId", 0))): Answer(3),
    Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", 82), ("scopeId", 0))): Answer(0, {"valueType": 0, "value": 0.25}),
    Asked("nvmlDeviceGetMemoryInfo", 1): Answer(999),
    Asked("nvmlDeviceGetMemoryInfo_v2", 1, (("memory.version", 2),)): Answer(999),
}
TEXT = r"""Global:
  DeviceOrder: ["GPU-b", "GPU-a"]
  Count:
    FunctionReturn: 0
    ReturnValue: 2
  DriverVersion:
    FunctionReturn: 0
    ReturnValue: "570.10"
Device:
  GPU-b:
    ClockInfo:
      9:
        FunctionReturn: 3
      10:
        FunctionReturn: 0
        ReturnValue: 345
    ComputeRunningProcesses:
      FunctionReturn: 0
      ReturnValue:
        - pid: 7
          usedGpuMemory: 5
          gpuInstanceId: 1
          computeInstanceId: 2
    EccMode:
      FunctionReturn: 0
      ReturnValue: [1, 0]
    FieldValues:
      FunctionReturn: 0
      ReturnValue:
        82:
          nvmlReturn: 0
          valueType: 0
          value: 0.25
        83:
          nvmlReturn: 3
    MemoryInfo:
      FunctionReturn: 0
      ReturnValue:
        version: 33554472
        total: 10
        reserved: 1
        free: 4
        used: 5
    Name:
      FunctionReturn: 0
      ReturnValue: "a \"b\": \\ é \u0085 😀"
    P2PStatus:
      GPU-a:
        0:
          FunctionReturn: 0
          ReturnValue: 1
    UUID:
      FunctionReturn: 0
      ReturnValue: "GPU-b"
  GPU-a:
    MemoryInfo:
      FunctionReturn: 999
    UUID:
      FunctionReturn: 0
      ReturnValue: "GPU-a"
"""


def test_a_recording_is_written_key_by_key_in_an_order_of_its_own():
    made = dcgm_writer.write(RECORDING)
    assert made.text == TEXT
    assert dcgm_writer.write(dict(reversed(RECORDING.items()))).text == TEXT
    assert made.kept == len(RECORDING) - len(made.left)


def test_of_two_versions_one_is_written_and_the_other_counted():
    assert [(left.what, left.why) for left in dcgm_writer.write(RECORDING).left] == [
        ("nvmlDeviceGetMemoryInfo", "its key holds the answer of another function"),
        ("nvmlDeviceGetMemoryInfo_v2", "its key holds the answer of another function"),
    ]


def test_what_was_written_is_read_back_and_what_was_not_stays_unknown():
    made = dcgm_writer.write(RECORDING)
    back = dcgm_reader.read(made.text.encode(), "document").recording
    assert len(back) == made.kept
    assert {asked: RECORDING[asked] for asked in back} == back


LEFT = {
    "a missing symbol": (Asked("nvmlDeviceGetPowerUsage"), Answer(13, missing=True), "the library lacks the symbol"),
    "an argument inside a struct": (
        Asked("nvmlDeviceGetTemperatureV", 0, (("temperature.sensorType", 0),)),
        Answer(0, {"temperature.version": 16777228, "temperature.sensorType": 0, "temperature.temperature": 30}),
        "struct",
    ),
    "a version that the key is not read as": (Asked("nvmlDeviceGetPciInfo_v2", 0), Answer(3), "its key is read as another function's"),
    "a field of a scope": (
        Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", 83), ("scopeId", 1))),
        Answer(3),
        "the document names a field by its id alone, without a scope",
    ),
    "a field whose value has no number": (
        Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", 83), ("scopeId", 0))),
        Answer(0, {"valueType": 0, "value": b"\0\0\0\0\0\0\xf0\x7f"}),
        "a value that is no number",
    ),
    "a text that is not UTF-8": (Asked("nvmlDeviceGetName", 0), Answer(0, {"name": "caf\udce9"}), "a text that is not UTF-8"),
    "a count beside a failing return": (
        Asked("nvmlDeviceGetAccountingPids", 0),
        Answer(7, {"count": 5}),
        "the document has no place for what was written beside a failing return",
    ),
}


@pytest.mark.parametrize(("asked", "answer", "why"), LEFT.values(), ids=LEFT)
def test_what_the_format_cannot_say_is_left_out_with_the_reason(asked, answer, why):
    made = dcgm_writer.write({**UUIDS, asked: answer})
    assert made.text == dcgm_writer.write(UUIDS).text
    assert [left.what for left in made.left] == [asked.function]
    assert why in made.left[0].why


@pytest.mark.parametrize(
    ("uuid", "said"),
    [
        (Answer(15), "GPU 1 has no UUID"),
        (Answer(0, {"uuid": ""}), "GPU 1 has no UUID"),
        (Answer(0, {"uuid": "GPU-b"}), "GPU 1 has the UUID of GPU 0"),
    ],
)
def test_a_gpu_that_the_format_cannot_name_is_refused(uuid, said):
    with pytest.raises(InputError, match=said):
        dcgm_writer.write({**UUIDS, Asked("nvmlDeviceGetUUID", 1): uuid})
