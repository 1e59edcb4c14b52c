"""One render inside the process that holds the library: open, initialise, resolve the driver the library reports, walk."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.stages.render import views
from harness.stages.render.process import Job, Rendered
from harness.stages.render.source import NvmlSource
from harness.tables import drivers
from harness.words.errors import GateError, InputError, MissingError
from mocklib import binding, image
from mocklib.answers import RETURN_CODES

if TYPE_CHECKING:
    from mocklib.binding import Nvml

NANOSECONDS = 1_000_000_000
DRIVER_NOT_LOADED = 9
NAME_SIZE = 96
"""Bytes of a note: longer than the name of any function."""
NO_DRIVER = ": the library is there, the kernel's driver is not (nvidia-smi says as much); load it, or run this on the node that has it"


@dataclass(frozen=True)
class Given:
    """An answer as ``source.Answer`` has it."""

    code: int
    out: Mapping[str, Any] = field(default_factory=dict)


class BoundLibrary:
    """``source.Library`` over ``mocklib.binding``; ``note`` is told of each call before it is made."""

    def __init__(self, nvml: Nvml, note: Callable[[str], None] = lambda _: None) -> None:
        self._nvml = nvml
        self._note = note

    def call(self, name: str, device: Any = None, args: Mapping[str, Any] | None = None) -> Given:
        """Call a function of the header."""
        self._note(name)
        answer = self._nvml.call(name, device, dict(args or {}))
        return Given(answer.code, answer.out)

    def field_value(self, device: Any, identifier: int, scope: int) -> Given:
        """One entry of nvmlDeviceGetFieldValues: its own code, out ``value``."""
        self._note(f"nvmlDeviceGetFieldValues of field {identifier}")
        (answer,) = self._nvml.field_values(device, [(identifier, scope)])
        return Given(answer.code, {} if answer.code else {"value": answer.value})

    def slot(self, number: int, shape: str, device: Any = None, key: int | None = None) -> Given:
        """Call an entry of the private table, out ``value``."""
        self._note(f"slot {number} of the private table")
        answer = self._nvml.slot(device, number, shape, key or 0)
        return Given(answer.code, answer.out)

    def handle(self, index: int) -> Any:
        """The handle of GPU ``index``, None where the library gives none."""
        self._note("nvmlDeviceGetHandleByIndex_v2")
        return self._nvml.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": index}).out.get("device")


def render(job: Job) -> Rendered:
    """Render ``job`` with the library it names, in this process; ``NVPARITY_IMAGE`` must name the job's image already, where it has one.

    Raises MissingError when the library cannot be loaded, InputError for an image that it refuses, GateError when it does not initialise
    (MissingError of a node's own: its driver is not there).
    """
    try:
        now = image.read(Path(job.image).read_bytes()).clock.at_ns // NANOSECONDS if job.now is None else job.now
        nvml = binding.open_library(job.library)
    except binding.BindingError as error:
        raise MissingError(str(error)) from error
    except (image.ImageError, OSError) as error:
        raise InputError(f"{job.image}: {error}") from error
    note = _noting(job.progress)
    note("nvmlInit_v2")
    code = nvml.init()
    if code and job.live:
        raise MissingError(f"{job.library}: nvmlInit_v2 answers {_name(code)}{NO_DRIVER if code == DRIVER_NOT_LOADED else ''}")
    if code:
        raise GateError(f"{job.library}: nvmlInit_v2 answers {code} with image {job.image}")
    try:
        said = nvml.call("nvmlSystemGetDriverVersion")
        if said.code:
            raise MissingError(f"{job.library}: nvmlSystemGetDriverVersion answers {_name(said.code)}: no driver version, no layout")
        version = said.out["version"]
        driver = drivers.load(Path(job.root) if job.root else None).resolve(version)
        if job.live and not driver.slots_are_own:
            driver = replace(driver, slots={})
        driver = views.seen_by(job.view, driver)
        made = views.render(job.view, driver, NvmlSource(BoundLibrary(nvml, note), driver, now), job.verbatim, lenient=job.live)
    finally:
        nvml.shutdown()
    return Rendered(made.data, version, driver.node.text, driver.assumed, made.trace, loaded(job.library) if job.live else job.library)


def _noting(progress: str) -> Callable[[str], None]:
    """What writes the name of a call into the file ``progress``, over the one before; nothing is written where there is no such file."""
    if not progress:
        return lambda _: None
    file = os.open(progress, os.O_WRONLY)

    def note(name: str) -> None:
        os.pwrite(file, name.encode("ascii").ljust(NAME_SIZE, b"\0"), 0)

    return note


def _name(code: int) -> str:
    """A return code by name and number."""
    return f"{RETURN_CODES[code]} ({code})" if code in RETURN_CODES else str(code)


def loaded(library: str) -> str:
    """The file that this process has mapped for ``library``; the name itself where the kernel does not say."""
    try:
        lines = Path("/proc/self/maps").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return library
    found = (line.split(maxsplit=5)[5] for line in lines if line.count("/"))
    return next((path for path in found if Path(path).name.startswith("libnvidia-ml.so")), library)
