"""Reading the answers document of DCGM's NVML injection: small documents and the answers in them, both written by hand."""

from __future__ import annotations

import pytest

from harness.text import dcgm, dcgm_reader
from harness.words.errors import InputError
from mocklib.answers import Asked, Gpu
from mocklib.binding import Answer

NODE = """\
Global:
  DeviceOrder: [GPU-b, GPU-a]
  Count: {FunctionReturn: 0, ReturnValue: 2}
  DriverVersion: {FunctionReturn: 0, ReturnValue: 570.10}
"""
DEVICES = """\
Device:
  GPU-a: {}
  GPU-b:
"""
ONE = NODE + "Device:\n  GPU-a: "
NODE_ANSWERS = {
    Asked("nvmlDeviceGetCount_v2"): Answer(0, {"deviceCount": 2}),
    Asked("nvmlSystemGetDriverVersion"): Answer(0, {"version": "570.10"}),
    Asked("nvmlDeviceGetUUID", 0): Answer(0, {"uuid": "GPU-b"}),
    Asked("nvmlDeviceGetUUID", 1): Answer(0, {"uuid": "GPU-a"}),
}


def read(lines, rest=""):
    """What the lines of GPU-b, index 0, say beside `NODE_ANSWERS`."""
    text = NODE + DEVICES + "".join(f"    {line}\n" for line in lines.splitlines()) + rest
    return dcgm_reader.read(text.encode(), "node.yaml")


def answers(lines, rest=""):
    found = dict(read(lines, rest).recording)
    for asked, answer in NODE_ANSWERS.items():
        assert found.pop(asked) == answer
    return found


CASES = {
    "a number": ("PowerUsage: {FunctionReturn: 0, ReturnValue: 70123}", {Asked("nvmlDeviceGetPowerUsage", 0): Answer(0, {"power": 70123})}),
    "a negative number": (
        "GpcClkVfOffset: {FunctionReturn: 0, ReturnValue: -15}",
        {Asked("nvmlDeviceGetGpcClkVfOffset", 0): Answer(0, {"offset": -15})},
    ),
    "a text keeps its digits": ("Serial: {FunctionReturn: 0, ReturnValue: 0120}", {Asked("nvmlDeviceGetSerial", 0): Answer(0, {"serial": "0120"})}),
    "a failing return": ("MigMode: {FunctionReturn: 3}", {Asked("nvmlDeviceGetMigMode", 0): Answer(3)}),
    "the code decides where a value stands beside it": (
        "Temperature: {0: {FunctionReturn: 15, ReturnValue: 0}}",
        {Asked("nvmlDeviceGetTemperature", 0, (("sensorType", 0),)): Answer(15)},
    ),
    "several outputs are a list": (
        "EccMode: {FunctionReturn: 0, ReturnValue: [1, 0]}",
        {Asked("nvmlDeviceGetEccMode", 0): Answer(0, {"current": 1, "pending": 0})},
    ),
    "the binding's list of one": (
        "DefaultEccMode: {FunctionReturn: 0, ReturnValue: [1]}",
        {Asked("nvmlDeviceGetDefaultEccMode", 0): Answer(0, {"defaultMode": 1})},
    ),
    "two arguments nest twice": (
        "TotalEccErrors: {0: {1: {FunctionReturn: 0, ReturnValue: 7}}, 1: {0: {FunctionReturn: 3}}}",
        {
            Asked("nvmlDeviceGetTotalEccErrors", 0, (("errorType", 0), ("counterType", 1))): Answer(0, {"eccCounts": 7}),
            Asked("nvmlDeviceGetTotalEccErrors", 0, (("errorType", 1), ("counterType", 0))): Answer(3),
        },
    ),
    "a device as an argument": (
        "P2PStatus: {GPU-a: {2: {FunctionReturn: 0, ReturnValue: 1}}}",
        {Asked("nvmlDeviceGetP2PStatus", 0, (("device2", Gpu(1)), ("p2pIndex", 2))): Answer(0, {"p2pStatus": 1})},
    ),
    "devices in a value": (
        "TopologyNearestGpus: {20: {FunctionReturn: 0, ReturnValue: [GPU-a]}}",
        {Asked("nvmlDeviceGetTopologyNearestGpus", 0, (("level", 20),)): Answer(0, {"count": 1, "deviceArray": [Gpu(1)]})},
    ),
    "the first version of a struct": (
        "MemoryInfo: {FunctionReturn: 0, ReturnValue: {total: 10, free: 4, used: 6}}",
        {Asked("nvmlDeviceGetMemoryInfo", 0): Answer(0, {"memory.total": 10, "memory.free": 4, "memory.used": 6})},
    ),
    "the second version of a struct": (
        "MemoryInfo: {FunctionReturn: 0, ReturnValue: {version: 33554472, total: 10, reserved: 1, free: 4, used: 5}}",
        {
            Asked("nvmlDeviceGetMemoryInfo_v2", 0, (("memory.version", 2),)): Answer(
                0, {"memory.version": 33554472, "memory.total": 10, "memory.reserved": 1, "memory.free": 4, "memory.used": 5}
            )
        },
    ),
    "the version word follows from the struct": (
        "MemoryInfo: {FunctionReturn: 0, ReturnValue: {total: 10, reserved: 1, free: 4, used: 5}}",
        {
            Asked("nvmlDeviceGetMemoryInfo_v2", 0, (("memory.version", 2),)): Answer(
                0, {"memory.version": 33554472, "memory.total": 10, "memory.reserved": 1, "memory.free": 4, "memory.used": 5}
            )
        },
    ),
    "a failing return of a key of two versions is the first version's": (
        "MemoryInfo: {FunctionReturn: 999}",
        {Asked("nvmlDeviceGetMemoryInfo", 0): Answer(999)},
    ),
    "the arguments tell two functions of one key apart": (
        "FanSpeed: {0: {FunctionReturn: 0, ReturnValue: 30}, 1: {FunctionReturn: 2}}",
        {
            Asked("nvmlDeviceGetFanSpeed_v2", 0, (("fan", 0),)): Answer(0, {"speed": 30}),
            Asked("nvmlDeviceGetFanSpeed_v2", 0, (("fan", 1),)): Answer(2),
        },
    ),
    "a list of structs, and memory that is not available": (
        "ComputeRunningProcesses: {FunctionReturn: 0, ReturnValue: [{pid: 7, usedGpuMemory: null, gpuInstanceId: 1, computeInstanceId: 2}]}",
        {
            Asked("nvmlDeviceGetComputeRunningProcesses_v3", 0): Answer(
                0, {"infoCount": 1, "infos": [{"pid": 7, "usedGpuMemory": (1 << 64) - 1, "gpuInstanceId": 1, "computeInstanceId": 2}]}
            )
        },
    ),
    "a failing list has no entries": ("AccountingPids: {FunctionReturn: 3}", {Asked("nvmlDeviceGetAccountingPids", 0): Answer(3)}),
    "elements that say nothing are left out by the binding": (
        "SupportedPerformanceStates: {FunctionReturn: 0, ReturnValue: [0, 2, 8]}",
        {Asked("nvmlDeviceGetSupportedPerformanceStates", 0, (("size", 64),)): Answer(0, {"pstates": [0, 2, 8, *[32] * 13]})},
    ),
    "an array as long as its argument says": (
        "CpuAffinity: {2: {FunctionReturn: 0, ReturnValue: [18446744073709551615, 0]}}",
        {Asked("nvmlDeviceGetCpuAffinity", 0, (("cpuSetSize", 2),)): Answer(0, {"cpuSet": [18446744073709551615, 0]})},
    ),
    "a struct of which the binding hands out the one member": (
        "MarginTemperature: {FunctionReturn: 0, ReturnValue: 42}",
        {
            Asked("nvmlDeviceGetMarginTemperature", 0, (("marginTempInfo.version", 1),)): Answer(
                0, {"marginTempInfo.version": 16777224, "marginTempInfo.marginTemperature": 42}
            )
        },
    ),
    "a struct that a version word tells from another": (
        ("PlatformInfo: {FunctionReturn: 0, ReturnValue: {version: 33554476, ibGuid: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], "
        "chassisSerialNumber: [65, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], slotNumber: 1, trayIndex: 2, hostId: 3, peerType: 4, moduleId: 5}}"),
        {
            Asked("nvmlDeviceGetPlatformInfo", 0, (("platformInfo.version", 2),)): Answer(
                0,
                {
                    "platformInfo.version": 33554476, "platformInfo.ibGuid": bytes(15) + b"\1", "platformInfo.chassisSerialNumber": b"A" + bytes(15),
                    "platformInfo.slotNumber": 1, "platformInfo.trayIndex": 2, "platformInfo.hostId": 3, "platformInfo.peerType": 4,
                    "platformInfo.moduleId": 5,
                },
            )
        },
    ),
    "what a recording drops is dropped": (
        "ViolationStatus: {0: {FunctionReturn: 0, ReturnValue: {referenceTime: 7, violationTime: 8}}}",
        {Asked("nvmlDeviceGetViolationStatus", 0, (("perfPolicyType", 0),)): Answer(0, {"violTime.violationTime": 8})},
    ),
    "fields each have their own return": (
        "FieldValues: {FunctionReturn: 0, ReturnValue: {82: {nvmlReturn: 0, valueType: 1, value: 5}, 83: {FunctionReturn: 3, valueType: 0}}}",
        {
            Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", 82), ("scopeId", 0))): Answer(0, {"valueType": 1, "value": 5}),
            Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", 83), ("scopeId", 0))): Answer(3),
        },
    ),
    "a field that is a double": (
        "FieldValues: {FunctionReturn: 0, ReturnValue: {82: {nvmlReturn: 0, valueType: 0, value: 0.25}}}",
        {Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", 82), ("scopeId", 0))): Answer(0, {"valueType": 0, "value": 0.25})},
    ),
}


@pytest.mark.parametrize(("lines", "expected"), CASES.values(), ids=CASES)
def test_an_answer_is_read_as_the_call_and_the_value_that_it_says(lines, expected):
    assert answers(lines) == expected
    assert not read(lines).left


LEFT = {
    "an unknown key": (
        "ClockInfos: {FunctionReturn: 0, ReturnValue: 1}",
        "Device.ClockInfos",
        "no getter of the list has this key (did you mean 'ClockInfo'?)",
    ),
    "a key that may be an identifier": ("GPU-c: {FunctionReturn: 0}", "Device.a key that is no name", "no getter of the list has this key"),
    "a setter's key": ("GpuLockedClocks: {FunctionReturn: 0}", "Device.GpuLockedClocks", "no getter of the list has this key"),
    "SUCCESS without a value": ("PowerUsage: {FunctionReturn: 0}", "Device.PowerUsage", "SUCCESS without a ReturnValue"),
    "a number out of range": ("PowerUsage: {FunctionReturn: 0, ReturnValue: 4294967296}", "Device.PowerUsage", "not in the range 0 to 4294967295"),
    "a text for a number": ("PowerUsage: {FunctionReturn: 0, ReturnValue: much}", "Device.PowerUsage", "no whole number"),
    "a mapping for a number": ("PowerUsage: {FunctionReturn: 0, ReturnValue: {power: 1}}", "Device.PowerUsage", "no whole number"),
    "one of two values": (
        "EccMode: {FunctionReturn: 0, ReturnValue: [1]}",
        "Device.EccMode",
        "nvmlDeviceGetEccMode writes 2 values: a list of as many stands for them",
    ),
    "an array of another length than its argument says": (
        "CpuAffinity: {2: {FunctionReturn: 0, ReturnValue: [0]}}",
        "Device.CpuAffinity",
        "1 entries, the buffer of cpuSetSize 2 has 2",
    ),
    "a failing return of a function that is asked with several versions": (
        "PlatformInfo: {FunctionReturn: 3}",
        "Device.PlatformInfo",
        "a failing return does not say which version of the struct was asked for",
    ),
    "a text with no end": (
        'Name: {FunctionReturn: 0, ReturnValue: "a\\0b"}',
        "Device.Name",
        "no C string of at most 4096 bytes",
    ),
    "a struct without a member": (
        "UtilizationRates: {FunctionReturn: 0, ReturnValue: {gpu: 1}}",
        "Device.UtilizationRates",
        "member 'memory' of nvmlUtilization_t is missing",
    ),
    "a struct with a member that it has not": (
        "UtilizationRates: {FunctionReturn: 0, ReturnValue: {gpu: 1, memory: 2, fan: 3}}",
        "Device.UtilizationRates",
        "a member that nvmlUtilization_t has not",
    ),
    "an argument too few": ("ClockInfo: {FunctionReturn: 3}", "Device.ClockInfo", "nested under 0 arguments; nvmlDeviceGetClockInfo takes 1"),
    "fields of a call that failed": (
        "FieldValues: {FunctionReturn: 15}",
        "Device.FieldValues",
        "the whole call failed: of which field ids is not said",
    ),
    "a field's unknown type": (
        "FieldValues: {FunctionReturn: 0, ReturnValue: {82: {nvmlReturn: 0, valueType: 99, value: 5}}}",
        "Device.FieldValues",
        "value type 99 is none of nvml.h's",
    ),
}


@pytest.mark.parametrize(("lines", "what", "why"), LEFT.values(), ids=LEFT)
def test_what_is_not_kept_is_listed_with_its_line_and_reason_and_without_a_uuid(lines, what, why):
    found = read(lines)
    assert not answers(lines)
    assert [(left.what, left.why, left.line) for left in found.left] == [(what, why, 8)]


def test_sections_of_mig_vgpu_and_excluded_devices_are_counted_by_key_with_the_reason():
    mig = "MigDevice:\n  MIG-x: {Name: {FunctionReturn: 0, ReturnValue: x}, UUID: {FunctionReturn: 0, ReturnValue: MIG-x}}\n"
    rest = f"{mig}ExcludedDevice:\n  GPU-z: {{pci: {{bus: 1}}}}\n"
    found = read("MigMode: {FunctionReturn: 3}", rest).left
    assert [(left.what, left.line) for left in found] == [("MigDevice.Name", 10), ("MigDevice.UUID", 10), ("ExcludedDevice.pci", 12)]
    assert all("GPU-z" not in left.why and "MIG-x" not in left.why for left in found)


def test_a_section_that_is_not_known_is_left_with_the_nearest_that_is():
    found = read("MigMode: {FunctionReturn: 3}", "MigDevices: {}\n").left
    assert [(left.what, left.why) for left in found] == [("MigDevices", "no section of the document that is known here (did you mean 'MigDevice'?)")]


def test_a_device_of_the_order_without_answers_has_its_uuid():
    found = dcgm_reader.read(b"Global: {DeviceOrder: [GPU-a, GPU-b]}\nDevice: {GPU-a: {}}\n", "node.yaml")
    assert found.recording == {Asked("nvmlDeviceGetUUID", index): Answer(0, {"uuid": uuid}) for index, uuid in enumerate(("GPU-a", "GPU-b"))}
    assert found.notes == ("1 devices of DeviceOrder have no answers but their UUID",)


def test_without_an_order_the_answers_to_index_give_it():
    text = "Global: {}\nDevice:\n  GPU-a: {Index: {FunctionReturn: 0, ReturnValue: 1}}\n  GPU-b: {Index: {FunctionReturn: 0, ReturnValue: 0}}\n"
    found = dcgm_reader.read(text.encode(), "node.yaml")
    assert found.uuids == ("GPU-b", "GPU-a")
    assert found.notes == ("no DeviceOrder: the devices are in the order of their answers to Index",)


def test_without_order_and_index_the_document_order_is_taken_and_said():
    found = dcgm_reader.read(b"Global: {}\nDevice:\n  GPU-b: {}\n  GPU-a: {}\n", "node.yaml")
    assert found.uuids == ("GPU-b", "GPU-a")
    assert found.notes == ("no DeviceOrder: the devices are taken in the order in which they stand",)


DAMAGE = {
    "no mapping": ("- Global\n", "node.yaml:1: the document is no mapping"),
    "no section of devices": ("Global: {}\nDevices: {}\n", "node.yaml: no section 'Device'", "'Devices' is in line 2"),
    "a device that is no mapping": (ONE + "1\n", "node.yaml:6: Device[1] is no mapping"),
    "an answer that is none": (ONE + "{Name: x}\n  GPU-b: {}\n", "node.yaml:6: Device[1].Name is no mapping"),
    "a misspelt return": (
        ONE + "{Name: {FunctionRetrun: 0}}\n",
        "node.yaml:6: Device[1].Name.FunctionRetrun is neither FunctionReturn",
        "(did you mean 'FunctionReturn'?)",
    ),
    "a misspelt value": (
        ONE + "{Name: {FunctionReturn: 0, ReturnValu: x}}\n",
        "node.yaml:6: Device[1].Name.ReturnValu stands in an answer",
        "(did you mean 'ReturnValue'?)",
    ),
    "a return that is no code": (ONE + "{Name: {FunctionReturn: ok}}\n", "node.yaml:6: Device[1].Name.FunctionReturn is no return code"),
    "a negative return": (ONE + "{Name: {FunctionReturn: -1}}\n", "is no return code"),
    "a return of 32 bits": (ONE + "{Name: {FunctionReturn: 4294967296}}\n", "is no return code"),
    "a return of a thousand digits": (ONE + f"{{Name: {{FunctionReturn: {'9' * 1000}}}}}\n", "is no return code"),
    "an argument given twice": (
        ONE + "{ClockInfo: {1: {FunctionReturn: 3}, 0x1: {FunctionReturn: 3}}}\n",
        "node.yaml:6: Device[1].ClockInfo.0x1 gives arguments a second time",
    ),
    "a field given twice": (
        ONE + "{FieldValues: {FunctionReturn: 0, ReturnValue: {1: {nvmlReturn: 3}, 0x1: {nvmlReturn: 3}}}}\n",
        "gives a field id a second time",
    ),
    "a field's unknown part": (
        ONE + "{FieldValues: {FunctionReturn: 0, ReturnValue: {1: {nvmlRetrn: 3}}}}\n",
        "is no part of a field's answer",
        "(did you mean 'nvmlReturn'?)",
    ),
    "seven arguments": (ONE + "{ClockInfo: {1: {1: {1: {1: {1: {1: {1: {FunctionReturn: 3}}}}}}}}}\n", "is nested under 6 arguments"),
    "a device twice in the order": ("Global: {DeviceOrder: [GPU-a, GPU-a]}\nDevice: {}\n", "node.yaml:1: Global.DeviceOrder.1 names a device twice"),
    "a device that the order lacks": ("Global: {DeviceOrder: [GPU-a]}\nDevice: {GPU-b: {}}\n", "node.yaml:2: Device[?] is not in DeviceOrder"),
    "an order that is none": ("Global: {DeviceOrder: GPU-a}\nDevice: {GPU-a: {}}\n", "node.yaml:1: Global.DeviceOrder is no list of UUIDs"),
    "a UUID beside another key": (
        ONE + "{UUID: {FunctionReturn: 0, ReturnValue: GPU-c}}\n",
        "node.yaml:6: Device[1].UUID is another than the key",
    ),
    "a key twice": (
        NODE + "Device:\n  GPU-a:\n    Name: {FunctionReturn: 3}\n    Name: {FunctionReturn: 3}\n",
        "node.yaml:8: key 'Name' is given twice",
    ),
    "an anchor": (ONE + "&a {}\n  GPU-b: *a\n", "node.yaml:6: anchors and aliases are not accepted"),
    "a tag": (ONE + "!!python/object:os.system {}\n", "node.yaml:6: tags such as"),
    "a hundred levels": (f"Global: {'{1: ' * 100}1{'}' * 100}\n", "nested deeper than 64 levels"),
    "no YAML": ("Global: {\n", "not valid YAML"),
}


@pytest.mark.parametrize(("text", "expected"), [(case[0], case[1:]) for case in DAMAGE.values()], ids=DAMAGE)
def test_a_document_that_is_not_built_as_they_are_is_refused_with_line_and_path(text, expected):
    with pytest.raises(InputError) as caught:
        dcgm_reader.read(text.encode(), "node.yaml")
    for part in expected:
        assert part in str(caught.value)


def test_a_document_is_known_by_its_content():
    assert dcgm.is_one((NODE + DEVICES + "    Name: {FunctionReturn: 3}\n").encode())
    assert not dcgm.is_one(b"<nvidia_smi_log>\nGlobal: FunctionReturn: 0\n".replace(b"FunctionReturn:", b""))
    assert not dcgm.is_one(b"version: '1.0'\nsystem: {driver_version: 570.10}\n")
