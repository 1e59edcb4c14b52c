"""A render in a process of its own: the library is loaded fresh, sees this image alone, and cannot take the harness down with it.

The child is ``python -m harness.stages.render JOB``; it answers into the file that the job names.  It gets an environment made here, but where
the library is a node's own: that one is opened as any program of the node would.
"""

from __future__ import annotations

import base64
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from harness.stages import child
from harness.stages.render.reading import Traced

if TYPE_CHECKING:
    from mocklib.spec import Clock

Verbatim = tuple[str, str]
"""Text and form (as of ``text.model``) of an element that is printed as the capture has it."""


@dataclass(frozen=True)
class Job:
    """What to render.

    ``library``, ``image``: absolute paths.  ``root``: workspace whose driver nodes win over the shipped ones, None for those alone.  ``view``:
    q-x, L, q or q:SECTION,... (`-q -d SECTION,...`).  ``answer``: file for the result.  ``verbatim``: elements no row explains.  ``now``: what the
    clock says, seconds since 1970; None as the image's stands.  Without an image the library is a node's own: its name may be one that the loader
    looks for, ``now`` is needed, and of its private table nothing is called unless a binary of its branch showed it.  ``progress``: file that names
    the call a node's own library is at.
    """

    library: str
    image: str
    root: str | None
    view: str = "q-x"
    answer: str = ""
    verbatim: dict[str, Verbatim] = field(default_factory=dict)
    now: int | None = None
    progress: str = ""

    @property
    def live(self) -> bool:
        """Whether the library is a node's own."""
        return not self.image

    @property
    def subject(self) -> str:
        """What messages call it."""
        return self.image or self.library


@dataclass(frozen=True)
class Rendered:
    """What came back.

    The bytes, the driver version that the library reports, its layout's node and whether that is assumed, the trace, and the file that the
    loader took for the library.
    """

    data: bytes
    driver: str
    node: str
    assumed: bool
    trace: list[Traced]
    library: str = ""

    @property
    def layout(self) -> str:
        """The layout as reports name it."""
        return f"{self.node} (assumed)" if self.assumed else self.node

    def assumed_paths(self) -> frozenset[str]:
        """The elements whose route is not measured on the driver's own branch."""
        return frozenset(traced.path for traced in self.trace if traced.basis == "assumed")


def render(job: Job, clock: Clock | None = None, limit_s: float = child.LIMIT_S) -> Rendered:
    """Run ``job`` in a child; ``clock``: the time it is served by, where that is not the image's own.

    Raises GateError when the child is ended by a signal or takes longer than ``limit_s`` seconds, and what the child itself raised otherwise.
    """
    errand = child.Errand("harness.stages.render", asdict(job), job.subject, "the render", job.image or None, watched=job.live, clock=clock)
    return _read(child.run(errand, limit_s))


def answer_of(rendered: Rendered) -> dict[str, Any]:
    """The answer file's content for a render that succeeded."""
    return {**asdict(rendered), "data": base64.b64encode(rendered.data).decode()}


def _read(answer: dict[str, Any]) -> Rendered:
    trace = [Traced(**entry) for entry in answer["trace"]]
    return Rendered(**{**answer, "data": base64.b64decode(answer["data"]), "trace": trace})
