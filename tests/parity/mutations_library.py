"""One library in this process, many images: what the builtin renderer prints of each, as leaves."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.stages.importing import source
from harness.stages.render import views
from harness.stages.render.session import BoundLibrary
from harness.stages.render.source import NvmlSource
from harness.tables.drivers import Driver
from mocklib import binding, image
from mocklib.spec import ImageSpec

VARIABLES = ("NVPARITY_IMAGE", "MOCK_NVML_STATE", "MOCK_NVML_CONFIG", "MOCK_NVML_OVERRIDES")
SECOND_NS = 1_000_000_000
Kept = Mapping[str, tuple[str, str]]
"""Path -> text and form of what no row explains."""


class Served:
    """A library open in this process that serves one image after another from ``folder``."""

    def __init__(self, library: Path, folder: Path) -> None:
        self.nvml = binding.open_library(library)
        self.folder = folder
        self._number = 0

    @contextmanager
    def image(self, spec: ImageSpec, state: Path | None = None) -> Iterator[Path]:
        """The library initialised with the image of ``spec``; its path."""
        self._number += 1
        path = self.folder / f"{self._number}.img"
        image.write(path, image.pack(spec))
        kept = {name: os.environ.pop(name, None) for name in VARIABLES}
        os.environ["NVPARITY_IMAGE"] = str(path)
        os.environ["MOCK_NVML_STATE"] = str(state or path.with_suffix(".state"))
        try:
            code = self.nvml.init()
            assert code == 0, f"nvmlInit_v2 answers {code}"
            try:
                yield path
            finally:
                self.nvml.shutdown()
        finally:
            for made in (path, path.with_suffix(".state"), path.with_suffix(".state.lock")):
                made.unlink(missing_ok=True)
            for name, value in kept.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value

    def text(self, driver: Driver, now: int, kept: Kept | None = None) -> bytes:
        """What is printed of the image being served, with what no row explains."""
        return views.render("q-x", driver, NvmlSource(BoundLibrary(self.nvml), driver, now), kept).data

    def render(self, spec: ImageSpec, driver: Driver, kept: Kept | None = None) -> bytes:
        """What is printed of ``spec``; the clock is the image's."""
        with self.image(spec):
            return self.text(driver, clock(spec), kept)

    def leaves(self, spec: ImageSpec, driver: Driver) -> list[tuple[str, str]]:
        """The leaves of what ``render`` prints."""
        return leaves(self.render(spec, driver))


def clock(spec: ImageSpec) -> int:
    """The image's own time in seconds."""
    return spec.clock.at_ns // SECOND_NS


def leaves(data: bytes) -> list[tuple[str, str]]:
    """Path and text of every leaf of a `-q -x` text."""
    return source.leaves(source.read(data, "render"))


def differences(wanted: Any, got: Any, limit: int = 12) -> str:
    """The first differences of two sets of (path, text), for a failing assertion."""
    wanted, got = dict(wanted), dict(got)
    lines = [f"{path}: expected {wanted.get(path)!r}, printed {got.get(path)!r}" for path in [*wanted, *(got.keys() - wanted.keys())]
             if wanted.get(path) != got.get(path)]  # fmt: skip
    return "\n".join(lines[:limit] + ([f"and {len(lines) - limit} more"] if len(lines) > limit else []))
