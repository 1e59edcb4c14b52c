"""A branch library is, to the loader, the vendor's own of that version: the same names, soname and files; and the branch's nvidia-smi runs on it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from harness.stages.render import serving
from harness.stages.smi import run_smi
from harness.stores.workspace import Workspace
from harness.tables import drivers
from mocklib import fields
from mocklib.gen import since

FABRIC = {"nscq_init", "nscq_path_compile", "nscq_path_release", "nscq_session_create", "nscq_session_destroy", "nscq_shutdown"}
"""What 450's library exports beside NVML: its own copy of the NVSwitch library, which another file has from 460 on; no caller of NVML asks for it."""
BOARD = "h100-sxm5-x8_580.105.08"
LOOKS_UP = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
print(*(name for name in sys.argv[2:] if hasattr(library, name)))
"""


def facts(path: Path) -> tuple[set[str], str, bool]:
    """What a library exports, its soname, and whether its symbols have versions."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        symbols = elf.get_section_by_name(".dynsym").iter_symbols()
        names = {symbol.name for symbol in symbols if symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["bind"] != "STB_LOCAL"}
        (soname,) = (tag.soname for tag in elf.get_section_by_name(".dynamic").iter_tags() if tag.entry.d_tag == "DT_SONAME")
        return names, soname, elf.get_section_by_name(".gnu.version_d") is not None


def branch(version: str) -> int:
    return int(version.partition(".")[0])


@pytest.fixture
def own(served_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """``own("340.108")``: our branch library of that version."""
    monkeypatch.setenv("NVPARITY_CACHE", str(tmp_path / "cache"))
    return serving.library


@pytest.mark.parametrize("version", since.LIBRARIES)
def test_the_names_are_those_of_the_vendors_library(own: Callable[[str], Path], smi_binary: Callable[[int], Path], version: str) -> None:
    real, soname, versioned = facts(smi_binary(branch(version)).parent / "lib" / "libnvidia-ml.so.1")
    ours = facts(own(version))
    beside = {name for name in real if not name.startswith("nvml")}
    assert beside == (FABRIC if branch(version) == 450 else set())
    assert sorted(real - beside - ours[0]) == [], "missing"
    assert sorted(ours[0] - real) == [], "extra"
    assert ours[1:] == (soname, versioned) == ("libnvidia-ml.so.1", False)


@pytest.mark.parametrize("version", ["340.108", "550.163.01"])
def test_the_loader_finds_a_branchs_names_and_no_newer_one(own: Callable[[str], Path], smi_binaries: dict[int, Path], version: str) -> None:
    names = sorted(fields.since())
    done = subprocess.run([sys.executable, "-c", LOOKS_UP, str(own(version)), *names], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == drivers.load().resolve(version).exports


@pytest.mark.spec("Z24")
@pytest.mark.parametrize("version", since.LIBRARIES)
def test_a_branchs_nvidia_smi_runs_on_its_branch_library(
    own: Callable[[str], Path], smi_binary: Callable[[int], Path], repository: Path, version: str
) -> None:
    space = Workspace.find(repository)
    profile = space.profile_path(BOARD)
    library = serving.library_of(profile, space, version)
    assert library == own(version)
    variables = {"NVPARITY_IMAGE": str(serving.image_of(profile, space, version))}
    for arguments in (("-L",), ("-q",), ("-q", "-x")):
        ran = run_smi(smi_binary(branch(version)), arguments, library=library, variables=variables)
        if ran.status == 255 and not drivers.load().resolve(version).slots_are_own:  # 390 without its private table: slot 157 must answer
            continue
        assert (ran.status, ran.stderr) == (0, b""), arguments
        assert ran.stdout.count(b"GPU-") >= 8, arguments
    assert f"<driver_version>{version}</driver_version>".encode() in ran.stdout


@pytest.mark.spec("V26")
def test_no_nvidia_smi_asks_to_be_told_of_events(smi_binaries: dict[int, Path], library_path: Path, repository: Path) -> None:
    space = Workspace.find(repository)
    variables = {"NVPARITY_IMAGE": str(serving.image_of(space.profile_path(BOARD), space)), "MOCK_NVML_DEBUG": "1"}
    for number, program in smi_binaries.items():
        for arguments in (("-q",), ("-q", "-x")):
            said = run_smi(program, arguments, library=library_path, variables=variables).stderr.decode()
            assert "nvmlInit" in said, number
            assert not {"nvmlDeviceRegisterEvents", "nvmlEventSetWait"} & set(said.replace("_v2", "").split()), number
