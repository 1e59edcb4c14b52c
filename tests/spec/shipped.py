"""What the profiles of this repository say, and what their boards must answer: files read and merged by code of its own, a reading a line.

Shares nothing with the compiler.  A reading is the key's value, else the code of the word under ``states``, else the row's default, else
NOT_SUPPORTED.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

Board = Mapping[str, Any]
MERGED = ("pci", "platform")
"""Blocks of a device that merge key by key with those of the defaults; any other block replaces it."""
CODES = {"not_supported": 3, "no_permission": 4, "deprecated": 26}
ARCHITECTURES = {"maxwell": 3, "pascal": 4, "volta": 5, "turing": 6, "ampere": 7, "ada": 8, "hopper": 9, "blackwell": 10}
BRANDS = {"nvidia": 14, "tesla": 2, "quadro": 1, "geforce": 5, "titan": 6, "nvidia_rtx": 13}
FLAGS = ("gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost", "sw_thermal_slowdown", "hw_thermal_slowdown",
         "hw_power_brake_slowdown", "display_clocks_setting")  # fmt: skip


class Reading(NamedTuple):
    """What is asked of a board: the ledger's row, the call (as in serving.Case), the member of its answer, what that must be."""

    row: str
    asked: str
    member: str
    want: Callable[[Board], Any]


def boards(path: Path) -> list[Board]:
    """The devices of a profile, each merged with the defaults."""
    document = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    defaults = document.get("device_defaults") or {}
    merged: list[Board] = []
    for device in document["devices"]:
        blocks = {name: {**defaults.get(name, {}), **device.get(name, {})} for name in MERGED if name in defaults or name in device}
        merged.append({**defaults, **device, **blocks})
    return merged


def given(board: Board, key: str) -> Any:
    """The value of a dotted key; None where there is none."""
    found: Any = board
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def of(*keys: str, made: Callable[[Any], Any] = lambda value: value, default: Any = None, block: str = "") -> Callable[[Board], Any]:
    """The reading of the first key that the profile knows; ``default``: where it knows none, but anything of ``block``."""

    def want(board: Board) -> Any:
        for key in keys:
            if (value := given(board, key)) is not None:
                return made(value)
            if (state := (board.get("states") or {}).get(key)) is not None:
                return f"code {CODES[state]}"
        return default if default is not None and (not block or board.get(block)) else "code 3"

    return want


def address(place: int) -> Callable[[Board], Any]:
    """Domain, bus or device."""
    return lambda board: int(str(given(board, "pci.bus_id")).split(".")[0].split(":")[place], 16) if given(board, "pci.device_id") else "code 3"


def board_id(board: Board) -> Any:
    """Domain, bus and device, as the captures have them (row B25)."""
    if given(board, "board_id") is not None or given(board, "pci.bus_id") is None:
        return of("board_id")(board)
    domain, bus, device = (int(part, 16) for part in str(given(board, "pci.bus_id")).split(".")[0].split(":"))
    return domain << 16 | bus << 8 | device


def reasons(board: Board) -> Any:
    """The mask of the flags that are on."""
    block = board.get("clocks_throttle_reasons")
    return sum(1 << bit for bit, name in enumerate(FLAGS) if block.get(name)) if block else "code 3"


def utilization(key: str) -> Callable[[Board], Any]:
    """One call gives both; a board that lacks one has neither."""
    return lambda board: given(board, key) if None not in (given(board, "utilization.gpu"), given(board, "utilization.memory")) else "code 3"


def place(key: str) -> Callable[[Board], Any]:
    """A place in the rack; 255 is none beside members that are known."""
    return lambda board: (255 if given(board, key) is None else given(board, key)) if board.get("platform") else "code 3"


def pstate(word: Any) -> int:
    return int(str(word)[1:])


def thousandfold(number: Any) -> int:
    return int(number) * 1000


def memory_clocks(table: Any) -> list[int]:
    return [entry["freq_mhz"] for entry in table]


D, COUNTER, TABLE = "nvmlDevice", "clocks_throttle_reasons.counters.", "supported_clocks.memory_clocks"
CLOCKS = ("graphics", "sm", "memory", "video")
PLAIN = """
B09 name GetName name|B11 serial GetSerial serial|B12 board_part_number GetBoardPartNumber partNumber|B13 vbios_version GetVbiosVersion version
B15 uuid GetUUID uuid|B16 index GetIndex index|B21 gsp_firmware.version GetGspFirmwareVersion version
C01 memory.total_bytes GetMemoryInfo memory.total|C04 memory.free_bytes GetMemoryInfo memory.free
C06 bar1_memory.total_bytes GetBAR1MemoryInfo bar1Memory.bar1Total
C07 bar1_memory.free_bytes GetBAR1MemoryInfo bar1Memory.bar1Free|C07 bar1_memory.used_bytes GetBAR1MemoryInfo bar1Memory.bar1Used
D01 pci.device_id GetPciInfo_v3 pci.pciDeviceId|D02 pci.subsystem_id GetPciInfo_v3 pci.pciSubSystemId
D05 pci.base_class GetPciInfoExt pci.baseClass|D05 pci.sub_class GetPciInfoExt pci.subClass
D06 pcie.max_link_gen GetMaxPcieLinkGeneration maxLinkGen|D06 pcie.device_max_link_gen GetGpuMaxPcieLinkGeneration maxLinkGenDevice
D07 pcie.current_link_gen GetCurrPcieLinkGeneration currLinkGen
D08 pcie.max_link_width GetMaxPcieLinkWidth maxLinkWidth|D08 pcie.current_link_width GetCurrPcieLinkWidth currLinkWidth
E06 module_id GetModuleId moduleId
E04 platform.host_id GetPlatformInfo platformInfo.hostId
F03 power.default_limit_mw GetPowerManagementDefaultLimit defaultLimit|F04 power.enforced_limit_mw GetEnforcedPowerLimit limit
F05 power.min_limit_mw GetPowerManagementLimitConstraints minLimit|F05 power.max_limit_mw GetPowerManagementLimitConstraints maxLimit
G01 thermal.temperature_gpu_c GetTemperature temp|G01 thermal.temperature_gpu_c GetTemperatureV temperature.temperature
G08 thermal.tlimit.margin_c GetMarginTemperature marginTempInfo.marginTemperature
H02 fan.speed_percent GetFanSpeed speed
K03 utilization.encoder GetEncoderUtilization utilization|K03 utilization.decoder GetDecoderUtilization utilization
K04 utilization.jpeg GetJpgUtilization utilization|K04 utilization.ofa GetOfaUtilization utilization
K05 encoder_stats.session_count GetEncoderStats sessionCount|K05 encoder_stats.average_fps GetEncoderStats averageFps
K05 encoder_stats.average_latency_us GetEncoderStats averageLatency
K06 fbc_stats.session_count GetFBCStats fbcStats.sessionsCount|K06 fbc_stats.average_fps GetFBCStats fbcStats.averageFPS
"""
"""Row, key, function, member: one key is one reading."""


def _plain() -> list[Reading]:
    found = []
    for entry in PLAIN.strip().replace("\n", "|").split("|"):
        row, key, function, member = entry.split()
        found.append(Reading(row, D + function, member, of(key, made=int if row == "H02" else lambda value: value)))
    return found


READINGS = [
    *_plain(),
    Reading("B10", f"{D}GetBrand", "type", of("brand", made=lambda word: BRANDS[word])),
    Reading("B17", f"{D}GetMinorNumber", "minorNumber", lambda board: of("minor_number", default=board["index"])(board)),
    *(Reading(row, f"{D}GetPlatformInfo", f"platformInfo.{member}", place(f"platform.{key}")) for row, member, key in (
        ("E02", "slotNumber", "slot_number"), ("E03", "trayIndex", "tray_index"))),
    *(Reading("K02", f"{D}GetUtilizationRates", f"utilization.{name}", utilization(f"utilization.{name}")) for name in ("gpu", "memory")),
    Reading("B18", f"{D}GetArchitecture", "arch", of("architecture", made=lambda word: ARCHITECTURES[word])),
    Reading("B23", f"{D}GetMultiGpuBoard", "multiGpuBool", of("multi_gpu_board", made=int)),
    Reading("B25", f"{D}GetBoardId", "boardId", board_id),
    *(Reading(row, f"{D}GetMemoryInfo_v2 memory.version=2", f"memory.{name}", of(f"memory.{name}_bytes", default=0, block="memory"))
      for row, name in (("C02", "reserved"), ("C03", "used"))),
    *(Reading("C08", f"{D}GetConfComputeProtectedMemoryUsage memory.version=1", f"memory.{name}", of(f"protected_memory.{name}_bytes", default=0))
      for name in ("total", "used", "free")),
    *(Reading("D03", f"{D}GetPciInfo_v3", f"pci.{name}", address(place)) for place, name in enumerate(("domain", "bus", "device"))),
    *(Reading("D09", asked, member, of("pcie.replay_counter", default=0, block="pcie")) for asked, member in
      ((f"{D}GetPcieReplayCounter", "value"), ("field 94", ""))),
    *(Reading("D10", f"{D}GetPcieThroughput counter={number}", "value", of(f"pcie.{way}_throughput_kbps", default=0, block="pcie"))
      for number, way in enumerate(("tx", "rx"))),
    Reading("E05", f"{D}GetPlatformInfo", "platformInfo.peerType", of("platform.peer_type", made=lambda word: int(word == "switch_connected"))),
    Reading("F04", f"{D}GetPowerManagementLimit", "limit", of("power.requested_limit_mw", "power.enforced_limit_mw")),
    *(Reading(row, f"field {number}", "", of(*(f"power.{key}_mw" for key in keys))) for row, number, *keys in (
        ("F05", 187, "min_limit"), ("F05", 188, "max_limit"), ("F03", 189, "default_limit"), ("F04", 190, "enforced_limit"),
        ("F04", 192, "requested_limit", "enforced_limit"), ("F07", 185, "average_draw", "current_draw"),
        ("F07", 186, "instant_draw", "current_draw"))),
    Reading("F07", f"{D}GetPowerUsage", "power", of(*(f"power.{kind}_draw_mw" for kind in ("current", "average", "instant")))),
    *(Reading("F08", f"field {number} {scope}", "", of(f"power.{key}_mw")) for number, scope, key in (
        (185, 1, "module.average_draw"), (186, 1, "module.instant_draw"), (190, 1, "module.enforced_limit"), (185, 2, "memory.average_draw"))),
    Reading("F09", f"{D}GetPowerState", "pState", of("power.power_state", "performance_state", made=pstate)),
    Reading("G02", "field 82", "", of("thermal.temperature_memory_c")),
    *(Reading(row, f"{D}GetTemperatureThreshold thresholdType={kind}", "temp", of(f"thermal.{key}_c")) for row, kind, key in (
        ("G03", 0, "shutdown_threshold"), ("G04", 1, "slowdown_threshold"), ("G05", 3, "max_operating"))),
    *(Reading("G07", f"field {number}", "", of(f"thermal.tlimit.{key}_c")) for number, key in
      ((193, "shutdown"), (194, "slowdown"), (196, "max_operating"))),
    *(Reading(f"I0{kind + 1}", asked.format(kind), member, of(f"clocks.{name}_current")) for kind, name in enumerate(CLOCKS) for asked, member in
      ((f"{D}GetClockInfo type={{}}", "clock"), (f"{D}GetClock clockType={{}} clockId=0", "clockMHz"))),
    *(Reading("I06" if kind else "I05", f"{D}GetMaxClockInfo type={kind}", "clock", of(f"clocks.{name}_max")) for kind, name in enumerate(CLOCKS)),
    *(Reading("I05", asked, "clockMHz", of("clocks.graphics_customer_boost_max", "clocks.graphics_max")) for asked in
      (f"{D}GetMaxCustomerBoostClock clockType=0", f"{D}GetClock clockType=0 clockId=3")),
    *(Reading(row, f"{D}{function} clockType={kind}{more}", "clockMHz", of(f"clocks.{name}_{key}")) for kind, name in ((0, "graphics"), (2, "memory"))
      for row, key, function, more in (("I07", "app", "GetApplicationsClock", ""), ("I07", "app", "GetClock", " clockId=1"),
                                       ("I08", "app_default", "GetDefaultApplicationsClock", ""), ("I08", "app_default", "GetClock", " clockId=2"))),
    Reading("I10", f"{D}GetSupportedMemoryClocks", "clocksMHz", of(TABLE, made=memory_clocks)),
    *(Reading(f"J0{number}", f"{D}GetCurrentClocksThrottleReasons", "clocksThrottleReasons", reasons) for number in range(1, 10)),
    *(Reading("J10", asked, member, of(f"{COUNTER}{key}_us", made=thousandfold, default=0, block="clocks_throttle_reasons"))
      for key, asked, member in (
        ("sw_power_cap", "field 74", ""), ("sync_boost", "field 76", ""),
        ("sw_power_cap", f"{D}GetViolationStatus perfPolicyType=0", "violTime.violationTime"),
        ("sw_thermal_slowdown", f"{D}GetViolationStatus perfPolicyType=1", "violTime.violationTime"),
        ("sync_boost", f"{D}GetViolationStatus perfPolicyType=2", "violTime.violationTime"))),
    Reading("K01", f"{D}GetPerformanceState", "pState", of("performance_state", made=pstate, default=0)),
]  # fmt: skip
