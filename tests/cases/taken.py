"""One import into an empty workspace, and what can be asked of it."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cli import guard
from harness.stages.render import serving
from harness.stores import profiles
from harness.stores.workspace import Workspace


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

    def rendered(self, view: str = "q-x") -> str:
        """The render of the mock, as text."""
        return self._render(view)

    @functools.cache  # noqa: B019 - a few dozen live as long as the session
    def _render(self, view: str) -> str:
        return serving.render(self.path, self.space, view).data.decode("utf-8", "surrogateescape")

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
