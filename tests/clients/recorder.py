"""A recorder of its own, in the manner of DCGM's: ``python recorder.py`` asks nvidia-ml-py and prints the answers document it makes of that.

Nothing of the project is imported; values are written as the Python binding hands them out.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import pynvml
import yaml

NODE = ("DriverVersion", "NVMLVersion", "CudaDriverVersion")
DEVICE: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...] = (
    ("Name", ()), ("UUID", ()), ("Serial", ()), ("Index", ()), ("Brand", ()), ("VbiosVersion", ()), ("BoardPartNumber", ()), ("MinorNumber", ()),
    ("PciInfo", ()), ("BAR1MemoryInfo", ()), ("PowerUsage", ()), ("EnforcedPowerLimit", ()), ("PowerManagementLimitConstraints", ()),
    ("PersistenceMode", ()), ("EccMode", ()), ("DefaultEccMode", ()), ("MigMode", ()), ("CudaComputeCapability", ()), ("UtilizationRates", ()),
    ("EncoderUtilization", ()), ("RemappedRows", ()), ("FanSpeed", ()), ("GspFirmwareVersion", ()), ("ComputeRunningProcesses", ()),
    ("SupportedMemoryClocks", ()), ("CurrentClocksEventReasons", ()), ("MarginTemperature", ()), ("GpuOperationMode", ()),
    ("ClockInfo", ((0,), (1,), (2,), (3,))), ("Temperature", ((0,),)), ("TemperatureThreshold", ((0,), (1,), (3,))),
    ("InforomVersion", ((0,), (1,), (2,))), ("TotalEccErrors", ((0, 0), (0, 1), (1, 0), (1, 1))),
    ("NvLinkState", ((0,),)), ("RetiredPages", ((0,), (1,))),
)  # fmt: skip
"""Key, and the arguments it is asked with."""
FIELDS = (1, 2, 82, 83, 185, 186)


def plain(value: Any) -> Any:
    """A value of the binding as YAML has it."""
    if isinstance(value, ctypes.Structure):
        return {name: plain(getattr(value, name)) for name, *_ in value._fields_}
    if isinstance(value, pynvml.nvmlFriendlyObject):
        return {name: plain(member) for name, member in vars(value).items()}
    if isinstance(value, (list, tuple, ctypes.Array)):
        return [plain(entry) for entry in value]
    if isinstance(value, bytes):
        return value.decode()
    return value.value if isinstance(value, ctypes._SimpleCData) else value


def answer(name: str, *arguments: Any) -> dict[str, Any]:
    """One answer of the document; a failing one has a value beside it, as some recorders write."""
    try:
        return {"FunctionReturn": 0, "ReturnValue": plain(getattr(pynvml, name)(*arguments))}
    except pynvml.NVMLError as error:
        return {"FunctionReturn": error.value, "ReturnValue": 0}
    except getattr(pynvml, "NVMLLibraryMismatchError", ()):  # newer releases have a class of their own for a function the driver lacks
        return {"FunctionReturn": pynvml.NVML_ERROR_FUNCTION_NOT_FOUND, "ReturnValue": 0}


def memory(device: Any) -> dict[str, Any]:
    """The second version where it answers, else the first."""
    newer = answer("nvmlDeviceGetMemoryInfo", device, pynvml.nvmlMemory_v2)
    return newer if newer["FunctionReturn"] == 0 else answer("nvmlDeviceGetMemoryInfo", device)


def fields(device: Any) -> dict[str, Any]:
    """The field values in one call."""
    found = {}
    for value in pynvml.nvmlDeviceGetFieldValues(device, list(FIELDS)):
        member = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal"}[value.valueType]
        found[value.fieldId] = {"nvmlReturn": value.nvmlReturn, "valueType": value.valueType, "value": getattr(value.value, member)}
    return {"FunctionReturn": 0, "ReturnValue": found}


def main() -> int:
    """Ask every device."""
    pynvml.nvmlInit()
    devices = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
    order = [pynvml.nvmlDeviceGetUUID(device) for device in devices]
    node: dict[str, Any] = {"DeviceOrder": order, "Count": answer("nvmlDeviceGetCount")}
    node |= {key: answer(f"nvmlSystemGet{key}") for key in NODE}
    made: dict[str, Any] = {}
    for uuid, device in zip(order, devices, strict=True):
        own = made[uuid] = {"MemoryInfo": memory(device), "FieldValues": fields(device)}
        for key, sets in DEVICE:
            if not sets:
                own[key] = answer(f"nvmlDeviceGet{key}", device)
            for arguments in sets:
                *outer, last = arguments
                held = own.setdefault(key, {})
                for argument in outer:
                    held = held.setdefault(argument, {})
                held[last] = answer(f"nvmlDeviceGet{key}", device, *arguments)
    yaml.safe_dump({"Device": made, "Global": node}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
