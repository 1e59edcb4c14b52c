"""Run the matrix: each profile served as each binary's driver, each view twice on memory and under an environment that differ."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.stages import libraries, retargeting, smi
from harness.stages.matrix import cells
from harness.stages.render import real, serving
from harness.stores import profiles
from harness.tables import views
from harness.words.errors import GateError
from mocklib import image

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from harness.stages.binaries import Binary
    from harness.stages.matrix.cells import Cell
    from harness.stages.smi import SmiRun
    from harness.stores.workspace import Workspace
    from harness.tables.views import View

LIMIT_S = 20.0
"""A view of eight GPUs takes less than a second on a busy machine; `dmon` and `pmon` wait one for their sample."""
WORKERS = 2
_FIRST, _SECOND = 0x5A, 0xA5
_PADDING = "x" * 3001
"""What the second run's environment is longer by: it moves the stack, whose unwritten bytes MALLOC_PERTURB_ does not reach."""


@dataclass(frozen=True)
class Matrix:
    """What is run: ``profiles`` by name, ``binaries``, ``chosen`` views; images are written into ``folder``.  ``limit_s``: seconds for one run."""

    space: Workspace
    profiles: Mapping[str, Path]
    binaries: Sequence[Binary]
    chosen: Sequence[View]
    folder: Path
    limit_s: float = LIMIT_S
    _fields: dict[tuple[str, tuple[str, ...]], list[str]] = field(default_factory=dict)
    _libraries: dict[Path, Path] = field(default_factory=dict)

    def cells(self) -> Iterator[Cell]:
        """Every cell, by profile, branch and view in the order in which they are given; WORKERS runs at a time.

        Raises InputError for a profile that is none, MissingError for a binary that cannot be started.
        """
        with ThreadPoolExecutor(WORKERS) as pool:
            yield from pool.map(self._cell, self._jobs())

    def _jobs(self) -> Iterator[_Job]:
        """What is to run; the images are made while earlier ones run."""
        for name, path in self.profiles.items():
            read = profiles.load(path)
            for binary in self.binaries:
                served = retargeting.retarget(read, self.space, binary.version)
                made = self.folder / f"{name}@{binary.version}.nvpimg"
                image.write(made, serving.packed(served.profile, self.space))
                library, statuses = self._kept(libraries.of_profile(served.profile, served.driver)), real.statuses(served)
                for view in self.chosen:
                    arguments = self._arguments(binary, library, made, view)
                    yield _Job(name, binary, library, made, view, arguments, statuses)

    def _kept(self, library: Path) -> Path:
        """A copy of a branch library in the folder: the cache may drop the one that it made before the last view is run."""
        if library not in self._libraries:
            made = self.folder / str(len(self._libraries)) / library.name
            made.parent.mkdir()
            made.write_bytes(library.read_bytes())
            self._libraries[library] = made
        return self._libraries[library]

    def _arguments(self, binary: Binary, library: Path, made: Path, view: View) -> tuple[str, ...]:
        """The arguments of ``view``, with every field that the binary lists, asked once; those that list them where it lists none."""
        if not view.fields:
            return view.arguments
        key = (binary.version, view.fields)
        if key not in self._fields:
            listed = self._run(binary, library, view.fields, made, None, "")
            self._fields[key] = views.fields_of(listed.stdout) if listed is not None and listed.status == 0 else []
        return view.command(self._fields[key]) if self._fields[key] else view.fields

    def _cell(self, job: _Job) -> Cell:
        first = self._run(job.binary, job.library, job.arguments, job.image, _FIRST, "")
        second = self._run(job.binary, job.library, job.arguments, job.image, _SECOND, _PADDING)
        return cells.judge(job.profile, job.binary.branch, job.view, (first, second), views.table().unknown, job.statuses)

    def _run(self, binary: Binary, library: Path, arguments: Sequence[str], made: Path, perturb: int | None, padding: str) -> SmiRun | None:
        variables = {"NVPARITY_IMAGE": str(made), **({"PADDING": padding} if padding else {})}
        try:
            return smi.run_smi(binary.path, arguments, library=library, variables=variables, perturb=perturb, limit_s=self.limit_s)
        except GateError:
            return None


@dataclass(frozen=True)
class _Job:
    """One cell to run; ``statuses``: those that the profile accounts for, beside those of the view."""

    profile: str
    binary: Binary
    library: Path
    image: Path
    view: View
    arguments: tuple[str, ...]
    statuses: frozenset[int]
