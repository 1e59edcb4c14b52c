"""Ask a library every getter of the list, in a child: the mock of a profile, or a library as it is, whatever becomes of it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from harness.stages import child, libraries
from harness.stages.render import serving
from harness.stores import profiles
from harness.tables import drivers
from harness.text import answers

if TYPE_CHECKING:
    from harness.stores.workspace import Workspace
    from mocklib.answers import Recording

MODULE = "harness.stages.answers"


def record_mock(profile: Path | str, space: Workspace) -> Recording:
    """What the mock of ``profile`` (a file, or the text of one) answers; driver nodes of ``space`` win over shipped ones.

    Raises InputError for a profile that does not hold, GateError when its mock crashes or hangs.
    """
    name = str(profile) if isinstance(profile, Path) else "profile"
    with tempfile.TemporaryDirectory(prefix="nvparity-") as made:
        folder = Path(made)
        if isinstance(profile, Path):
            image, library = serving.image_of(profile, space), serving.library_of(profile, space)
        else:
            read = profiles.parse(profile.encode("utf-8", "surrogateescape"))
            driver = drivers.load(space.root).resolve(read.driver_version)
            image, library = folder / "image", libraries.of_profile(read, driver)
            image.write_bytes(serving.packed(read, space))
        return _asked(child.Errand(MODULE, _task(library, mock=True), name, "the mock", str(image), watched=True))


def record_library(library: Path | str, limit_s: float = child.LIMIT_S) -> Recording:
    """What the library at ``library`` (a path, or a name for the loader) answers, in the caller's environment.

    Raises MissingError where it cannot be loaded or does not initialise; GateError, which names the call, where it crashes or a call takes longer
    than ``limit_s`` seconds.
    """
    found = library if isinstance(library, str) else library.absolute()  # the child works in a folder of its own
    return _asked(child.Errand(MODULE, _task(found, mock=False), str(library), "the library", watched=True), limit_s)


def _task(library: Path | str, *, mock: bool) -> dict[str, str | bool]:
    return {"library": str(library), "mock": mock}


def _asked(errand: child.Errand, limit_s: float = child.LIMIT_S) -> Recording:
    return answers.load(child.run(errand, limit_s)["answers"], f"answers of {errand.name}")
