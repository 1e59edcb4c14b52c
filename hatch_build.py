"""The wheel's build hook, and the one way to build the library: ``python hatch_build.py FLAVOUR FOLDER`` is what the nox sessions run.

The wheel carries, beside the packages: the library and the modules made from the vendor's header (as ``mocklib/_built``), and what the command
needs at run time without a checkout (as ``harness/_data``: driver tree, profiles, goldens, captures as transcripts).  In a checkout the same
things stay in ``build/`` and at the root.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
DATA = ("profiles", "golden", "captures")
COMPILER = "../../../../../bin/nvparity"
"""From mocklib/_built of an installation (lib/pythonX.Y/site-packages) to the command: what the library starts for a profile that has no image."""


def build_library(flavour: str, out: Path) -> Path:
    """Build the library of ``flavour`` (release, sanitize, killpoints) into ``out`` where its inputs changed; the path of libnvidia-ml.so.1."""
    sys.path.insert(0, str(ROOT))
    from harness.stages import building
    from mocklib.build import BuildError

    try:
        return building.build_library(flavour, out)
    except BuildError as error:
        raise SystemExit(f"the library cannot be built: {error}") from error


def packed_files(library: Path) -> dict[str, str]:
    """What the wheel holds beside the packages: file or folder -> its place in the wheel."""
    from mocklib import build

    made = sorted(build.generated_folder(library.parent).glob("zz_generated_*.py"))
    named = ROOT / "build" / "wheel" / "nvparity-compiler"
    named.parent.mkdir(parents=True, exist_ok=True)
    named.write_text(COMPILER + "\n", encoding="utf-8")
    files = {str(path): f"mocklib/_built/{path.name}" for path in (library, *made, named)}
    return files | {str(ROOT / folder): f"harness/_data/{folder}" for folder in DATA if (ROOT / folder).is_dir()}


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
            return [] if os.environ.get("CC") or shutil.which("cc") else ["ziglang"]

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            """Build the library, tag the wheel for this machine (it links libc alone, no Python), name the files that travel in it."""
            library = build_library("release", ROOT / "build" / "lib" / "release")
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
            if version != "editable":
                build_data["force_include"].update(packed_files(library))


if __name__ == "__main__":
    build_library(sys.argv[1], Path(sys.argv[2]))
