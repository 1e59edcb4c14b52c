"""One import into an empty workspace, and what can be asked of it."""

from __future__ import annotations

import contextlib
import functools
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cli import guard
from harness.stages.render import serving
from harness.stages.render.process import Rendered
from harness.stages.render.reading import Traced
from harness.stores import profiles
from harness.stores.workspace import Workspace
from mocklib.binding import Nvml
from tests.cases.boards import ROOT


@dataclass(eq=False)
class Taken:
    """``status``: the exit status of the import; ``out``, ``err``: what it printed; ``space``: the workspace, empty where nothing was imported."""

    status: int
    out: str
    err: str
    space: Workspace

    @property
    def path(self) -> Path:
        """The profile."""
        return self.space.profile_path("x")

    @functools.cached_property
    def profile(self) -> profiles.Profile:
        """The profile, read."""
        return profiles.load(self.path)

    def value(self, key: str, gpu: int = 0) -> Any:
        """What the profile has for a GPU's key: the value, the state's name, None where it has neither."""
        device = self.profile.devices[gpu]
        return device.states[key].value if key in device.states else device.values.get(key)

    @property
    def unmodelled(self) -> dict[str, str]:
        """Path -> text of what no row explains."""
        return serving.kept(self.path)

    @property
    def learnt(self) -> Path | None:
        """The driver node the import wrote, None where it wrote none."""
        return next((self.space.profiles / "drivers").glob("*.yaml"), None)

    def rendered(self, view: str = "q-x") -> str:
        """The render of the mock, as text."""
        return self._render(view).data.decode("utf-8", "surrogateescape")

    @property
    def trace(self) -> list[Traced]:
        """Which call answered which element of the query."""
        return self._render("q-x").trace

    @functools.cache  # noqa: B019 - a few dozen live as long as the session
    def _render(self, view: str) -> Rendered:
        return serving.render(self.path, self.space, view)

    @functools.cached_property
    def image(self) -> Path:
        """The profile's image."""
        target = self.space.root / "served.nvpimg"
        serving.write_image(self.path, self.space, target)
        return target


def import_into(folder: Path, files: Mapping[str, bytes], options: Sequence[str] = ()) -> Taken:
    """Write ``files`` into ``folder`` and import them as ``x`` into an empty workspace beside them."""
    space = folder / "work"
    space.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = guard.run(["import", *(str(folder / name) for name in files), "--root", str(space), "--id", "x", *options])
    return Taken(status, out.getvalue(), err.getvalue(), Workspace(space))


def printed_on(board: str, driver: str, folder: Path) -> str:
    """The query that the profile of ``board`` gives with another driver version; ``folder`` is for the profile."""
    text, changes = re.subn(r"(?m)^  driver_version: .*$", f'  driver_version: "{driver}"', (ROOT / "profiles" / f"{board}.yaml").read_text("utf-8"))
    assert changes == 1
    profile = folder / "profile.yaml"
    profile.write_text(text)
    return serving.render(profile, Workspace(folder), verbatim={}).data.decode()


def refused(nvml: Nvml, name: str, device: int, struct: str, version: int | None = None) -> int:
    """The code of a call that fills a struct of another shape than it was told or has nothing to say; the struct must be as it was."""
    ffi = nvml.ffi
    filled = ffi.new(f"{struct} *")
    whole = ffi.buffer(filled)
    whole[:] = b"\xa5" * len(whole)
    if version is not None:
        filled.version = version
    before = bytes(whole)
    code = int(nvml.function(name)(ffi.cast("nvmlDevice_t", device), filled))
    assert bytes(whole) == before, f"{name} answered {code} and wrote"
    return code
