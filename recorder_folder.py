"""A folder that records on a node without network and compiler: ``python recorder_folder.py WHEEL OUT`` unpacks the wheel and what it needs into OUT.

    OUT/harness, OUT/mocklib      the packages, the library and the modules made from the vendor's header, as in the wheel
    OUT/site/any                  requirements that are Python alone
    OUT/site/cp311, cp312, cp313  requirements with a compiled part, for each interpreter

There ``python3 -m harness record`` runs with Python 3.11 to 3.13: `harness` puts the parts for the running interpreter on its path.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

PYTHONS = ("3.11", "3.12", "3.13")
GLIBC = ("2_17", "2_28")
"""Platform tags that are asked for, with the oldest glibc first: a node's distribution may be as old as RHEL 8."""


def unpack(wheel: Path, out: Path) -> None:
    """Extract ``wheel`` into ``out``; a file that is there already must be the same."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            place = out / member.filename
            if place.is_file() and place.read_bytes() != archive.read(member):
                raise SystemExit(f"{wheel.name}: {member.filename} is there already with other content")
            archive.extract(member, out)


def download(requirements: list[str], python: str, folder: Path) -> list[Path]:
    """Wheels of ``requirements`` for interpreter ``python`` on this machine's type, into ``folder``."""
    platforms = [option for glibc in GLIBC for option in ("--platform", f"manylinux_{glibc}_{platform.machine()}")]
    only = ["--only-binary", ":all:", "--python-version", python, "--implementation", "cp", *platforms, "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", *only, *requirements]
    if subprocess.run(command, check=False).returncode:
        raise SystemExit(f"the requirements for Python {python} could not be fetched: {' '.join(command)}")
    return sorted(folder.glob("*.whl"))


def requirements_of(wheel: Path) -> list[str]:
    """What the wheel's metadata says it requires."""
    with zipfile.ZipFile(wheel) as archive:
        metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(metadata).decode().splitlines()
    return [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]


def build(wheel: Path, out: Path, pythons: tuple[str, ...] = PYTHONS) -> None:
    """Make the folder ``out``, which must not hold anything yet."""
    if out.exists() and any(out.iterdir()):
        raise SystemExit(f"{out}: not empty; name a new folder")
    unpack(wheel, out)
    with tempfile.TemporaryDirectory(prefix="nvparity-wheels-") as scratch:
        for python in pythons:
            for found in download(requirements_of(wheel), python, Path(scratch) / python):
                pure = found.name.endswith("-none-any.whl")
                unpack(found, out / "site" / ("any" if pure else f"cp{python.replace('.', '')}"))


def main(arguments: list[str]) -> Any:
    """``WHEEL OUT``."""
    if len(arguments) != 2:
        raise SystemExit("usage: python recorder_folder.py WHEEL OUT")
    build(Path(arguments[0]), Path(arguments[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
