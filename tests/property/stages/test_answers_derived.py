"""Random answers, of the right and of the wrong types: a sound profile comes of any recording that names its driver, and it compiles."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.stages import compile as compiling
from harness.stages.answers import deriving
from harness.stores import profiles
from harness.tables import drivers
from mocklib import fields, image, members
from mocklib.answers import Asked
from mocklib.binding import Answer

FEW = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
TREE = drivers.load()

scalars = st.one_of(
    st.integers(-(1 << 63), (1 << 64) - 1), st.integers(0, 3), st.sampled_from([0, 1, 100, 101, 2**31, 2**32 - 1, 2**32, 2**64 - 1]),
    st.text(max_size=6), st.sampled_from(["00000000:53:00.0", "0000:53:00.0", "a\ud800", "N/A", "x" * 5000]), st.binary(max_size=32),
    st.booleans(), st.none(),
)  # fmt: skip
NAMES = ["pid", "usedGpuMemory", "gpuInstanceId", "smUtil", "memUtil", "encUtil", "decUtil", "type", "fwVersion", "currentTemp", "percentage", "id"]
lists = st.lists(st.one_of(scalars, st.dictionaries(st.sampled_from(NAMES), scalars, max_size=5)), max_size=3)
codes = st.one_of(st.just(0), st.sampled_from([0, 2, 3, 4, 6, 7, 13, 15, 16, 26, 27, 999]))
OUTS = {name: [member.out for member in members.of(name, {})] for name in members.functions()}
HANDLED = {
    "nvmlDeviceGetSupportedMemoryClocks": ["clocksMHz"], "nvmlDeviceGetSupportedGraphicsClocks": ["clocksMHz"],
    "nvmlDeviceGetAccountingPids": ["pids"],
    "nvmlDeviceGetComputeRunningProcesses_v3": ["infos"], "nvmlDeviceGetGraphicsRunningProcesses_v3": ["infos"],
    "nvmlDeviceGetProcessUtilization": ["utilization"], "nvmlDeviceGetRetiredPages_v2": ["pageCount", "addresses", "timestamps"],
    "nvmlDeviceGetBridgeChipInfo": ["bridgeHierarchy.bridgeChipInfo"], "nvmlDeviceGetThermalSettings": ["pThermalSettings.sensor"],
    "nvmlDeviceGetFanSpeed_v2": ["speed"], "nvmlDeviceGetFanSpeedRPM": ["fanSpeed.speed"], "nvmlDeviceGetViolationStatus": ["violTime.violationTime"],
    "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles": [f"currentProfiles.{part}ProfilesMask.mask" for part in ("perf", "requested", "enforced")],
    "nvmlDeviceGetClockOffsets": [f"info.{part}" for part in ("clockOffsetMHz", "minClockOffsetMHz", "maxClockOffsetMHz")],
    "nvmlDeviceGetAccountingStats": [f"stats.{part}" for part in ("gpuUtilization", "memoryUtilization", "maxMemoryUsage", "time", "isRunning")],
}  # fmt: skip
ARGUMENTS = ["type", "clockType", "clockId", "errorType", "counterType", "locationType", "counter", "sensorType", "thresholdType", "fan", "cause",
             "pid", "memoryClockMHz", "info.type", "perfPolicyType", "sensorIndex", "object", "platformInfo.version", "fieldId",
             "scopeId"]  # fmt: skip


@st.composite
def calls(draw):
    function = draw(st.sampled_from([*(name for name, outs in OUTS.items() if outs), *HANDLED, "nvmlDeviceGetFieldValues"]))
    arguments = draw(st.dictionaries(st.sampled_from(ARGUMENTS), st.integers(0, 4), max_size=3))
    if function == "nvmlDeviceGetFieldValues":
        arguments = {"fieldId": draw(st.integers(0, 310)), "scopeId": draw(st.integers(0, 2))}
    code = draw(codes)
    outs = HANDLED.get(function) or OUTS.get(function) or ["value"]
    out = {} if code else {name: draw(st.one_of(scalars, lists)) for name in outs}
    return Asked(function, draw(st.integers(0, 1)), tuple(arguments.items())), Answer(code, out)


versions = st.sampled_from(["470.74", "535.54.03", "580.105.08", "595.91.07", "1.0", "999.1"])


@FEW
@given(st.lists(calls(), max_size=25), versions)
def test_any_recording_that_names_its_driver_becomes_a_profile_that_compiles(answered, version):
    recording = {Asked("nvmlSystemGetDriverVersion"): Answer(0, {"version": version}), Asked("nvmlDeviceGetCount_v2"): Answer(0, {"deviceCount": 2})}
    recording.update(answered)
    for gpu in (0, 1):
        recording.setdefault(Asked("nvmlDeviceGetIndex", gpu), Answer(0, {"index": gpu}))
    made = deriving.derive(recording, TREE)
    assert deriving.derive(recording, TREE).text == made.text
    profile = profiles.parse(made.text.encode())
    assert len(profile.devices) == 2
    spec = compiling.compile_profile(profile, TREE.resolve(version))
    assert all(len(device) == len(fields.device_fields()) for device in spec.devices)
    assert image.pack(spec)
