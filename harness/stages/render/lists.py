"""The lists a layout repeats elements for: GPUs, clocks, processes, retired pages, MIG devices, accounting records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.stages.render.reading import Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.stages.render.source import NvmlSource

COMPUTE, MPS, GRAPHICS = 1, 2, 4
COMPUTE_ROW, MPS_ROW, GRAPHICS_ROW = "processes.compute", "processes.mps", "processes.graphics"


def entries(source: NvmlSource, repeat: str, place: Place) -> list[Place]:
    """The entries of the list ``repeat`` at ``place``, in the order printed."""
    return _LISTS[repeat](source, place)


def _gpus(source: NvmlSource, place: Place) -> list[Place]:
    count = source.read("system.num_devices", place).raw
    return [Place(source.handle(index), index) for index in range(int(count or 0))]


def _listed(source: NvmlSource, row: str, place: Place, member: str) -> list[Place]:
    """One place for each value that the row's call lists."""
    route = source.route(row)
    if route is None:
        return []
    answer = source.answer(route, place)
    values = answer.out[route.out] if not answer.code else []
    return [replace(place, entry={**place.entry, row: value, member: value}) for value in values]


def _memory_clocks(source: NvmlSource, place: Place) -> list[Place]:
    return _listed(source, "supported_clocks.memory", place, "memory_clock")


def _graphics_clocks(source: NvmlSource, place: Place) -> list[Place]:
    return _listed(source, "supported_clocks.graphics", place, "graphics_clock")


def _processes(source: NvmlSource, place: Place) -> list[Place]:
    """The processes of the compute and graphics lists, by pid.

    Measured with binaries 470, 535 and 550: they are sorted by pid; one that both lists name is printed once, with both types; a pid twice in
    one list is printed twice; the MPS list adds its type to a compute process and brings no process of its own.  Where the MPS list comes from
    a function of the header (up to 470), nothing is printed unless it answers.
    """
    mps = source.route(MPS_ROW)
    marked = set()
    if mps is not None:
        answer = source.answer(mps, place)
        if answer.code and mps.kind == "call":
            return []
        marked = {process["pid"] for process in _entries_of(source, MPS_ROW, place)}
    merged = [{**process, "type": COMPUTE | (MPS if process["pid"] in marked else 0)} for process in _entries_of(source, COMPUTE_ROW, place)]
    compute = {process["pid"]: process for process in reversed(merged)}
    for process in _entries_of(source, GRAPHICS_ROW, place):
        if process["pid"] in compute:
            compute[process["pid"]]["type"] |= GRAPHICS
        else:
            merged.append({**process, "type": GRAPHICS})
    merged.sort(key=lambda process: int(process["pid"]))
    return [replace(place, entry={**place.entry, **process}) for process in merged]


def _entries_of(source: NvmlSource, row: str, place: Place) -> list[dict[str, Any]]:
    """What one process list holds; nothing where it answers a state."""
    route = source.route(row)
    if route is None:
        return []
    answer = source.answer(route, place)
    return [] if answer.code else list(answer.out[route.out or "value"])


def _retired(source: NvmlSource, place: Place) -> list[Place]:
    """The pages of the cause that the enclosing element's row asks for."""
    route = source.route(place.within or "")
    if route is None:
        return []
    answer = source.answer(route, place)
    pages = [] if answer.code else zip(answer.out["addresses"], answer.out["timestamps"], strict=True)
    return [replace(place, entry={**place.entry, "address": address, "timestamp": stamp}) for address, stamp in pages]


def _none(_source: NvmlSource, _place: Place) -> list[Place]:
    return []


_LISTS: dict[str, Callable[[NvmlSource, Place], list[Place]]] = {
    "gpus": _gpus,
    "memory_clocks": _memory_clocks,
    "graphics_clocks": _graphics_clocks,
    "processes": _processes,
    "retired_pages": _retired,
    "accounted_processes": _none,
    "mig_devices": _none,
}
