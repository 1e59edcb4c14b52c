"""The lists a layout repeats elements for: GPUs, clocks, processes, retired pages, MIG devices, accounting records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.stages.render.reading import Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.stages.render.source import NvmlSource

COMPUTE, MPS, GRAPHICS = 1, 2, 4
NO_INSTANCE = 0xFFFFFFFF
_PROCESS_LISTS = (("processes.compute", COMPUTE), ("processes.mps", MPS), ("processes.graphics", GRAPHICS))


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
    """Processes of the three lists in turn.

    A pid that another list named is printed once, with the union of the types; a pid twice in one list is printed twice (captures of 384 and
    590 show it).  Where the MPS list comes from a function of the header (up to 470), it must answer or nothing is printed, and it adds nothing
    (measured with binary 470).
    """
    merged: list[dict[str, Any]] = []
    for row, kind in _PROCESS_LISTS:
        earlier = list(merged)
        route = source.route(row)
        if route is None:
            continue
        answer = source.answer(route, place)
        if row == "processes.mps" and route.kind == "call":
            if answer.code:
                return []
            continue
        if answer.code:
            continue
        for process in answer.out[route.out or "value"]:
            known = [other for other in earlier if other["pid"] == process["pid"]]
            if known:
                known[0]["type"] |= kind
            else:
                merged.append({**process, "type": kind})
    return [replace(place, entry={**place.entry, **process}) for process in merged]


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
