"""What the answers of functions say whose handler is C: several fans, sensors, policies, masks.  Lists are read in ``gathering_lists``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from harness.stages.answers.told import Refusal, Told, holds
from harness.words.state import State

if TYPE_CHECKING:
    from mocklib.answers import Asked
    from mocklib.binding import Answer

INDIRECT = frozenset(("nvmlDeviceGetViolationStatus", "nvmlDeviceGetThermalSettings", "nvmlDeviceGetClockOffsets"))
"""Functions that say less of a field than the call that is made for it: they are believed last."""

Said = Iterator[Told | Refusal]


def told(asked: Asked, answer: Answer, state: int | None) -> Said:
    """What one answer says; nothing for a function that is none of these.  ``state``: the GPU's performance state, in which its offsets hold."""
    reader = _READERS.get(asked.function)
    given = dict(asked.arguments)
    if reader is not None and given.get("info.pstate", state) == state:
        yield from reader(asked, answer, given)


def performance_state(answers: Mapping[Asked, Answer]) -> int | None:
    """The performance state that the GPU is in (nvml.h, nvmlPstates_t); None where it was not given."""
    given = (answer.out.get("pState") for asked, answer in answers.items() if asked.function == "nvmlDeviceGetPerformanceState")
    return next((value for value in given if isinstance(value, int)), None)


def _text(name: str, out: str) -> Callable[[Asked, Answer, Mapping[str, Any]], Said]:
    """One text or number."""

    def read(asked: Asked, answer: Answer, _: Mapping[str, Any]) -> Said:
        if answer.code:
            if State.of_code(answer.code) is not None:
                yield Told(name, asked, code=answer.code)
        elif holds(name, answer.out.get(out)):
            yield Told(name, asked, answer.out[out])

    return read


def _fan(name: str, out: str, argument: str) -> Callable[[Asked, Answer, Mapping[str, Any]], Said]:
    """A figure of the first fan: fields hold one; it is refused where the board has no fans, too."""

    def read(asked: Asked, answer: Answer, given: Mapping[str, Any]) -> Said:
        if given.get(argument, 0) != 0:
            return
        if answer.code:
            yield Refusal(asked, answer.code, ("fan.count", name))
        elif holds(name, answer.out.get(out)):
            yield Told(name, asked, answer.out[out])

    return read


_COUNTERS = {0: "sw_power_cap_us", 1: "sw_thermal_slowdown_us", 2: "sync_boost_us"}


def _violation(asked: Asked, answer: Answer, given: Mapping[str, Any]) -> Said:
    """Nanoseconds of one policy (nvml.h, nvmlPerfPolicyType_t)."""
    counter = _COUNTERS.get(given.get("perfPolicyType", -1))
    if counter is not None:
        yield from _text(f"clocks_throttle_reasons.counters.{counter}", "violTime.violationTime")(asked, answer, given)


def _thermal(asked: Asked, answer: Answer, given: Mapping[str, Any]) -> Said:
    """The GPU's own sensor."""
    if given.get("sensorIndex") != 0:
        return
    listed = answer.out.get("pThermalSettings.sensor")
    first = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], dict) else {}
    yield from _members(asked, answer, {"thermal.temperature_gpu_c": first.get("currentTemp")})


def _bridge(asked: Asked, answer: Answer, _: Mapping[str, Any]) -> Said:
    """The first bridge chip; a board with none answers not supported."""
    listed = answer.out.get("bridgeHierarchy.bridgeChipInfo")
    first = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], dict) else {}
    yield from _members(asked, answer, {"bridge_chip.type": first.get("type"), "bridge_chip.firmware": first.get("fwVersion")})


_MASKS = {"requested": "requestedProfilesMask", "enforced": "enforcedProfilesMask", "supported": "perfProfilesMask"}


def _workload(asked: Asked, answer: Answer, _: Mapping[str, Any]) -> Said:
    """Masks of 255 bits in 8 words; an empty mask of what is offered may be one that the board does not say."""
    found = {f"power.workload_profiles.{name}": _mask(answer.out, member) for name, member in _MASKS.items()}
    if not any(found["power.workload_profiles.supported"] or b""):
        del found["power.workload_profiles.supported"]
    if answer.code:
        found.pop("power.workload_profiles.supported", None)
    yield from _members(asked, answer, found)


def _mask(out: Mapping[str, Any], member: str) -> bytes | None:
    words = out.get(f"currentProfiles.{member}.mask")
    if not isinstance(words, list) or not all(isinstance(word, int) and 0 <= word < 2**32 for word in words):
        return None
    return b"".join(word.to_bytes(4, "little") for word in words)


def _offsets(asked: Asked, answer: Answer, given: Mapping[str, Any]) -> Said:
    """The range and the offset of one clock in one performance state, of which fields hold that in force."""
    domain = {0: "graphics", 2: "memory"}.get(given.get("info.type", -1))
    if domain is None or answer.code:
        return
    names = {"set_mhz": "clockOffsetMHz", "min_mhz": "minClockOffsetMHz", "max_mhz": "maxClockOffsetMHz"}
    yield from _members(asked, answer, {f"clocks.offsets.{domain}.{name}": answer.out.get(f"info.{member}") for name, member in names.items()})


def _members(asked: Asked, answer: Answer, found: Mapping[str, Any]) -> Said:
    """The members of a struct, or its code."""
    if not answer.code:
        yield from (Told(name, asked, value) for name, value in found.items() if holds(name, value))
    elif len(found) > 1:
        yield Refusal(asked, answer.code, tuple(found))
    elif State.of_code(answer.code) is not None:
        yield from (Told(name, asked, code=answer.code) for name in found)


_READERS: Mapping[str, Callable[[Asked, Answer, Mapping[str, Any]], Said]] = {
    "nvmlSystemGetDriverVersion": _text("system.driver_version", "version"),
    "nvmlSystemGetNVMLVersion": _text("system.nvml_version", "version"),
    "nvmlSystemGetCudaDriverVersion_v2": _text("system.cuda_version", "cudaDriverVersion"),
    "nvmlSystemGetCudaDriverVersion": _text("system.cuda_version", "cudaDriverVersion"),
    "nvmlSystemGetDriverBranch": _text("system.driver_branch", "branchInfo.branch"),
    "nvmlDeviceGetGspFirmwareVersion": _text("gsp_firmware.version", "version"),
    "nvmlDeviceGetFanSpeed_v2": _fan("fan.speed_percent", "speed", "fan"),
    "nvmlDeviceGetTargetFanSpeed": _fan("fan.target_speed_percent", "targetSpeed", "fan"),
    "nvmlDeviceGetFanSpeedRPM": _fan("fan.speed_rpm", "fanSpeed.speed", "fanSpeed.fan"),
    "nvmlDeviceGetViolationStatus": _violation,
    "nvmlDeviceGetThermalSettings": _thermal,
    "nvmlDeviceGetBridgeChipInfo": _bridge,
    "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles": _workload,
    "nvmlDeviceGetClockOffsets": _offsets,
}
