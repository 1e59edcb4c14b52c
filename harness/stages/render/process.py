"""A render in a process of its own: the library is loaded fresh, sees this image alone, and cannot take the harness down with it.

The child is ``python -m harness.stages.render JOB``; it answers into the file that the job names.  It gets an environment made here.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import harness
from harness.stages.render.reading import Traced
from harness.words.errors import EXIT_ENVIRONMENT, EXIT_INPUT, GateError, InputError, MissingError, NvparityError

LIMIT_S = 120.0
Verbatim = tuple[str, str]
"""Text and form (as of ``text.model``) of an element that is printed as the capture has it."""


@dataclass(frozen=True)
class Job:
    """What to render.

    ``library``, ``image``: absolute paths.  ``root``: workspace whose driver nodes win over the shipped ones, None for those alone.  ``view``:
    q-x or L.  ``answer``: file for the result.  ``verbatim``: elements no row explains.
    """

    library: str
    image: str
    root: str | None
    view: str = "q-x"
    answer: str = ""
    verbatim: dict[str, Verbatim] = field(default_factory=dict)


@dataclass(frozen=True)
class Rendered:
    """What came back: the bytes, the driver version that the library reports, its layout's node and whether that is assumed, the trace."""

    data: bytes
    driver: str
    node: str
    assumed: bool
    trace: list[Traced]

    @property
    def layout(self) -> str:
        """The layout as reports name it."""
        return f"{self.node} (assumed)" if self.assumed else self.node

    def assumed_paths(self) -> frozenset[str]:
        """The elements whose route is not measured on the driver's own branch."""
        return frozenset(traced.path for traced in self.trace if traced.basis == "assumed")


def render(job: Job) -> Rendered:
    """Run ``job`` in a child.

    Raises GateError when the child is ended by a signal or takes longer than two minutes, and what the child itself raised otherwise.
    """
    with tempfile.TemporaryDirectory(prefix="nvparity-") as folder:
        answer = Path(folder) / "answer.json"
        state = Path(folder) / "state"
        task = json.dumps({**asdict(job), "answer": str(answer)})
        command = [sys.executable, "-m", "harness.stages.render", "-"]
        try:
            done = subprocess.run(
                command, input=task.encode(), capture_output=True, env=_environment(job, state), cwd=folder, timeout=LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise GateError(f"{job.image}: the render did not end within {LIMIT_S:g} s") from None
        if done.returncode < 0:
            raise GateError(f"{job.image}: the render was ended by {signal.Signals(-done.returncode).name}{_last(done.stderr)}")
        if not answer.is_file():
            raise RuntimeError(f"the render left no answer (status {done.returncode}){_last(done.stderr)}")
        return _read(json.loads(answer.read_bytes()))


def answer_of(rendered: Rendered) -> dict[str, Any]:
    """The answer file's content for a render that succeeded."""
    return {**asdict(rendered), "data": base64.b64encode(rendered.data).decode()}


def _read(answer: dict[str, Any]) -> Rendered:
    if "error" in answer:
        kinds: dict[int, type[NvparityError]] = {EXIT_INPUT: InputError, EXIT_ENVIRONMENT: MissingError}
        raise kinds.get(answer["status"], GateError)(answer["error"])
    trace = [Traced(**entry) for entry in answer["trace"]]
    return Rendered(base64.b64decode(answer["data"]), answer["driver"], answer["node"], answer["assumed"], trace)


def _environment(job: Job, state: Path) -> dict[str, str]:
    path = [str(Path(harness.__file__).parent.parent), *filter(None, os.environ.get("PYTHONPATH", "").split(":"))]
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": "/nonexistent",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": ":".join(path),
        "NVPARITY_IMAGE": job.image,
        "MOCK_NVML_STATE": str(state),
    }


def _last(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "backslashreplace").strip().splitlines()
    return f": {lines[-1]}" if lines else ""
