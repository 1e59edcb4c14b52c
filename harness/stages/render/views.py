"""The views: what `-q -x` and `-L` print, as bytes, from one source of readings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.stages.render.reading import Place, Traced
from harness.stages.render.walk import Source, Walker, text_of
from harness.text import rawbytes, writer
from harness.text.model import Layout
from harness.words.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from harness.tables.drivers import Driver

NAME, UUID = "name", "uuid"
NO_DEVICES = "No devices were found"


@dataclass(frozen=True)
class Rendering:
    """One render: its bytes, and for every element which call answered it."""

    data: bytes
    trace: list[Traced]


def query(driver: Driver, source: Source, verbatim: Mapping[str, tuple[str, str]] | None = None, *, lenient: bool = False) -> Rendering:
    """`nvidia-smi -q -x`: the driver's layout in nvidia-smi's own way of writing it.

    ``verbatim``: path -> text and form of elements the layout places but no row explains.
    """
    walker = Walker(driver, source, verbatim, lenient=lenient)
    root = walker.root()
    gpu = driver.layout.child("gpu")
    layout = Layout(declaration=driver.declaration or None, gap=gpu is None or gpu.blank)
    return Rendering(rawbytes.encode(writer.write(root, layout, driver.dtd or None)), walker.trace(root))


def listing(driver: Driver, source: Source, verbatim: Mapping[str, tuple[str, str]] | None = None, *, lenient: bool = False) -> Rendering:
    """`nvidia-smi -L`: one line a GPU (the shape is that of the captures and of the binaries of 470 and 550).

    ``verbatim``: ``gpu[i]/mig[j]`` -> the whole line of a MIG device, ``error[i]`` -> that of a GPU whose handle is not given.
    """
    kept = verbatim or {}
    lines, trace = [], []
    absent = [*source.entries("lost_gpus", Place())]
    shown = [*source.entries("gpus", Place())]
    for place in sorted([*shown, *absent], key=lambda one: one.index or 0):
        if place in absent:
            lines += [f"{kept[path][0]}\n" for path in (f"error[{absent.index(place)}]",) if path in kept]
            continue
        number, texts = shown.index(place), []
        for row in (NAME, UUID):
            reading = source.read(row, place)
            texts.append(text_of(driver, row, reading, lenient=lenient))
            basis = driver.routes[row].basis if row in driver.routes else "public"
            trace.append(Traced(f"gpu[{number}]/{row}", row, source.asked(row), reading.code, basis, reading.raw))
        lines.append(f"GPU {place.index}: {texts[0]} (UUID: {texts[1]})\n")
        lines += [f"{kept[path][0]}\n" for path in _migs(number, kept)]
    return Rendering(rawbytes.encode("".join(lines) or f"{NO_DEVICES}\n"), trace)


def _migs(gpu: int, kept: Mapping[str, tuple[str, str]]) -> list[str]:
    """The paths of a GPU's MIG devices, in order."""
    found: list[str] = []
    while (path := f"gpu[{gpu}]/mig[{len(found)}]") in kept:
        found.append(path)
    return found


VIEWS: dict[str, Callable[..., Rendering]] = {"q-x": query, "L": listing}


def render(view: str, driver: Driver, source: Source, verbatim: Mapping[str, tuple[str, str]] | None = None, *, lenient: bool = False) -> Rendering:
    """The render of ``view`` (``q-x`` or ``L``); UsageError for another.  ``lenient``: see ``walk.Walker``."""
    if view not in VIEWS:
        raise UsageError(f"no view {view!r}: q-x or L{did_you_mean(view, VIEWS)}")
    return VIEWS[view](driver, source, verbatim, lenient=lenient)
