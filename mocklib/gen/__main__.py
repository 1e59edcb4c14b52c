"""``python -m mocklib.gen [FOLDER]``: write everything generated into FOLDER (default build/gen), unless nothing changed."""

from __future__ import annotations

import sys
from pathlib import Path

from mocklib import build


def main(arguments: list[str]) -> int:
    """Generate and say where; one line and status 4 when header or compiler is missing."""
    folder = Path(arguments[0]) if arguments else build.generated_folder(build.ROOT / "build" / "lib")
    try:
        build.generate(folder)
    except build.BuildError as error:
        sys.stderr.write(f"{error}\n")
        return 4
    sys.stdout.write(f"{folder}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
