"""The wheel's build hook, and the one way to build the library: ``python hatch_build.py FLAVOUR FOLDER`` is what the nox sessions run.

The wheel carries, beside the packages: the library and the header-made parts (``mocklib/_built``), and what the command needs at run time without
a checkout (``harness/_data``: driver tree, profiles, goldens, captures as transcripts).
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
BUILT = ROOT / "mocklib" / "_built"
DATA = {folder: f"harness/_data/{folder}" for folder in ("profiles", "golden", "captures")}


def build_library(flavour: str, out: Path) -> Path:
    """Build the library of ``flavour`` (release, sanitize, killpoints) into ``out`` where its inputs changed; the path of libnvidia-ml.so.1."""
    sys.path.insert(0, str(ROOT))
    from mocklib import build

    try:
        return build.library(flavour, out)
    except build.BuildError as error:
        raise SystemExit(f"the library cannot be built: {error}") from error


def _has_compiler() -> bool:
    """Whether CC or a cc is there, so that no zig has to be fetched."""
    import os

    return bool(os.environ.get("CC")) or shutil.which("cc") is not None


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a program by a session: hatchling is needed for wheels only
    pass
else:

    class LibraryHook(BuildHookInterface[Any]):
        """Put the built library and the run-time data into the wheel."""

        PLUGIN_NAME = "custom"

        def dependencies(self) -> list[str]:
            """Zig where the machine has no C compiler."""
            return [] if _has_compiler() else ["ziglang"]

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            """Build the library, tag the wheel for this machine, name the files that travel in it."""
            build_library("release", BUILT)
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{_platform_tag()}"
            build_data["artifacts"] += ["/mocklib/_built/**"]
            if version != "editable":
                build_data["force_include"].update({str(ROOT / source): target for source, target in DATA.items() if (ROOT / source).is_dir()})


def _platform_tag() -> str:
    """The wheel tag of this machine: the library links libc alone, no Python."""
    import sysconfig

    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


if __name__ == "__main__":
    build_library(sys.argv[1], Path(sys.argv[2]))
