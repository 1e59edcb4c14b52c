"""The real nvidia-smi binaries at hand: where they are, and of which driver version each is."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.stages import smi
from harness.words.errors import InputError, MissingError, UsageError
from harness.words.version import DriverVersion

VARIABLE = "NVPARITY_SMI"
FETCHED = Path("build") / "smi"
_HELP = re.compile(rb"NVIDIA System Management Interface -- v([0-9.]+)\s*\n")
_WHOLE = 30.0
"""Seconds in which a binary says its help."""


@dataclass(frozen=True)
class Binary:
    """One nvidia-smi: its file and its driver version, which the program says itself."""

    path: Path
    version: str

    @property
    def branch(self) -> int:
        """The version's first number."""
        return DriverVersion(self.version).branch


@dataclass(frozen=True)
class Binaries:
    """Binaries by branch; ``library``: a libnvidia-ml.so.1 for them to load when they are asked for their version."""

    paths: Mapping[int, Path]
    library: Path

    def __iter__(self) -> Iterator[int]:
        return iter(self.paths)

    def of(self, branch: int) -> Binary | None:
        """The binary of ``branch``; None where there is none.  Raises MissingError for a program that is another branch's than its folder says."""
        path = self.paths.get(branch)
        if path is None:
            return None
        version = version_of(path, self.library)
        if DriverVersion(version).branch != branch:
            raise MissingError(f"{path}: is nvidia-smi {version} in the folder of branch {branch}; put it into one of its own branch")
        return Binary(path, version)

    def nearest(self, branch: int) -> Binary:
        """The binary of ``branch``, else the newest older one, else the oldest."""
        chosen, path = smi.binary_for(branch, self.paths)
        found = self.of(chosen)
        assert found is not None, path
        return found


def find(named: Path | None, variables: Mapping[str, str], checkout: Path, library: Path) -> Binaries:
    """The binaries of ``named`` (a program, or a folder of <branch>/nvidia-smi), else of ``NVPARITY_SMI`` in ``variables``, else of build/smi of the
    ``checkout``.

    Raises MissingError, which says how to get them, where there are none.
    """
    place = named or (Path(variables[VARIABLE]) if variables.get(VARIABLE) else checkout / FETCHED)
    if not place.exists():
        how = f"nox -s smi fetches the binaries into a checkout's build/smi, --smi or {VARIABLE} names one or a folder of them"
        raise MissingError(f"{place}: no nvidia-smi there; {how}")
    if place.is_dir():
        return Binaries(smi.find_binaries(place), library)
    return Binaries({DriverVersion(version_of(place, library)).branch: place}, library)


@functools.cache
def version_of(binary: Path, library: Path) -> str:
    """The driver version that ``binary`` says it is of, in the first line of its help; it is run on ``library``, without which some print none.

    Raises MissingError for a program that is no nvidia-smi.
    """
    ran = smi.run_smi(binary, ("-h",), library=library, variables={}, limit_s=_WHOLE)
    said = _HELP.match(ran.stdout)
    if said is None:
        raise MissingError(f"{binary}: is no nvidia-smi: its help does not begin with the program's name and version (status {ran.status})")
    version = said[1].decode("ascii")
    try:
        DriverVersion(version)
    except InputError as error:
        raise MissingError(f"{binary}: is no nvidia-smi: {error}") from error
    return version


def arguments_of(view: str) -> tuple[str, ...]:
    """What nvidia-smi is given for a view: ``q-x``, ``L``, ``q``, or ``q:MEMORY,ECC`` for sections of the text; UsageError for another."""
    name, colon, sections = view.partition(":")
    if name == "q" and colon and sections:
        return ("-q", "-d", sections)
    if view not in _ARGUMENTS:
        raise UsageError(f"no view {view!r}: {', '.join(_ARGUMENTS)}, or q:SECTION,SECTION")
    return _ARGUMENTS[view]


_ARGUMENTS: dict[str, tuple[str, ...]] = {"q-x": ("-q", "-x"), "L": ("-L",), "q": ("-q",)}
