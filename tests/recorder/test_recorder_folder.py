"""The unpacked folder that records on a node: how it is put together, and that it needs neither network nor compiler nor anything installed."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

import harness
import recorder_folder

BARE = {"PATH": "/nonexistent", "LANG": "C.UTF-8"}
NAMES = ("/usr/bin/python3.11", "/usr/bin/python3.12", "/usr/bin/python3.13")
INTERPRETERS = [path for path in map(Path, NAMES) if path.exists()] or [Path(sys.executable)]


def wheel(folder: Path, name: str, files: dict[str, str]) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for place, text in files.items():
            archive.writestr(place, text)
    return path


def test_the_requirements_are_those_of_the_wheels_metadata(tmp_path):
    made = wheel(tmp_path, "a-1-py3-none-any.whl", {"a-1.dist-info/METADATA": "Name: a\nRequires-Dist: cffi>=1.16\nRequires-Dist: rich>=13.7\n"})
    assert recorder_folder.requirements_of(made) == ["cffi>=1.16", "rich>=13.7"]


def test_two_wheels_that_hold_different_files_of_one_name_are_refused_with_it(tmp_path):
    out = tmp_path / "out"
    recorder_folder.unpack(wheel(tmp_path, "a.whl", {"shared.py": "1\n", "a.py": ""}), out)
    recorder_folder.unpack(wheel(tmp_path, "b.whl", {"shared.py": "1\n"}), out)
    with pytest.raises(SystemExit, match=r"c\.whl: shared\.py is there already"):
        recorder_folder.unpack(wheel(tmp_path, "c.whl", {"shared.py": "2\n"}), out)


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("kept")
    with pytest.raises(SystemExit, match="not empty"):
        recorder_folder.build(wheel(tmp_path, "a.whl", {}), tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


@pytest.fixture
def path_of_imports(monkeypatch) -> list[str]:
    path = ["/usr/lib/python3/dist-packages"]
    monkeypatch.setattr(sys, "path", path)
    return path


def test_the_folders_own_requirements_come_before_those_of_the_machine(tmp_path, path_of_imports):
    own = tmp_path / f"cp{sys.version_info[0]}{sys.version_info[1]}"
    for folder in (own, tmp_path / "any", tmp_path / "cp39"):
        folder.mkdir()
    harness._use_site(tmp_path)
    harness._use_site(tmp_path)
    assert path_of_imports == [str(own), str(tmp_path / "any"), "/usr/lib/python3/dist-packages"]


def test_without_such_a_folder_the_path_stays_as_it_is(tmp_path, path_of_imports):
    harness._use_site(tmp_path / "site")
    assert path_of_imports == ["/usr/lib/python3/dist-packages"]


# ---------------------------------------------------------------- the folder itself: nox -s recorder makes it


@pytest.fixture
def folder(repository) -> Path:
    made: Path = repository / "build" / "recorder" / "nvparity-recorder"
    if not (made / "harness").is_dir():
        pytest.fail("no unpacked folder in build/recorder: nox -s recorder makes it")
    return made


def record(folder: Path, python: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Record a mock by the folder's own commands, in a network namespace without any interface but a loopback that is down."""
    own = [str(python), "-m", "harness"]
    command = [*own, "run", "t4-x1_595.91.07", "--", *own, "record", "--views", "none", "--root", str(out), "--id", "here", "--no-ci"]
    return subprocess.run(["/usr/bin/unshare", "-rn", *command], cwd=folder, env=BARE, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.recorder
@pytest.mark.parametrize("python", INTERPRETERS, ids=lambda path: path.name)
def test_it_records_without_network_compiler_or_packages_of_the_machine(folder, tmp_path, python):
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if "__pycache__" not in path.parts and path.is_file()}
    done = record(folder, python, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "captures" / "here" / "answers.txt").read_text("utf-8").startswith("format: 1\n")
    assert (tmp_path / "profiles" / "here.yaml").is_file()
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if "__pycache__" not in path.parts and path.is_file()}
    assert after == before


def newest_glibc(path: Path) -> tuple[int, ...]:
    """The newest version of the C library that a shared object names."""
    with path.open("rb") as file:
        needed = next((section for section in ELFFile(file).iter_sections() if isinstance(section, GNUVerNeedSection)), None)
        entries = [] if needed is None else [entry.name for _, versions in needed.iter_versions() for entry in versions]
    return max((tuple(map(int, name.removeprefix("GLIBC_").split("."))) for name in entries if name.startswith("GLIBC_2")), default=())


@pytest.mark.recorder
def test_nothing_in_it_needs_a_newer_c_library_than_that_of_an_old_node(folder):
    """Debian 10, RHEL 8 and Ubuntu 20.04 have 2.28 and newer."""
    found = {path.name: newest_glibc(path) for path in folder.rglob("*.so*") if path.is_file()}
    assert (2, 2) < found["libnvidia-ml.so.1"] <= (2, 17)
    assert {name: version for name, version in found.items() if version > (2, 28)} == {}


@pytest.mark.recorder
def test_what_is_imported_from_it_is_its_own(folder):
    program = "import harness, cffi, lxml, yaml; print(harness.__file__, cffi.__file__, lxml.__file__, yaml.__file__)"
    done = subprocess.run(["/usr/bin/python3", "-c", program], cwd=folder, env=BARE, capture_output=True, text=True, check=True)
    assert all(Path(path).is_relative_to(folder) for path in done.stdout.split()), done.stdout


@pytest.mark.recorder
def test_every_interpreter_that_the_package_names_has_its_compiled_requirements(folder):
    compiled = {path.name: {found.name.split(".")[0] for found in path.glob("_cffi_backend*.so")} for path in (folder / "site").glob("cp*")}
    assert compiled == {f"cp{python.replace('.', '')}": {"_cffi_backend"} for python in recorder_folder.PYTHONS}
    assert os.path.lexists(folder / "mocklib" / "_built" / "libnvidia-ml.so.1")
