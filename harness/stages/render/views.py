"""The views: what `-q -x`, `-q` and `-L` print, as bytes, from one source of readings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.stages.render.reading import Place, Traced
from harness.stages.render.walk import Source, Walker, text_of
from harness.tables import sections
from harness.text import outline_writer, rawbytes, writer
from harness.text.model import Layout
from harness.text.outline_writer import OutlineLayout
from harness.words.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from harness.tables.drivers import Driver

NAME, UUID, HANDLE, ADDRESS = "name", "uuid", "gpu.handle", "gpu.address"
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


def outline(driver: Driver, source: Source, verbatim: Mapping[str, tuple[str, str]] | None = None, *, lenient: bool = False) -> Rendering:
    """`nvidia-smi -q`: the tree of the driver's text, as an outline; ``driver`` and ``source`` are of that text (``seen_by``).

    ``verbatim``: path (of labels) -> text and form of elements the tree places but no row explains.
    """
    ended = _ended(driver, source)
    if ended is not None:
        return Rendering(ended.encode(), [])
    walker = Walker(driver, source, verbatim, lenient=lenient)
    root = walker.root()
    layout = OutlineLayout(column=driver.text_column, inner=tuple(driver.text_inner.items()))
    return Rendering(rawbytes.encode(outline_writer.write(root, layout)), walker.trace(root))


def _ended(driver: Driver, source: Source) -> str | None:
    """What stands in place of everything, for the first GPU whose handle is not given, unless nvidia-smi goes on without it (binaries 340 to 555)."""
    for place in source.entries("lost_gpus", Place()) if driver.handle_ends else ():
        code = source.read(HANDLE, place).code
        if code not in driver.handle_ends["passes"]:
            return f"{driver.handle_ends['sentence']}{_called(source, place)}: {driver.handle_text_of(code)}\n"
    return None


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
            path = f"error[{absent.index(place)}]"
            lost = driver.handle_text_of(source.read(HANDLE, place).code)
            lines.append(f"{kept[path][0] if path in kept else _unable('device handle', lost, source, place)}\n")
            continue
        number, texts = shown.index(place), []
        named = source.read(NAME, place)
        if not named.answered:
            lines.append(f"{_unable('product name', driver.text_of(named.code), source, place)}\n")
            continue
        for row in (NAME, UUID):
            reading = source.read(row, place)
            texts.append(text_of(driver, row, reading, lenient=lenient))
            basis = driver.routes[row].basis if row in driver.routes else "public"
            trace.append(Traced(f"gpu[{number}]/{row}", row, source.asked(row), reading.code, basis, reading.raw))
        lines.append(f"GPU {place.index}: {texts[0]} (UUID: {texts[1]})\n")
        lines += [f"{kept[path][0]}\n" for path in _migs(number, kept)]
    return Rendering(rawbytes.encode("".join(lines) or f"{NO_DEVICES}\n"), trace)


def _unable(what: str, why: str, source: Source, place: Place) -> str:
    """The line in the place of a GPU that is not known well enough to be listed (binaries 340 to 555): by its address, else by its index."""
    return f"Unable to determine the {what} for gpu {_called(source, place)}: {why}"


def _called(source: Source, place: Place) -> int | str | None:
    """A GPU's address, else its index."""
    address = source.read(ADDRESS, place).raw
    return place.index if address is None else address


def _migs(gpu: int, kept: Mapping[str, tuple[str, str]]) -> list[str]:
    """The paths of a GPU's MIG devices, in order."""
    found: list[str] = []
    while (path := f"gpu[{gpu}]/mig[{len(found)}]") in kept:
        found.append(path)
    return found


VIEWS: dict[str, Callable[..., Rendering]] = {"q-x": query, "q": outline, "L": listing}
TEXT = "q"


def seen_by(view: str, driver: Driver) -> Driver:
    """``driver`` as ``view`` has it: of `-q` text that tree, less what `-d` of the sections in ``view`` leaves out, is its layout.

    UsageError for another view than ``q-x``, ``L``, ``q`` and ``q:SECTION,...``, and for a section that the driver's `-q` has not.
    """
    name, colon, given = view.partition(":")
    if name not in VIEWS or (colon and name != TEXT):
        raise UsageError(f"no view {view!r}: q-x, L, q or q:SECTION,...{did_you_mean(view, VIEWS)}")
    if name != TEXT:
        return driver
    texted = driver.in_text()
    wanted = sections.parse(given, texted.layout, driver.version.text) if colon else ()
    return replace(texted, layout=sections.select(texted.layout, wanted))


def render(view: str, driver: Driver, source: Source, verbatim: Mapping[str, tuple[str, str]] | None = None, *, lenient: bool = False) -> Rendering:
    """The render of ``view``, by ``driver`` and ``source`` as it sees them (``seen_by``); ``lenient``: see ``walk.Walker``."""
    return VIEWS[view.partition(":")[0]](driver, source, verbatim, lenient=lenient)
