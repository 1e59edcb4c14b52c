"""One NVML client of its own, nvidia-ml-py: ``python client.py [FOLDER]`` asks it what is listed and prints a JSON of what it made of the answers.

FOLDER holds another release's pynvml.py.  Nothing of the project is imported.
"""

from __future__ import annotations

import json
import sys
from typing import Any

CALLS: tuple[tuple[str, tuple[int, ...], tuple[str, ...]], ...] = (
    ("nvmlDeviceGetName", (), ()),
    ("nvmlDeviceGetUUID", (), ()),
    ("nvmlDeviceGetSerial", (), ()),
    ("nvmlDeviceGetVbiosVersion", (), ()),
    ("nvmlDeviceGetBoardPartNumber", (), ()),
    ("nvmlDeviceGetInforomImageVersion", (), ()),
    ("nvmlDeviceGetTemperature", (0,), ()),
    ("nvmlDeviceGetPowerUsage", (), ()),
    ("nvmlDeviceGetEnforcedPowerLimit", (), ()),
    ("nvmlDeviceGetClockInfo", (1,), ()),
    ("nvmlDeviceGetPersistenceMode", (), ()),
    ("nvmlDeviceGetFanSpeed", (), ()),
    ("nvmlDeviceGetMinorNumber", (), ()),
    ("nvmlDeviceGetMemoryInfo", (), ("total", "free", "used")),
    ("nvmlDeviceGetBAR1MemoryInfo", (), ("bar1Total", "bar1Free", "bar1Used")),
    ("nvmlDeviceGetUtilizationRates", (), ("gpu", "memory")),
    ("nvmlDeviceGetPciInfo", (), ("busId", "domain", "bus", "device", "pciDeviceId")),
)
"""Function, arguments after the device, members of the struct it gives."""
LISTS = ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses")


def asked(pynvml: Any, name: str, *arguments: Any) -> Any:
    """What the client gives, or the code of its error as ``[code]``; newer releases have a class of their own for a function the driver lacks."""
    try:
        return getattr(pynvml, name)(*arguments)
    except pynvml.NVMLError as error:
        return [error.value]
    except getattr(pynvml, "NVMLLibraryMismatchError", ()):
        return [pynvml.NVML_ERROR_FUNCTION_NOT_FOUND]


def main(folders: list[str]) -> int:
    """Ask every device."""
    sys.path[:0] = folders
    import pynvml

    pynvml.nvmlInit()
    found: dict[str, Any] = {"driver": pynvml.nvmlSystemGetDriverVersion(), "nvml": pynvml.nvmlSystemGetNVMLVersion(), "devices": []}
    for index in range(pynvml.nvmlDeviceGetCount()):
        device = pynvml.nvmlDeviceGetHandleByIndex(index)
        said: dict[str, Any] = {}
        for name, arguments, members in CALLS:
            value = asked(pynvml, name, device, *arguments)
            said[name] = {member: getattr(value, member) for member in members} if members and not isinstance(value, list) else value
        for name in LISTS:
            entries = asked(pynvml, name, device)
            said[name] = [entry if isinstance(entry, int) else [entry.pid, entry.usedGpuMemory] for entry in entries]
        by_uuid = pynvml.nvmlDeviceGetHandleByUUID(said["nvmlDeviceGetUUID"])
        said["index by uuid"] = pynvml.nvmlDeviceGetIndex(by_uuid)
        found["devices"].append(said)
    pynvml.nvmlShutdown()
    json.dump(found, sys.stdout)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
