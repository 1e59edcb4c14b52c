"""What a folder of real binaries holds, checked: programs and libraries of this machine, each of the version that its package says."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from harness.stages import binaries
from harness.stages.smi import LIBRARY_NAME
from harness.words.errors import GateError, InputError, MissingError
from mocklib import missing
from mocklib.spec import ImageError

MACHINES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}


class CheckError(Exception):
    """A file is not what its place says, in one line."""


@dataclass(frozen=True)
class Checked:
    """One branch's binary: the ``version`` it says, and how many ``nvml*`` names its library ``exports``, None where no library is beside it."""

    version: str
    exports: int | None


def check(program: Path, branch: str, mock: Path) -> Checked:
    """The binary at ``program`` in the folder of ``branch``, run on our library ``mock`` for its version, and its library beside it.

    Raises CheckError for a file of another kind, machine, branch or soname.
    """
    said = version(program, mock)
    if said.partition(".")[0] != branch:
        raise CheckError(f"{program}: is nvidia-smi {said} in the folder of branch {branch}")
    library = program.parent / "lib" / LIBRARY_NAME
    return Checked(said, exports(library) if library.exists() else None)


def version(program: Path, mock: Path) -> str:
    """The version that a binary says it is of, run on our library ``mock``; CheckError for what is no nvidia-smi of this machine."""
    _elf(program, ("ET_EXEC", "ET_DYN"))
    try:
        return binaries.version_of(program.absolute(), mock)
    except (MissingError, GateError, InputError) as error:
        raise CheckError(str(error)) from error


def exports(library: Path) -> int:
    """How many ``nvml*`` names a library exports; CheckError for a file that is no libnvidia-ml of this machine."""
    soname = _elf(library, ("ET_DYN",))
    if soname != LIBRARY_NAME:
        raise CheckError(f"{library}: its soname is {soname or 'none'}, not {LIBRARY_NAME}")
    try:
        return sum(name.startswith("nvml") for name in missing.exported(library.read_bytes()))
    except ImageError as error:
        raise CheckError(f"{library}: {error}") from error


def _elf(path: Path, kinds: tuple[str, ...]) -> str:
    """The soname of an ELF file of one of ``kinds`` for this machine, empty where it has none."""
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            machine = MACHINES.get(elf["e_machine"], elf["e_machine"])
            if elf["e_type"] not in kinds or machine != platform.machine():
                raise CheckError(f"{path}: is {elf['e_type']} for {machine}, this machine runs {' or '.join(kinds)} for {platform.machine()}")
            dynamic = (section for section in elf.iter_sections() if isinstance(section, DynamicSection))
            tags = (tag for section in dynamic for tag in section.iter_tags())
            return next((str(getattr(tag, "soname", "")) for tag in tags if tag.entry.d_tag == "DT_SONAME"), "")
    except (ELFError, OSError) as error:
        raise CheckError(f"{path}: is no program or library: {error}") from error
