"""Calls NVML functions by name from a process that knows neither harness nor mocklib: ``python -I tracer_caller.py`` with a job on stdin.

Structs are those of nvidia-ml-py, an NVML client of its own; prototypes are the table below, in the header's order.  A job is JSON: ``library`` and
``asks``, each with ``kind`` call (``function``, ``args`` by header name, ``out``, ``bytes`` for a byte array that is no text), fieldvalue (``id``,
``scope``) or slot (``number``, ``shape``, ``key``), and ``gpu`` (null for the node).  The answer is a JSON list of [nvmlReturn_t, value]; value is
null unless the code is 0.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

PROTOTYPES = """
SystemGetDriverVersion version:text80
SystemGetCudaDriverVersion cudaDriverVersion:i32
SystemGetCudaDriverVersion_v2 cudaDriverVersion:i32
SystemGetProcessName =pid name:text1024
DeviceGetCount_v2 deviceCount:u32
DeviceGetName d name:text96
DeviceGetBrand d type:u32
DeviceGetArchitecture d arch:u32
DeviceGetDisplayMode d display:u32
DeviceGetDisplayActive d isActive:u32
DeviceGetPersistenceMode d mode:u32
DeviceGetAddressingMode d mode:c_nvmlDeviceAddressingMode_t@1
DeviceGetMigMode d currentMode:u32 pendingMode:u32
DeviceGetAccountingMode d mode:u32
DeviceGetAccountingBufferSize d bufferSize:u32
DeviceGetAccountingPids d count+pids:u32
DeviceGetAccountingStats d =pid stats:c_nvmlAccountingStats_t
DeviceGetDriverModel d current:u32 pending:u32
DeviceGetSerial d serial:text30
DeviceGetUUID d uuid:text96
DeviceGetPdi d pdi:c_nvmlPdi_t@1
DeviceGetMinorNumber d minorNumber:u32
DeviceGetVbiosVersion d version:text32
DeviceGetMultiGpuBoard d multiGpuBool:u32
DeviceGetBoardId d boardId:u32
DeviceGetBoardPartNumber d partNumber:text80
DeviceGetModuleId d moduleId:u32
DeviceGetPlatformInfo d platformInfo:c_nvmlPlatformInfo_v2_t@2
DeviceGetInforomImageVersion d version:text16
DeviceGetInforomVersion d =object version:text16
DeviceGetLastBBXFlushTime d timestamp:u64 durationUs:u64
DeviceGetGpuOperationMode d current:u32 pending:u32
DeviceGetC2cModeInfoV d c2cModeInfo:c_nvmlC2cModeInfo_v1_t
DeviceGetVirtualizationMode d pVirtualMode:u32
DeviceGetHostVgpuMode d pHostVgpuMode:u32
DeviceGetVgpuHeterogeneousMode d pHeterogeneousMode:c_nvmlVgpuHeterogeneousMode_v1_t@1
DeviceGetGspFirmwareVersion d version:text64!
DeviceGetComputeMode d mode:u32
DeviceGetCapabilities d caps:c_nvmlDeviceCapabilities_v1_t@1
DeviceGetPciInfo_v2 d pci:nvmlPciInfo_t
DeviceGetPciInfo_v3 d pci:nvmlPciInfo_t
DeviceGetPciInfoExt d pci:nvmlPciInfoExt_v1_t@1
DeviceGetMaxPcieLinkGeneration d maxLinkGen:u32
DeviceGetCurrPcieLinkGeneration d currLinkGen:u32
DeviceGetGpuMaxPcieLinkGeneration d maxLinkGenDevice:u32
DeviceGetMaxPcieLinkWidth d maxLinkWidth:u32
DeviceGetCurrPcieLinkWidth d currLinkWidth:u32
DeviceGetBridgeChipInfo d bridgeHierarchy:c_nvmlBridgeChipHierarchy_t
DeviceGetPcieReplayCounter d value:u32
DeviceGetPcieThroughput d =counter value:u32
DeviceGetFanSpeed d speed:u32
DeviceGetPerformanceState d pState:u32
DeviceGetPowerState d pState:u32
DeviceGetCurrentClocksThrottleReasons d clocksThrottleReasons:u64
DeviceGetCurrentClocksEventReasons d clocksEventReasons:u64
DeviceGetSupportedClocksThrottleReasons d supportedClocksThrottleReasons:u64
DeviceGetSupportedClocksEventReasons d supportedClocksEventReasons:u64
DeviceGetMemoryInfo d memory:c_nvmlMemory_t
DeviceGetMemoryInfo_v2 d memory:c_nvmlMemory_v2_t@2
DeviceGetBAR1MemoryInfo d bar1Memory:c_nvmlBAR1Memory_t
DeviceGetConfComputeProtectedMemoryUsage d memory:c_nvmlMemory_t
DeviceGetUtilizationRates d utilization:c_nvmlUtilization_t
DeviceGetEncoderUtilization d utilization:u32 samplingPeriodUs:u32
DeviceGetDecoderUtilization d utilization:u32 samplingPeriodUs:u32
DeviceGetJpgUtilization d utilization:u32 samplingPeriodUs:u32
DeviceGetOfaUtilization d utilization:u32 samplingPeriodUs:u32
DeviceGetEncoderStats d sessionCount:u32 averageFps:u32 averageLatency:u32
DeviceGetFBCStats d fbcStats:c_nvmlFBCStats_t
DeviceGetDramEncryptionMode d current:c_nvmlDramEncryptionInfo_t@1 pending:c_nvmlDramEncryptionInfo_t@1
DeviceGetEccMode d current:u32 pending:u32
DeviceGetTotalEccErrors d =errorType =counterType eccCounts:u64
DeviceGetMemoryErrorCounter d =errorType =counterType =locationType count:u64
DeviceGetSramEccErrorStatus d status:c_nvmlEccSramErrorStatus_v1_t@1
DeviceGetRepairStatus d repairStatus:c_nvmlRepairStatus_t@1
DeviceGetUnrepairableMemoryFlag_v1 d unrepairableMemoryStatus:u32
DeviceGetRetiredPages d =cause pageCount+addresses:u64
DeviceGetRetiredPages_v2 d =cause pageCount+addresses:u64+timestamps
DeviceGetRetiredPagesPendingStatus d isPending:u32
DeviceGetRemappedRows d corrRows:u32 uncRows:u32 isPending:u32 failureOccurred:u32
DeviceGetRemappedRows_v2 d info:c_nvmlRemappedRowsInfo_v2_t
DeviceGetRowRemapperHistogram d values:c_nvmlRowRemapperHistogramValues
DeviceGetTemperature d =sensorType temp:u32
DeviceGetTemperatureThreshold d =thresholdType temp:u32
DeviceGetMarginTemperature d marginTempInfo:c_nvmlMarginTemperature_v1_t@1
DeviceGetPowerManagementMode d mode:u32
DeviceGetPowerUsage d power:u32
DeviceGetEnforcedPowerLimit d limit:u32
DeviceGetPowerManagementLimit d limit:u32
DeviceGetPowerManagementDefaultLimit d defaultLimit:u32
DeviceGetPowerManagementLimitConstraints d minLimit:u32 maxLimit:u32
DeviceWorkloadPowerProfileGetCurrentProfiles d currentProfiles:c_nvmlWorkloadPowerProfileCurrentProfiles_v1_t@1
DeviceGetClockInfo d =type clock:u32
DeviceGetMaxClockInfo d =type clock:u32
DeviceGetApplicationsClock d =clockType clockMHz:u32
DeviceGetDefaultApplicationsClock d =clockType clockMHz:u32
DeviceGetClock d =clockType =clockId clockMHz:u32
DeviceGetAutoBoostedClocksEnabled d isEnabled:u32 defaultIsEnabled:u32
DeviceGetSupportedMemoryClocks d count+clocksMHz:u32
DeviceGetSupportedGraphicsClocks d =memoryClockMHz count+clocksMHz:u32
DeviceGetGpuFabricInfoV d gpuFabricInfo:c_nvmlGpuFabricInfo_v3_t@3
DeviceGetGpuFabricInfo d gpuFabricInfo:c_nvmlGpuFabricInfo_t
DeviceGetComputeRunningProcesses_v2 d infoCount+infos:c_nvmlProcessInfo_v2_t
DeviceGetGraphicsRunningProcesses_v2 d infoCount+infos:c_nvmlProcessInfo_v2_t
DeviceGetMPSComputeRunningProcesses_v2 d infoCount+infos:c_nvmlProcessInfo_v2_t
"""
NUMBERS = {"u32": ctypes.c_uint, "i32": ctypes.c_int, "u64": ctypes.c_ulonglong}
MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""The union's member by nvmlValueType_t."""
TABLE_ID = bytes.fromhex("c4fe3e6cc98f6c4ea327ee696e12f7c4")
ROOM = 512


class Client:
    """One initialised library."""

    def __init__(self, path: str) -> None:
        import pynvml

        self.structs = vars(pynvml)
        self.library = ctypes.CDLL(path)
        self.table: Any = None
        if code := self.library.nvmlInit_v2():
            raise SystemExit(f"nvmlInit_v2 answers {code}")
        self.prototypes = {line.split()[0]: line.split()[1:] for line in PROTOTYPES.strip().splitlines()}

    def handle(self, gpu: int | None) -> Any:
        """The handle of GPU number ``gpu``."""
        found = ctypes.c_void_p()
        if code := self.library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(gpu or 0), ctypes.byref(found)):
            raise SystemExit(f"nvmlDeviceGetHandleByIndex_v2({gpu}) answers {code}")
        return found

    def call(self, ask: dict[str, Any]) -> list[Any]:
        """One function of the header."""
        parameters: list[Any] = []
        outs: dict[str, Any] = {}
        for token in self.prototypes[ask["function"].removeprefix("nvml")]:
            if token == "d":
                parameters.append(self.handle(ask["gpu"]))
            elif token.startswith("="):
                parameters.append(ctypes.c_uint(ask["args"][token[1:]]))
            else:
                name, parts, value = self.out(token)
                outs.update(value if isinstance(value, dict) else {name: value})
                parameters += parts
        code = getattr(self.library, ask["function"])(*parameters)
        if code:
            return [code, None]
        first, *inside = (ask["out"] or next(iter(outs))).split(".")
        value = outs[first] if first in outs else next(iter(outs.values()))
        return [0, self.array(value, inside[-1]) if ask.get("bytes") else self.plain(value, inside)]

    def out(self, token: str) -> tuple[str, list[Any], Any]:
        """An out parameter: its name, the arguments to pass, the object to read."""
        name, kind = token.split(":")
        if "+" in name:
            count, name = name.split("+")
            kind, *more = kind.split("+")
            room = ctypes.c_uint(ROOM)
            array = ((NUMBERS.get(kind) or self.structs[kind]) * ROOM)()
            extra = [(ctypes.c_ulonglong * ROOM)() for _ in more]
            return name, [ctypes.byref(room), array, *extra], {count: room, name: (room, array)}
        if kind.startswith("text"):
            size = int(kind[4:].rstrip("!"))
            buffer = ctypes.create_string_buffer(size)
            return name, [buffer] if kind.endswith("!") else [buffer, ctypes.c_uint(size)], buffer
        kind, _, version = kind.partition("@")
        made = (NUMBERS.get(kind) or self.structs[kind])()
        if version:
            made.version = ctypes.sizeof(made) | int(version) << 24
        return name, [ctypes.byref(made)], made

    def plain(self, value: Any, inside: list[str]) -> Any:
        """``value`` as JSON can hold it, after stepping to its member."""
        if isinstance(value, tuple):
            room, array = value
            return [self.plain(array[i], inside) for i in range(room.value)]
        for name in inside if isinstance(value, ctypes.Structure) else ():
            value = self.member(value[0] if isinstance(value, ctypes.Array) else value, name)
        if isinstance(value, ctypes.Structure):
            return {name: self.plain(self.member(value, name), []) for name, *_ in value._fields_}
        if isinstance(value, ctypes.Array):
            if value._type_ is ctypes.c_uint:
                return "".join(f"{word:08x}" for word in value)
            return bytes(value).split(b"\0")[0].decode("latin-1")
        if isinstance(value, ctypes._SimpleCData):
            value = value.value
        return value.decode("latin-1") if isinstance(value, bytes) else value

    def member(self, struct: ctypes.Structure, name: str) -> Any:
        """A member of a struct: a char as its number, an array of them as bytes up to a NUL (nvidia-ml-py would decode both as UTF-8)."""
        kind = next(found for member, found, *_ in struct._fields_ if member == name)
        place = getattr(type(struct), name)
        raw = bytes(struct)[place.offset : place.offset + place.size]
        if kind is ctypes.c_char:
            return raw[0]
        return raw.split(b"\0")[0] if getattr(kind, "_type_", None) is ctypes.c_char else getattr(struct, name)

    def array(self, struct: ctypes.Structure, member: str) -> str:
        """A byte array of a struct as hexadecimal digits, whatever bytes it holds."""
        place = getattr(type(struct), member)
        return bytes(struct)[place.offset : place.offset + place.size].hex()

    def field_value(self, ask: dict[str, Any]) -> list[Any]:
        """One value of nvmlDeviceGetFieldValues."""
        entry = self.structs["c_nvmlFieldValue_t"](fieldId=ask["id"], scopeId=ask["scope"])
        code = self.library.nvmlDeviceGetFieldValues(self.handle(ask["gpu"]), 1, ctypes.byref(entry))
        if code or entry.nvmlReturn:
            return [code or entry.nvmlReturn, None]
        return [0, getattr(entry.value, MEMBERS[entry.valueType])]

    def slot(self, ask: dict[str, Any]) -> list[Any]:
        """One entry of the private table."""
        if self.table is None:
            found = ctypes.c_void_p()
            if self.library.nvmlInternalGetExportTable(ctypes.byref(found), TABLE_ID):
                raise SystemExit("nvmlInternalGetExportTable refuses the table's id")
            self.table = ctypes.cast(found, ctypes.POINTER(ctypes.c_void_p))
        entry = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(self.table[ask["number"]])
        if ask["shape"] == "field_values":
            value = self.structs["c_nvmlFieldValue_t"](fieldId=ask["key"])
            code = entry(self.handle(ask["gpu"]), ctypes.c_void_p(1), ctypes.byref(value)) or value.nvmlReturn
            return [code, None if code else value.value.uiVal]
        room: Any = ctypes.create_string_buffer(64) if ask["shape"] == "string" else {"i32": ctypes.c_int}.get(ask["shape"], ctypes.c_uint)()
        code = entry(self.handle(ask["gpu"]), ctypes.cast(ctypes.byref(room), ctypes.c_void_p), None)
        return [code, None if code else self.plain(room, [])]


def main() -> None:
    """Answer the job on stdin."""
    for forbidden in ("harness", "mocklib"):
        sys.modules[forbidden] = None  # type: ignore[assignment] # importing it now fails, whatever is installed
    job = json.load(sys.stdin)
    client = Client(job["library"])
    ways = {"call": client.call, "fieldvalue": client.field_value, "slot": client.slot}
    json.dump([ways[ask["kind"]](ask) for ask in job["asks"]], sys.stdout)


if __name__ == "__main__":
    main()
