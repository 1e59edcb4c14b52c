"""Ledger B, F, H and I, as far as they are set: what a call changes, what is read afterwards, what is refused and changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.spec import serving
from tests.spec.serving import Node

D = "nvmlDevice"
FAN = "fan: {count: 2, speed_percent: '40', max_speed_rpm: 5000, min_speed_percent: 20, max_speed_percent: 90}"
POWER = "power: {default_limit_mw: 400000, enforced_limit_mw: 350000, min_limit_mw: 100000, max_limit_mw: 450000}"
OFFSETS = "performance_state: P0, clocks: {offsets: {graphics: {min_mhz: -200, max_mhz: 300}, memory: {min_mhz: -100, max_mhz: 100}}}"
CLOCKS = ("clocks: {graphics_current: 1500, sm_current: 1500, memory_current: 2619, graphics_max: 1980, sm_max: 1980, memory_max: 2619, "
          "graphics_app: 1980, memory_app: 2619, graphics_app_default: 1410, memory_app_default: 2619}, "
          "supported_clocks: {memory_clocks: [{freq_mhz: 2619, graphics_clocks: [1980, 1410]}]}")  # fmt: skip


@dataclass(frozen=True)
class Steps:
    """Calls one after the other, each with its code or some of what it writes."""

    row: str
    keys: str
    steps: tuple[tuple[str, Any], ...]


NAMED = "architecture: blackwell, hostname: gpu-node-0"
NAME, RENAME = f"{D}GetHostname_v1", f"{D}SetHostname_v1 hostname.value="
LONGEST = "a" * 63
CASES = [
    Steps("B14", NAMED, ((NAME, {"hostname.value": "gpu-node-0"}), (f"{RENAME}rack-7.gpu3", 0), (NAME, {"hostname.value": "rack-7.gpu3"}),
                         *((f"{RENAME}{wrong}", 2) for wrong in ("-a", "a-", ".a", "a.", "a_b", LONGEST + "a")),
                         (NAME, {"hostname.value": "rack-7.gpu3"}), (f"{RENAME}{LONGEST}", 0), (NAME, {"hostname.value": LONGEST}),
                         (RENAME, 0), (NAME, {"hostname.value": ""}))),
    Steps("B14", "architecture: blackwell", ((NAME, {"hostname.value": ""}), (f"{RENAME}a", 0), (NAME, {"hostname.value": "a"}))),
    Steps("B14", "architecture: hopper, hostname: gpu-node-0", ((NAME, 3), (f"{RENAME}a", 3))),
    Steps("F05", "power: {enforced_limit_mw: 400000, max_limit_mw: 500000}", (
        (f"{D}SetPowerManagementLimit limit=1", 0), (f"{D}GetPowerManagementLimit", {"limit": 1}), (f"{D}SetPowerManagementLimit limit=500001", 2),
        (f"{D}SetPowerManagementLimit limit=0", 2), (f"{D}GetEnforcedPowerLimit", {"limit": 1}))),
    Steps("H04", FAN, ((f"{D}GetFanSpeedRPM fanSpeed.version=1 fanSpeed.fan=0", {"fanSpeed.speed": 2000}),)),
    Steps("H04", "fan: {count: 1, speed_percent: '40'}", ((f"{D}GetFanSpeedRPM fanSpeed.version=1 fanSpeed.fan=0", 3), (f"{D}GetFanSpeed",
    {"speed": 40}))),
    Steps("H08", FAN, ((f"{D}SetFanSpeed_v2 fan=0 speed=70", 0), (f"{D}GetFanSpeed_v2 fan=0", {"speed": 70}), (f"{D}GetFanSpeed", {"speed": 70}),
                       (f"{D}GetFanControlPolicy_v2 fan=0", {"policy": 1}), (f"{D}GetFanSpeed_v2 fan=1", {"speed": 40}),
                       (f"{D}SetFanSpeed_v2 fan=0 speed=19", 2), (f"{D}SetFanSpeed_v2 fan=0 speed=91", 2), (f"{D}SetFanSpeed_v2 fan=2 speed=50", 2),
                       (f"{D}GetFanSpeed_v2 fan=0", {"speed": 70}))),
    Steps("H09", FAN, ((f"{D}SetFanSpeed_v2 fan=1 speed=70", 0), (f"{D}SetDefaultFanSpeed_v2 fan=1", 0), (f"{D}GetFanSpeed_v2 fan=1", {"speed": 40}),
                       (f"{D}GetFanControlPolicy_v2 fan=1", {"policy": 0}))),
    Steps("H10", FAN, ((f"{D}SetFanControlPolicy fan=0 policy=1", 0), (f"{D}GetFanControlPolicy_v2 fan=0", {"policy": 1}),
    (f"{D}GetFanSpeed_v2 fan=0", {"speed": 40}),
                       (f"{D}SetFanControlPolicy fan=0 policy=7", 2))),
    Steps("H11", FAN, ((f"{D}GetFanControlPolicy_v2 fan=0", {"policy": 0}), (f"{D}GetFanControlPolicy_v2 fan=2", 2))),
    Steps("H07", FAN[:-1] + ", controls: [{fan: 1, policy: manual, speed_percent: 60}, {fan: 9, policy: manual, speed_percent: 60}]}",
          ((f"{D}GetFanControlPolicy_v2 fan=0", {"policy": 0}), (f"{D}GetFanControlPolicy_v2 fan=1", {"policy": 1}), (f"{D}GetFanSpeed_v2 fan=1",
          {"speed": 60}),
           (f"{D}GetFanSpeed_v2 fan=0", {"speed": 40}))),
    Steps("I11", CLOCKS, ((f"{D}GetMinMaxClockOfPState type=0 pstate=0", {"minClockMHz": 1410, "maxClockMHz": 1980}),
    (f"{D}GetMinMaxClockOfPState type=0 pstate=8", 3),
                          (f"{D}GetMinMaxClockOfPState type=3 pstate=0", 3), (f"{D}GetMinMaxClockOfPState type=0 pstate=16", 2))),
    Steps("I11", CLOCKS, ((f"{D}GetSupportedPerformanceStates size=64", 0), (f"{D}GetPerformanceModes", 0), (f"{D}GetCurrentClockFreqs", 0))),
    Steps("I12", CLOCKS, ((f"{D}SetApplicationsClocks memClockMHz=2619 graphicsClockMHz=1410", 0), (f"{D}GetApplicationsClock clockType=0",
    {"clockMHz": 1410}),
                          (f"{D}SetApplicationsClocks memClockMHz=2619 graphicsClockMHz=1411", 2), (f"{D}GetApplicationsClock clockType=0",
                          {"clockMHz": 1410}))),
    Steps("I13", CLOCKS, ((f"{D}ResetApplicationsClocks", 0), (f"{D}GetApplicationsClock clockType=0", {"clockMHz": 1410}))),
    Steps("I14", CLOCKS, ((f"{D}SetGpuLockedClocks minGpuClockMHz=300 maxGpuClockMHz=1200", 0), (f"{D}GetClockInfo type=0", {"clock": 1200}),
    (f"{D}GetClockInfo type=1", {"clock": 1200}),
                          (f"{D}SetGpuLockedClocks minGpuClockMHz=1200 maxGpuClockMHz=300", 2), (f"{D}ResetGpuLockedClocks", 0),
                          (f"{D}GetClockInfo type=0", {"clock": 1500}))),
    Steps("I15", CLOCKS, ((f"{D}SetMemoryLockedClocks minMemClockMHz=300 maxMemClockMHz=1593", 0), (f"{D}GetClockInfo type=2", {"clock": 1593}),
    (f"{D}GetClockInfo type=0", {"clock": 1500}),
                          (f"{D}ResetMemoryLockedClocks", 0), (f"{D}GetClockInfo type=2", {"clock": 2619}))),
    Steps("I17", OFFSETS, ((f"{D}SetGpcClkVfOffset offset=150", 0), (f"{D}GetGpcClkVfOffset", {"offset": 150}), (f"{D}SetGpcClkVfOffset offset=301",
    2), (f"{D}SetGpcClkVfOffset offset=-201", 2),
                           (f"{D}GetGpcClkVfOffset", {"offset": 150}), (f"{D}SetMemClkVfOffset offset=-50", 0), (f"{D}GetMemClkVfOffset",
                           {"offset": -50}),
                           (f"{D}GetGpcClkMinMaxVfOffset", {"minOffset": -200, "maxOffset": 300}))),
    Steps("I17", CLOCKS, ((f"{D}SetGpcClkVfOffset offset=1", 3), (f"{D}GetGpcClkVfOffset", 3))),
    Steps("I17", OFFSETS, ((f"{D}SetClockOffsets info.version=1 info.type=0 info.pstate=0 info.clockOffsetMHz=120", 0), (f"{D}GetGpcClkVfOffset",
    {"offset": 120}))),
    Steps("F06", POWER, ((f"{D}SetPowerManagementLimit_v2 powerValue.version=2 powerValue.powerScope=0 powerValue.powerValueMw=200000", 0),
                         (f"{D}GetPowerManagementLimit", {"limit": 200000}),
                         (f"{D}SetPowerManagementLimit_v2 powerValue.version=2 powerValue.powerScope=1 powerValue.powerValueMw=300000", 3),
                         (f"{D}SetPowerManagementLimit_v2 powerValue.version=2 powerValue.powerScope=9 powerValue.powerValueMw=300000", 2),
                         (f"{D}GetPowerManagementLimit", {"limit": 200000}))),
    Steps("F29", "architecture: hopper", ((f"{D}SetPowerMizerMode_v1 powerMizerMode.mode=1", 0), (f"{D}GetPowerMizerMode_v1",
    {"powerMizerMode.currentMode": 1}),
                                          (f"{D}SetPowerMizerMode_v1 powerMizerMode.mode=4", 2), (f"{D}GetPowerMizerMode_v1",
                                          {"powerMizerMode.currentMode": 1}))),
    Steps("I22", "architecture: ampere, clocks: {graphics_current: 1}", ((f"{D}GetClkMonStatus", {"status.bGlobalStatus": 0}),)),
    Steps("I22", "architecture: turing, clocks: {graphics_current: 1}", ((f"{D}GetClkMonStatus", 3),)),
]  # fmt: skip


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case.row}-{case.keys[:30]}", marks=pytest.mark.spec(case.row)) for case in CASES])
def test_a_board_takes_what_is_set_and_refuses_what_it_must(case: Steps, node: Node):
    with node.serve(serving.compiled(case.keys)) as nvml:
        for number, (asked, wanted) in enumerate(case.steps):
            assert serving.answer(nvml, asked, wanted) == wanted, f"step {number}: {asked}"
