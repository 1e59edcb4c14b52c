"""What ``nvparity ctl watch`` shows: readings of every GPU through the library that serves them, as any client gets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.stores.schema import keys
from harness.words.state import State

if TYPE_CHECKING:
    from mocklib.binding import Nvml

NVML_SUCCESS, NOT_SUPPORTED = 0, 3
MIB = 1 << 20


def _plain(unit: str) -> Callable[[Any], str]:
    return lambda value: f"{value}{unit}"


def _pstate(value: int) -> str:
    return f"P{value}" if value < 16 else "?"


def _watts(value: int) -> str:
    return f"{value / 1000:.2f} W"


def _mib(value: int) -> str:
    return f"{value // MIB} MiB"


def _reasons(mask: int) -> str:
    named = [flag.rpartition(".")[2] for bit, flag in enumerate(keys.FLAGS) if mask >> bit & 1]
    return " ".join(named) or "-"


@dataclass(frozen=True)
class Column:
    """A column: its title, the call and the member that fill it, and how the number is written."""

    title: str
    function: str
    arguments: tuple[tuple[str, int], ...]
    member: str
    text: Callable[[Any], str]


COLUMNS: tuple[Column, ...] = (
    Column("name", "nvmlDeviceGetName", (), "name", str),
    Column("pstate", "nvmlDeviceGetPerformanceState", (), "pState", _pstate),
    Column("temp", "nvmlDeviceGetTemperature", (("sensorType", 0),), "temp", _plain(" C")),
    Column("power", "nvmlDeviceGetPowerUsage", (), "power", _watts),
    Column("fan", "nvmlDeviceGetFanSpeed", (), "speed", _plain(" %")),
    Column("gpu", "nvmlDeviceGetUtilizationRates", (), "utilization.gpu", _plain(" %")),
    Column("memory", "nvmlDeviceGetUtilizationRates", (), "utilization.memory", _plain(" %")),
    Column("used", "nvmlDeviceGetMemoryInfo", (), "memory.used", _mib),
    Column("sm clock", "nvmlDeviceGetClockInfo", (("type", 1),), "clock", _plain(" MHz")),
    Column("memory clock", "nvmlDeviceGetClockInfo", (("type", 2),), "clock", _plain(" MHz")),
    Column("event reasons", "nvmlDeviceGetCurrentClocksThrottleReasons", (), "clocksThrottleReasons", _reasons),
)


def code_text(code: int) -> str:
    """A code instead of a value: N/A for not supported, else the state's words."""
    state = State.of_code(code)
    return "N/A" if code == NOT_SUPPORTED else f"code {code}" if state is None else state.value.replace("_", " ")


def frame(nvml: Nvml) -> list[list[str]]:
    """One row a GPU that a process starting now sees: its number, then the columns; a row of the code alone where nvmlInit fails."""
    code = nvml.init()
    if code != NVML_SUCCESS:
        return [[f"nvmlInit: {code_text(code)}"]]
    try:
        return [[str(index), *_cells(nvml, index)] for index in range(nvml.count())]
    finally:
        nvml.shutdown()


def _cells(nvml: Nvml, index: int) -> Iterator[str]:
    found = nvml.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": index})
    for column in COLUMNS:
        if found.code != NVML_SUCCESS:
            yield code_text(found.code)
            continue
        answer = nvml.call(column.function, nvml.device(index), dict(column.arguments))
        yield column.text(answer.out[column.member]) if answer.code == NVML_SUCCESS else code_text(answer.code)
