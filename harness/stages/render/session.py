"""One render inside the process that holds the library: open, initialise, resolve the driver the library reports, walk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.stages.render import views
from harness.stages.render.process import Job, Rendered
from harness.stages.render.source import NvmlSource
from harness.tables import drivers
from harness.words.errors import GateError, InputError, MissingError
from mocklib import binding, image

if TYPE_CHECKING:
    from mocklib.binding import Nvml

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class Given:
    """An answer as ``source.Answer`` has it."""

    code: int
    out: Mapping[str, Any] = field(default_factory=dict)


class BoundLibrary:
    """``source.Library`` over ``mocklib.binding``."""

    def __init__(self, nvml: Nvml) -> None:
        self._nvml = nvml

    def call(self, name: str, device: Any = None, args: Mapping[str, Any] | None = None) -> Given:
        """Call a function of the header."""
        answer = self._nvml.call(name, device, dict(args or {}))
        return Given(answer.code, answer.out)

    def field_value(self, device: Any, identifier: int, scope: int) -> Given:
        """One entry of nvmlDeviceGetFieldValues: its own code, out ``value``."""
        (answer,) = self._nvml.field_values(device, [(identifier, scope)])
        return Given(answer.code, {} if answer.code else {"value": answer.value})

    def slot(self, number: int, shape: str, device: Any = None, key: int | None = None) -> Given:
        """Call an entry of the private table, out ``value``."""
        answer = self._nvml.slot(device, number, shape, key or 0)
        return Given(answer.code, answer.out)

    def handle(self, index: int) -> Any:
        """The handle of GPU ``index``, None where the library gives none."""
        return self._nvml.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": index}).out.get("device")


def render(job: Job) -> Rendered:
    """Render ``job`` with the library it names, in this process; ``NVPARITY_IMAGE`` must name the job's image already.

    Raises MissingError when the library cannot be loaded, InputError for an image that it refuses, GateError when it does not initialise.
    """
    try:
        now = image.read(Path(job.image).read_bytes()).clock.at_ns // NANOSECONDS if job.now is None else job.now
        nvml = binding.open_library(job.library)
    except binding.BindingError as error:
        raise MissingError(str(error)) from error
    except (image.ImageError, OSError) as error:
        raise InputError(f"{job.image}: {error}") from error
    code = nvml.init()
    if code:
        raise GateError(f"{job.library}: nvmlInit_v2 answers {code} with image {job.image}")
    try:
        version = nvml.call("nvmlSystemGetDriverVersion").out["version"]
        driver = drivers.load(Path(job.root) if job.root else None).resolve(version)
        made = views.render(job.view, driver, NvmlSource(BoundLibrary(nvml), driver, now), job.verbatim)
    finally:
        nvml.shutdown()
    return Rendered(made.data, version, driver.node.text, driver.assumed, made.trace)
