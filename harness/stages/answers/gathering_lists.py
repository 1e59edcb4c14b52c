"""What the lists of a recording say: clocks, processes with their names, accounting records, retired pages.  Several calls make one field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.stages.answers.told import Told
from harness.words.state import State
from mocklib.answers import Asked
from mocklib.spec import NO_INSTANCE, NOT_AVAILABLE, Accounted, Pages, Process

if TYPE_CHECKING:
    from mocklib.binding import Answer

U32, U64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True)
class Answers:
    """The answers of one subject: GPU ``gpu``, or the node (None)."""

    gpu: int | None
    given: Mapping[Asked, Answer]

    def of(self, function: str, **arguments: int) -> tuple[Asked, Answer] | None:
        """The call with exactly these arguments and its answer."""
        asked = Asked(function, self.gpu, tuple(arguments.items()))
        return (asked, self.given[asked]) if asked in self.given else None


def told(answers: Answers, node: Answers) -> Iterator[Told]:
    """The list fields of one GPU; ``node``: the answers of the node, which has the names of processes."""
    yield from _clocks(answers)
    names, protected = _names(node), _protected(answers)
    for name, functions in _PROCESSES.items():
        yield from _processes(name, functions, answers, names, protected)
    yield from _utilization(answers)
    yield from _accounting(answers)
    yield from _sessions("encoder_stats", answers)
    yield from _sessions("fbc_stats", answers)
    for name, cause in (("retired_pages.single_bit", 0), ("retired_pages.double_bit", 1)):
        yield from _pages(name, cause, answers)


def _code(name: str, asked: Asked, answer: Answer) -> Iterator[Told]:
    if State.of_code(answer.code) is not None:
        yield Told(name, asked, code=answer.code)


def _numbers(value: Any, most: int = U32) -> tuple[int, ...] | None:
    """A list of unsigned numbers; None for what is none."""
    if not isinstance(value, list) or not all(_number(item, most) for item in value):
        return None
    return tuple(value)


def _number(value: Any, most: int = U32) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _clocks(answers: Answers) -> Iterator[Told]:
    """The table of clocks; a memory clock whose graphics clocks were not given has none."""
    found = answers.of("nvmlDeviceGetSupportedMemoryClocks")
    if found is None:
        return
    if found[1].code:
        yield from _code("clocks.supported", *found)
        return
    memory = _numbers(found[1].out.get("clocksMHz"))
    graphics = {
        dict(asked.arguments).get("memoryClockMHz"): _numbers(answer.out.get("clocksMHz")) or ()
        for asked, answer in answers.given.items()
        if asked.function == "nvmlDeviceGetSupportedGraphicsClocks" and not answer.code
    }
    if memory is not None:
        yield Told("clocks.supported", found[0], tuple((clock, graphics.get(clock, ())) for clock in memory))


_PROCESSES = {
    f"processes.{kind}": tuple(f"nvmlDeviceGet{call}RunningProcesses{version}" for version in ("_v3", "_v2", ""))
    for kind, call in (("compute", "Compute"), ("graphics", "Graphics"), ("mps", "MPSCompute"))
}


def _names(node: Answers) -> dict[int, str]:
    """Name of each process that the driver names."""
    found = {}
    for asked, answer in node.given.items():
        if asked.function == "nvmlSystemGetProcessName" and not answer.code:
            pid, name = dict(asked.arguments).get("pid"), answer.out.get("name")
            if isinstance(pid, int) and isinstance(name, str):
                found[pid] = name
    return found


def _protected(answers: Answers) -> dict[int, int]:
    """Protected memory of each process, bytes, as the detail lists say it."""
    found = {}
    for asked, answer in answers.given.items():
        listed = answer.out.get("plist.procArray") if asked.function == "nvmlDeviceGetRunningProcessDetailList" and not answer.code else None
        for entry in listed if isinstance(listed, list) else ():
            if isinstance(entry, dict) and _number(entry.get("pid")) and _number(entry.get("usedGpuCcProtectedMemory"), NOT_AVAILABLE - 1):
                found[entry["pid"]] = entry["usedGpuCcProtectedMemory"]
    return found


def _processes(
    name: str, functions: tuple[str, ...], answers: Answers, names: Mapping[int, str], protected: Mapping[int, int]
) -> Iterator[Told]:
    """One list of processes, by the newest call that the driver has: the older structs lack the instances."""
    found = next((found for function in functions if (found := answers.of(function)) is not None), None)
    if found is None:
        return
    asked, answer = found
    if answer.code:
        yield from _code(name, asked, answer)
        return
    listed = answer.out.get("infos")
    made = [_process(entry, names, protected) for entry in listed] if isinstance(listed, list) else [None]
    if all(made):
        yield Told(name, asked, tuple(made))


def _process(entry: Any, names: Mapping[int, str], protected: Mapping[int, int]) -> Process | None:
    if not isinstance(entry, dict) or not _number(entry.get("pid")) or not _number(entry.get("usedGpuMemory"), NOT_AVAILABLE):
        return None
    gpu, compute = (entry.get(key, NO_INSTANCE) for key in ("gpuInstanceId", "computeInstanceId"))
    if not _number(gpu) or not _number(compute):
        return None
    pid = entry["pid"]
    return Process(pid, entry["usedGpuMemory"], gpu, compute, protected.get(pid, 0), names.get(pid, ""))


_USES = ("pid", "smUtil", "memUtil", "encUtil", "decUtil")


def _utilization(answers: Answers) -> Iterator[Told]:
    """What each process uses of the engines: five numbers a sample."""
    found = answers.of("nvmlDeviceGetProcessUtilization", lastSeenTimeStamp=0) or answers.of("nvmlDeviceGetProcessUtilization")
    if found is None:
        return
    asked, answer = found
    if answer.code:
        yield from _code("processes.utilization", asked, answer)
        return
    listed = answer.out.get("utilization")
    if isinstance(listed, list) and all(isinstance(entry, dict) and all(_number(entry.get(use)) for use in _USES) for entry in listed):
        yield Told("processes.utilization", asked, tuple(entry[use] for entry in listed for use in _USES))


_SESSIONS = {
    "encoder_stats": ("nvmlDeviceGetEncoderSessions", "sessionInfos",
                      ("sessionId", "pid", "codecType", "hResolution", "vResolution", "averageFps", "averageLatency")),
    "fbc_stats": ("nvmlDeviceGetFBCSessions", "sessionInfo",
                  ("sessionId", "pid", "displayOrdinal", "sessionType", "sessionFlags", "hMaxResolution", "vMaxResolution", "hResolution",
                   "vResolution", "averageFPS", "averageLatency")),
}  # fmt: skip
"""Block -> the call that lists its sessions, their parameter, and the members of one in the order of the field."""


def _sessions(block: str, answers: Answers) -> Iterator[Told]:
    """The sessions of an engine; a list with one of a vGPU's guest says nothing."""
    function, parameter, members = _SESSIONS[block]
    found = answers.of(function)
    if found is None:
        return
    asked, answer = found
    if answer.code:
        yield from _code(f"{block}.sessions", asked, answer)
        return
    listed = answer.out.get(parameter)
    if isinstance(listed, list) and all(_session(entry, members) for entry in listed):
        yield Told(f"{block}.sessions", asked, tuple(entry[member] for entry in listed for member in members))


def _session(entry: Any, members: tuple[str, ...]) -> bool:
    """Whether an entry is a session of the node itself, each member a number."""
    return isinstance(entry, dict) and not entry.get("vgpuInstance") and all(_number(entry.get(member)) for member in members)


def _accounting(answers: Answers) -> Iterator[Told]:
    """The accounting buffer; a record whose figures were not given has zeros."""
    found = answers.of("nvmlDeviceGetAccountingPids")
    if found is None:
        return
    if found[1].code:
        yield from _code("accounting.processes", *found)
        return
    pids = _numbers(found[1].out.get("pids"))
    if pids is not None:
        yield Told("accounting.processes", found[0], tuple(_record(pid, answers) for pid in pids))


def _record(pid: int, answers: Answers) -> Accounted:
    found = answers.of("nvmlDeviceGetAccountingStats", pid=pid)
    out = found[1].out if found is not None and not found[1].code else {}
    limits = {"gpuUtilization": U32, "memoryUtilization": U32, "maxMemoryUsage": U64, "time": U64, "isRunning": 1}
    given = {name: out.get(f"stats.{name}", 0) for name in limits}
    if not all(_number(given[name], most) for name, most in limits.items()):
        return Accounted(pid)
    gpu, memory, most, time, running = given.values()
    return Accounted(pid, gpu, memory, most, time, bool(running))


def _pages(name: str, cause: int, answers: Answers) -> Iterator[Told]:
    """The retired pages of one cause: count, addresses and times as far as they were given."""
    functions = ("nvmlDeviceGetRetiredPages_v2", "nvmlDeviceGetRetiredPages")
    listed = [found for function in functions if (found := answers.of(function, cause=cause)) is not None]
    counted = [found for function in functions if (found := answers.of(function, cause=cause, addresses=0)) is not None]
    best = next((found for found in (*listed, *counted) if not found[1].code), None) or next(iter((*listed, *counted)), None)
    if best is None:
        return
    asked, answer = best
    counts: list[Any] = [found[1].out.get("pageCount") for found in (*listed, *counted)]
    count: int = max((number for number in counts if _number(number)), default=0)
    if answer.code and not count:
        yield from _code(name, asked, answer)
        return
    addresses = _numbers(answer.out.get("addresses", []), U64) or ()
    timestamps = _numbers(answer.out.get("timestamps", []), U64) or ()
    yield Told(name, asked, Pages(count, addresses, timestamps if any(timestamps) else ()))
