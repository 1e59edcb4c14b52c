"""nvparity's harness: captures in, profiles and golden hashes out, renders compared row by row.

Layers, each importing only those before it: words, tables, text, stores, stages, reports, cli.
"""

import sys
from pathlib import Path

__version__ = "0.1.0"


def _use_site(folder: Path) -> None:
    """Put the requirements beside an unpacked folder (recorder_folder.py) first on the path: those for this Python, then those for any.

    First, because a node has packages of its own: half of one version and half of another (cffi and its compiled part) do not work together.
    """
    for part in ("any", f"cp{sys.version_info[0]}{sys.version_info[1]}"):
        if (folder / part).is_dir() and str(folder / part) not in sys.path:
            sys.path.insert(0, str(folder / part))


_use_site(Path(__file__).resolve().parent.parent / "site")
