"""Ledger F, H, I and J, as far as they are read: power, fans, clocks, event reasons."""

from __future__ import annotations

import pytest

from tests.spec import serving
from tests.spec.serving import Case, Node

D = "nvmlDevice"
POWER = ("power: {management_mode: enabled, default_limit_mw: 400000, enforced_limit_mw: 350000, min_limit_mw: 100000, max_limit_mw: 450000, "
         "current_draw_mw: 68570}")  # fmt: skip
READINGS = "gpu_power_readings"
FAN = "fan: {count: 2, speed_percent: '40', target_speed_percent: '45', max_speed_rpm: 5000, min_speed_percent: 20, max_speed_percent: 90}"
CLOCKS = ("clocks: {graphics_current: 210, sm_current: 211, memory_current: 405, video_current: 540, graphics_max: 1980, sm_max: 1981, "
          "memory_max: 2619, video_max: 1545, "
          "graphics_app: 1095, memory_app: 1215, graphics_app_default: 1410, memory_app_default: 1216}")  # fmt: skip
SUPPORTED = ("supported_clocks: {memory_clocks: [{freq_mhz: 2619, graphics_clocks: [1980, 1965]}, {freq_mhz: 1593, graphics_clocks: [1200]}]}, "
             f"{CLOCKS}")  # fmt: skip
WORKLOAD = ("power: {workload_power_profiles: {supported: [{id: 0, priority: 1, conflicts: [1]}, {id: 1, priority: 2, conflicts: [0]}], "
            "requested: [0, 1]}}")  # fmt: skip
CURRENT = f"{D}WorkloadPowerProfileGetCurrentProfiles currentProfiles.version=1"
FLAGS = (("J01", "gpu_idle", 0x1, "gpu_idle"), ("J02", "applications_clocks_setting", 0x2, "applications_clocks_setting"),
         ("J03", "sw_power_cap", 0x4, "sw_power_cap"), ("J04", "hw_slowdown", 0x8, "hw_slowdown"), ("J05", "sync_boost", 0x10, "sync_boost"),
         ("J06", "sw_thermal_slowdown", 0x20, "sw_thermal_slowdown"), ("J07", "hw_thermal_slowdown", 0x40, "hw_thermal_slowdown"),
         ("J08", "hw_power_brake_slowdown", 0x80, "hw_power_brake_slowdown"), ("J09", "display_clocks_setting", 0x100,
         "display_clocks_setting"))  # fmt: skip
COUNTERS = ("clocks_throttle_reasons: {gpu_idle: true, counters: {sw_power_cap_us: 10, sync_boost_us: 20, sw_thermal_slowdown_us: 30, "
            "hw_thermal_slowdown_us: 40, hw_power_brake_slowdown_us: 50}}")  # fmt: skip
FROZEN = 'clock: {mode: frozen, at: "2026-01-01T00:00:00Z"}'
COUNTED = "clocks_event_reasons_counters/clocks_event_reasons_counters_"


def clock(kind: int, which: int) -> str:
    return f"{D}GetClock clockType={kind} clockId={which}"


CASES = [
    Case("F02", POWER, {f"{D}GetPowerManagementMode": {"mode": 1}}),
    Case("F02", "power: {management_mode: disabled}", {f"{D}GetPowerManagementMode": {"mode": 0}}),
    Case("F03", POWER, {f"{D}GetPowerManagementDefaultLimit": {"defaultLimit": 400000}, "field 189": 400000},
         {f"{READINGS}/default_power_limit": "400.00 W"}),
    Case("F04", POWER, {f"{D}GetPowerManagementLimit": {"limit": 350000}, f"{D}GetEnforcedPowerLimit": {"limit": 350000}, "field 190": 350000,
         "field 192": 350000},
         {f"{READINGS}/current_power_limit": "350.00 W", f"{READINGS}/requested_power_limit": "350.00 W"}),
    Case("F05", POWER, {f"{D}GetPowerManagementLimitConstraints": {"minLimit": 100000, "maxLimit": 450000}, "field 187": 100000, "field 188": 450000},
         {f"{READINGS}/min_power_limit": "100.00 W", f"{READINGS}/max_power_limit": "450.00 W"}),
    Case("F07", POWER, {f"{D}GetPowerUsage": {"power": 68570}, "field 185": 68570, "field 186": 68570},
         {f"{READINGS}/average_power_draw": "68.57 W", f"{READINGS}/instant_power_draw": "68.57 W"}),
    Case("F08", POWER, {"field 185 1": "code 3", "field 186 2": "code 3"},
         {"gpu_memory_power_readings/average_power_draw": "N/A", "module_power_readings/average_power_draw": "N/A",
         "module_power_readings/instant_power_draw": "N/A"}),
    Case("F08", f"{POWER[:-1]}, module: {{instant_draw_mw: 9000, enforced_limit_mw: 8000}}, memory: {{average_draw_mw: 7000}}}}",
         {"field 186 1": 9000, "field 190 1": 8000, "field 185 2": 7000, "field 185 1": "code 3", "field 186 2": "code 3", "field 185 3": "code 3"},
         {"module_power_readings/instant_power_draw": "9.00 W", "gpu_memory_power_readings/average_power_draw": "7.00 W"}),
    *(Case("F08", POWER, {f"field {number} {scope}": "code 3" for number in (187, 188, 189, 190, 192)}) for scope in (1, 2)),
    Case("F09", f"performance_state: P8, {POWER}", {f"{D}GetPowerState": {"pState": 8}}, {f"{READINGS}/power_state": "P8"}),
    Case("F09", "performance_state: P8, power: {power_state: P2}", {f"{D}GetPowerState": {"pState": 2}}, {f"{READINGS}/power_state": "P2"}),
    Case("F10", "power: {total_energy_consumption_mj: 123456789}", {f"{D}GetTotalEnergyConsumption": {"energy": 123456789}, "field 83": 123456789}),
    Case("F11", "", {f"{D}GetPowerSource": {"powerSource": 0}}),
    Case("F12", WORKLOAD, {CURRENT: 0}),
    Case("F12", "power: {workload_power_profiles: {supported: []}}", {CURRENT: 0}, {"power_profiles/power_profile_requested_profiles": "N/A",
         "power_profiles/power_profile_enforced_profiles": "N/A"}),
    Case("F12", "", {CURRENT: 3}, {"power_profiles/power_profile_requested_profiles": "N/A",
         "power_profiles/power_profile_enforced_profiles": "N/A"}),
    Case("F12", WORKLOAD, {f"{D}WorkloadPowerProfileGetProfilesInfo profilesInfo.version=1": 0}),
    Case("F12", WORKLOAD, {CURRENT: 13}, driver="565.57.01"),
    *(Case("F29", f"architecture: hopper, power: {{power_mizer_mode: {word}}}",
           {f"{D}GetPowerMizerMode_v1": {"powerMizerMode.currentMode": number, "powerMizerMode.supportedPowerMizerModes": 15}})
      for number, word in enumerate(("adaptive", "prefer_maximum_performance", "auto", "prefer_consistent_performance"))),
    Case("F29", "architecture: kepler", {f"{D}GetPowerMizerMode_v1": 3}),
    Case("F29", "architecture: hopper", {f"{D}GetPowerMizerMode_v1": 13}, driver="575.57.08"),
    Case("H01", FAN, {f"{D}GetNumFans": {"numFans": 2}}),
    Case("H01", "", {f"{D}GetFanSpeed": 3, f"{D}GetFanSpeed_v2 fan=0": 3}, {"fan_speed": "N/A"}),
    Case("H02", FAN, {f"{D}GetFanSpeed": {"speed": 40}, f"{D}GetFanSpeed_v2 fan=1": {"speed": 40}, f"{D}GetFanSpeed_v2 fan=2": 2},
         {"fan_speed": "40 %"}),
    Case("H02", "fan: {count: 1, speed_percent: 'N/A'}", {f"{D}GetFanSpeed": 3}, {"fan_speed": "N/A"}),
    # captures print a speed and no count of fans
    Case("H01", "fan: {speed_percent: '40'}", {f"{D}GetFanSpeed": {"speed": 40}, f"{D}GetNumFans": 3, f"{D}GetFanSpeed_v2 fan=0": 3},
         {"fan_speed": "40 %"}),
    Case("H03", FAN, {f"{D}GetTargetFanSpeed fan=0": {"targetSpeed": 45}}),
    Case("H05", FAN, {f"{D}GetMinMaxFanSpeed": {"minSpeed": 20}}),
    Case("H05", "fan: {count: 1}", {f"{D}GetMinMaxFanSpeed": {"minSpeed": 0}}),
    Case("H06", FAN, {f"{D}GetMinMaxFanSpeed": {"maxSpeed": 90}}),
    Case("H06", "fan: {count: 1}", {f"{D}GetMinMaxFanSpeed": {"maxSpeed": 100}}),
    Case("I01", CLOCKS, {f"{D}GetClockInfo type=0": {"clock": 210}, clock(0, 0): {"clockMHz": 210}}, {"clocks/graphics_clock": "210 MHz"}),
    Case("I01", "", {f"{D}GetClockInfo type=0": 3}, {"clocks/graphics_clock": "N/A"}),
    Case("I02", CLOCKS, {f"{D}GetClockInfo type=1": {"clock": 211}, clock(1, 0): {"clockMHz": 211}}, {"clocks/sm_clock": "211 MHz"}),
    Case("I03", CLOCKS, {f"{D}GetClockInfo type=2": {"clock": 405}, clock(2, 0): {"clockMHz": 405}}, {"clocks/mem_clock": "405 MHz"}),
    Case("I04", CLOCKS, {f"{D}GetClockInfo type=3": {"clock": 540}, clock(3, 0): {"clockMHz": 540}}, {"clocks/video_clock": "540 MHz"}),
    Case("I05", CLOCKS, {f"{D}GetMaxClockInfo type=0": {"clock": 1980}, f"{D}GetMaxCustomerBoostClock clockType=0": {"clockMHz": 1980}, clock(0,
         3): {"clockMHz": 1980}},
         {"max_clocks/graphics_clock": "1980 MHz", "max_customer_boost_clocks/graphics_clock": "1980 MHz"}),
    Case("I05", "clocks: {graphics_current: 210}", {f"{D}GetMaxClockInfo type=0": 3},
         {"max_clocks/graphics_clock": "N/A", "max_customer_boost_clocks/graphics_clock": "N/A"}),
    Case("I06", CLOCKS, {f"{D}GetMaxClockInfo type={kind}": {"clock": value} for kind, value in ((1, 1981), (2, 2619), (3, 1545))},
         {"max_clocks/sm_clock": "1981 MHz", "max_clocks/mem_clock": "2619 MHz", "max_clocks/video_clock": "1545 MHz"}),
    Case("I07", CLOCKS, {f"{D}GetApplicationsClock clockType=0": {"clockMHz": 1095}, f"{D}GetApplicationsClock clockType=2": {"clockMHz": 1215},
         clock(0, 1): {"clockMHz": 1095}},
         {"applications_clocks/graphics_clock": "1095 MHz", "applications_clocks/mem_clock": "1215 MHz"}),
    Case("I08", CLOCKS, {f"{D}GetDefaultApplicationsClock clockType=0": {"clockMHz": 1410},
         f"{D}GetDefaultApplicationsClock clockType=2": {"clockMHz": 1216}, clock(2, 2): {"clockMHz": 1216}},
         {"default_applications_clocks/graphics_clock": "1410 MHz", "default_applications_clocks/mem_clock": "1216 MHz"}),
    *(Case(row, "clocks: {graphics_current: 210}", {f"{D}{name} clockType=0": 3}) for row, name in (("I07", "GetApplicationsClock"), ("I08",
         "GetDefaultApplicationsClock"))),
    Case("I09", CLOCKS, {clock(1, 1): 3, clock(3, 1): 3, clock(1, 3): 3, clock(2, 3): 3, clock(0, 0): 0, clock(4, 0): 2, clock(0, 9): 2}),
    Case("I10", SUPPORTED, {f"{D}GetSupportedMemoryClocks": {"clocksMHz": [2619, 1593]},
         f"{D}GetSupportedGraphicsClocks memoryClockMHz=2619": {"clocksMHz": [1980, 1965]},
                            f"{D}GetSupportedGraphicsClocks memoryClockMHz=1": 6}),
    Case("I10", SUPPORTED, {f"{D}GetSupportedGraphicsClocks memoryClockMHz=1593": {"clocksMHz": [1200]}},
         {"supported_clocks/supported_mem_clock[0]/value": "2619 MHz",
          "supported_clocks/supported_mem_clock[0]/supported_graphics_clock[1]": "1965 MHz",
          "supported_clocks/supported_mem_clock[1]/supported_graphics_clock[0]": "1200 MHz"}),
    Case("I10", "", {f"{D}GetSupportedMemoryClocks": 3}, {"supported_clocks": "N/A"}),
    Case("I18", "clocks: {adaptive_clocking: enabled}", {f"{D}GetAdaptiveClockInfoStatus": {"adaptiveClockStatus": 1}}),
    Case("I18", "clocks: {adaptive_clocking: disabled}", {f"{D}GetAdaptiveClockInfoStatus": {"adaptiveClockStatus": 0}}),
    Case("I18", CLOCKS, {f"{D}GetAdaptiveClockInfoStatus": 3}),
    Case("I19", CLOCKS, {f"{D}GetAutoBoostedClocksEnabled": 3, f"{D}SetAutoBoostedClocksEnabled enabled=1": 3,
         f"{D}SetDefaultAutoBoostedClocksEnabled enabled=1 flags=0": 3},
         {"clock_policy/auto_boost": "N/A", "clock_policy/auto_boost_default": "N/A"}),
    Case("I19", "clocks: {auto_boost: enabled, auto_boost_default: enabled}", {f"{D}SetAutoBoostedClocksEnabled enabled=0": 0}),
    Case("I21", "utilization: {gpu: 30, memory: 20}", {f"{D}GetDynamicPstatesInfo": 0}),
    Case("I23", CLOCKS, {}, {"deferred_clocks/mem_clock": "N/A"}),
    Case("I24", CLOCKS, {}, {"voltage/graphics_volt": "N/A"}, driver="570.148.08"),
    *(Case(row, f"clocks_throttle_reasons: {{{key}: {str(on).lower()}}}",
           {f"{D}GetCurrentClocksThrottleReasons": {"clocksThrottleReasons": bit * on},
           f"{D}GetCurrentClocksEventReasons": {"clocksEventReasons": bit * on}},
           {f"clocks_event_reasons/clocks_event_reason_{name}": "Active" if on else "Not Active"})
      for row, key, bit, name in FLAGS for on in (True, False)),
    Case("J10", COUNTERS, {"field 74": 10_000, "field 76": 20_000, f"{D}GetViolationStatus perfPolicyType=0": {"violTime.violationTime": 10_000},
                           f"{D}GetViolationStatus perfPolicyType=1": {"violTime.violationTime": 30_000},
                           f"{D}GetViolationStatus perfPolicyType=2": {"violTime.violationTime": 20_000}},
         {f"{COUNTED}sw_power_cap": "10 us", f"{COUNTED}sync_boost": "20 us", f"{COUNTED}sw_therm_slowdown": "30 us",
         f"{COUNTED}hw_therm_slowdown": "40 us",
          f"{COUNTED}hw_power_brake": "50 us"}),
    # nvml.h from 580 on: 251 to 253 are of power smoothing, the three counters have 269 to 271
    Case("J10", COUNTERS, {"field 75": 30_000, "field 269": 30_000, "field 270": 40_000, "field 271": 50_000, "field 252": "code 3"}),
    Case("J10", COUNTERS, {"field 74": 10_000, "field 75": 30_000, "field 76": 20_000, "field 269": "code 3"}, driver="570.148.08"),
    Case("J10", "clocks_throttle_reasons: {gpu_idle: true}", {"field 74": 0, "field 76": 0, "field 271": 0}, {f"{COUNTED}hw_power_brake": "0 us"}),
    Case("J10", f"{COUNTERS[:-2]}}}, sw_power_cap: true}}", {f"{D}GetViolationStatus perfPolicyType=0":
         {"violTime.violationTime": 10_000, "violTime.referenceTime": 1_767_225_600_000_000}}, node=FROZEN),
    *(Case("J12", COUNTERS, {f"{D}GetViolationStatus perfPolicyType={policy}": {"violTime.violationTime": 0}}) for policy in (3, 4, 5, 11)),
    Case("J12", COUNTERS, {f"{D}GetViolationStatus perfPolicyType={policy}": 3 if policy == 10 else 2 for policy in (6, 7, 8, 9, 10, 12, 99)}),
    Case("J12", "", {f"{D}GetViolationStatus perfPolicyType={policy}": 3 for policy in (0, 1, 2, 3, 4, 5, 10, 11)}),
    Case("J13", "clocks_throttle_reasons: {gpu_idle: true}", {f"{D}GetSupportedClocksThrottleReasons": {"supportedClocksThrottleReasons": 0x1FF},
                                                              f"{D}GetSupportedClocksEventReasons": {"supportedClocksEventReasons": 0x1FF}}),
]  # fmt: skip


@serving.rows(CASES)
def test_a_board_of_these_keys_draws_and_runs_so(case: Case, node: Node):
    node.hold(case)


@pytest.mark.spec("H14")
def test_a_node_has_no_units_and_no_handle_of_one_is_valid(node: Node):
    with node.serve(serving.compiled()) as nvml:
        assert nvml.call("nvmlUnitGetCount").out == {"unitCount": 0}
        assert nvml.call("nvmlUnitGetHandleByIndex", None, {"index": 0}).code == 2
