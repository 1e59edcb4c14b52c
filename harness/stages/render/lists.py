"""The lists a layout repeats elements for: GPUs, clocks, processes, retired pages, MIG devices, accounting records."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from harness.stages.render.reading import Place
from harness.stages.render.source import overflows
from harness.words.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.stages.render.source import NvmlSource

T = TypeVar("T")
COMPUTE, MPS, GRAPHICS = 1, 2, 4
NOT_FOUND = 6
MOST_GPUS = 4000
"""Devices of an image (nvp_image.h, NVP_MAX_DEVICES); more are not counted through."""
COMPUTE_ROW, MPS_ROW, GRAPHICS_ROW = "processes.compute", "processes.mps", "processes.graphics"


def entries(source: NvmlSource, repeat: str, place: Place) -> list[Place]:
    """The entries of the list ``repeat`` at ``place``, in the order printed."""
    return _LISTS[repeat](source, place)


def rows_of(repeat: str) -> tuple[str, ...]:
    """The rows whose calls give the entries of ``repeat``, where they are others than those printed in it."""
    return {"processes": (COMPUTE_ROW, MPS_ROW, GRAPHICS_ROW), "compute_processes": (COMPUTE_ROW,)}.get(repeat, ())


def left_out(source: NvmlSource, repeat: str, place: Place) -> bool:
    """Whether the list ``repeat`` has entries though ``entries`` gives none: accounted processes without figures (binaries 340 to 555)."""
    return repeat == "accounted_processes" and bool(_held(source, "accounting.pids", place))


def _gpus(source: NvmlSource, place: Place) -> list[Place]:
    """The GPUs that are there: nvidia-smi shows none whose handle it does not get, and a capture none that it left out."""
    return [Place(handle, index) for index, handle in _handles(source, place) if handle is not None and not source.uncaptured(handle)]


def _lost(source: NvmlSource, place: Place) -> list[Place]:
    """The GPUs whose handle is not given."""
    return [Place(None, index, {"index": index}) for index, handle in _handles(source, place) if handle is None]


def _handed(source: NvmlSource, place: Place) -> list[Place]:
    """The GPUs whose handle is given, answer they or not (`-q` text has a sentence for one that does not), but those that a capture left out."""
    return [Place(handle, index) for index, handle in _handles(source, place) if handle is not None and not source.uncaptured(handle)]


def _handles(source: NvmlSource, place: Place) -> list[tuple[int, Any]]:
    count = int(source.read("system.num_devices", place).raw or 0)
    if count > MOST_GPUS:
        raise GateError(f"the library counts {count} GPUs; a node has at most {MOST_GPUS}")
    return [(index, source.handle(index)) for index in range(count)]


def _listed(source: NvmlSource, row: str, place: Place, member: str) -> list[Place]:
    """One place for each value that the row's call lists."""
    return [replace(place, entry={**place.entry, row: value, member: value}) for value in _held(source, row, place) or ()]


def _held(source: NvmlSource, row: str, place: Place) -> list[Any] | None:
    """What the row's call lists; None where it answers a state, or more than nvidia-smi has room for."""
    route = source.route(row)
    if route is None:
        return None
    answer = source.answer(route, place)
    return None if answer.code or overflows(route, answer) else list(answer.out[route.out or "value"])


def _memory_clocks(source: NvmlSource, place: Place) -> list[Place]:
    return _listed(source, "supported_clocks.memory", place, "memory_clock")


def _graphics_clocks(source: NvmlSource, place: Place) -> list[Place]:
    """The clocks of a memory clock; one entry that is a state where they answer one (binaries 340 to 555)."""
    row = "supported_clocks.graphics"
    return [place] if _held(source, row, place) is None else _listed(source, row, place, "graphics_clock")


def _processes(source: NvmlSource, place: Place) -> list[Place]:
    """The processes of the compute and graphics lists, by pid.

    Measured with binaries 470, 535 and 550: each list is sorted by pid and the two are merged; one that both lists name is printed once, with both
    types, and where a list names a pid twice, the first of one goes with the first of the other; the MPS list adds its type to these and brings no
    process of its own, and a graphics process that it marks is printed as of all three types.  Nothing is printed unless all three answer; 390 asks
    the last two only of a board that lists graphics processes.
    """
    asked = [row for row in (COMPUTE_ROW, GRAPHICS_ROW, MPS_ROW) if (route := source.route(row)) is not None and source.opens(route, place)]
    held = {row: _held(source, row, place) for row in asked}
    if any(listed is None for listed in held.values()):
        return []
    found = _merged(held.get(COMPUTE_ROW) or [], held.get(GRAPHICS_ROW) or [])
    _mark(found, [int(process["pid"]) for process in held.get(MPS_ROW) or []], source.way("processes"))
    return [replace(place, entry={**place.entry, **process}) for process in found]


def _merged(compute: list[dict[str, Any]], graphics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The two lists as one, each process with its type: a list is sorted as ``_by_pid`` does, two are compared by pids without a sign."""
    waiting = [deque(_by_pid(listed, lambda process: int(process["pid"]))) for listed in (compute, graphics)]
    found: list[dict[str, Any]] = []
    while any(waiting):
        least = min(int(listed[0]["pid"]) for listed in waiting if listed)
        kinds = [kind for listed, kind in zip(waiting, (COMPUTE, GRAPHICS), strict=True) if listed and listed[0]["pid"] == least]
        taken = [listed.popleft() for listed in waiting if listed and listed[0]["pid"] == least]
        found.append({**taken[0], "type": sum(kinds)})
    return found


def _by_pid(listed: list[T], pid_of: Callable[[T], int]) -> list[T]:
    """Entries in the order of a merge sort that compares pids by the sign of their 32-bit difference (binary 390: 2 stands before 2147483649, which
    stands before 4294967295, which stands before 2).
    """
    if len(listed) < 2:
        return listed
    middle = len(listed) // 2
    first, second = deque(_by_pid(listed[:middle], pid_of)), deque(_by_pid(listed[middle:], pid_of))
    found = []
    while first and second:
        behind = 0 < (pid_of(first[0]) - pid_of(second[0])) & 0xFFFFFFFF < 0x80000000
        found.append((second if behind else first).popleft())
    return [*found, *first, *second]


def _mark(found: list[dict[str, Any]], pids: list[int], way: str) -> None:
    """Give those of ``found`` that the MPS list names its type.

    ``in_step`` (binaries 390 to 535): the least of its pids not used yet is compared with each process in turn, so that one that no other list names
    ends the marking, and one that another list has twice is marked once.  ``by_pid`` (550, 555): all that it names.
    """
    waiting = _by_pid(pids, lambda pid: pid)[::-1]
    for process in found:
        if way == "by_pid" and process["pid"] in pids:
            process["type"] |= MPS | COMPUTE
        elif way != "by_pid" and waiting and waiting[-1] == process["pid"]:
            waiting.pop()
            process["type"] |= MPS | COMPUTE


def _compute_processes(source: NvmlSource, place: Place) -> list[Place]:
    """The processes of the compute list (binary 340)."""
    return [replace(place, entry={**place.entry, **process}) for process in _held(source, COMPUTE_ROW, place) or ()]


def _retired(source: NvmlSource, place: Place) -> list[Place]:
    """The pages of the cause that the enclosing element's row asks for; a time of 0 is none (binaries 470 to 550 print no element for it)."""
    route = source.route(place.within or "")
    if route is None:
        return []
    answer = source.answer(route, place)
    addresses = [] if answer.code else answer.out["addresses"]
    entries: list[dict[str, Any]] = [{"address": address} for address in addresses]
    for entry, stamp in zip(entries, answer.out.get("timestamps", ()), strict=False):
        if stamp:
            entry["timestamp"] = stamp
    return [replace(place, entry={**place.entry, **entry}) for entry in entries]


def _accounted(source: NvmlSource, place: Place) -> list[Place]:
    """The processes in the accounting buffer but those whose figures are not found (binary 470 leaves them out)."""
    pids = [entry.entry["pid"] for entry in _listed(source, "accounting.pids", place, "pid")]
    places = [replace(place, entry={**place.entry, "pid": pid}) for pid in pids]
    return [entry for entry in places if source.read("accounted_process.is_running", entry).code != NOT_FOUND]


def _none(_source: NvmlSource, _place: Place) -> list[Place]:
    return []


_LISTS: dict[str, Callable[[NvmlSource, Place], list[Place]]] = {
    "gpus": _gpus,
    "handles": _handed,
    "lost_gpus": _lost,
    "memory_clocks": _memory_clocks,
    "graphics_clocks": _graphics_clocks,
    "processes": _processes,
    "compute_processes": _compute_processes,
    "retired_pages": _retired,
    "accounted_processes": _accounted,
    "mig_devices": _none,
}
