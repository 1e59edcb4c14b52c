"""What is fetched, and what somebody puts in its place, is checked before a test uses it; a branch that cannot be had is named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.smi import fetch
from tests.smi.checking import CheckError, check, exports


class Archive:
    """An archive without branch 418, in apt's place."""

    def __init__(self, home: Path) -> None:
        (home / "debs").mkdir(parents=True)
        self.folder = home

    def update(self) -> None:
        pass

    def newest(self, packages: tuple[str, ...], branch: int) -> tuple[str, str] | None:
        return None if branch == 418 else (packages[0], f"{branch}.1-1")

    def unpack(self, package: str, version: str, into: Path) -> Path:
        (into / "usr" / "lib").mkdir(parents=True)
        for name in ("nvidia-smi", f"libnvidia-ml.so.{version.partition('-')[0]}"):
            (into / "usr" / "lib" / name).write_text(f"{package} {name}")
        (self.folder / "debs" / package).write_text(version)
        return self.folder / "debs" / package


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "Apt", Archive)
    monkeypatch.setattr(fetch, "KEYRING", Path("/"))


def test_a_branch_that_the_archive_has_not_is_named_and_all_others_are_there(archive: None, tmp_path: Path) -> None:
    with pytest.raises(fetch.FetchError, match=r"no nvidia-smi of branch 418 \(nvidia-tesla-418-smi\) in .*; the others are fetched"):
        fetch.fetch(tmp_path)
    found = sorted(path.parent.name for path in tmp_path.glob("*/nvidia-smi"))
    assert found == sorted(str(branch.number) for branch in fetch.BRANCHES if branch.number != 418)
    assert len((tmp_path / "MANIFEST.tsv").read_text().splitlines()) == 10
    assert not fetch.is_given(tmp_path)


def test_a_folder_of_somebodys_own_is_taken_as_it_is(archive: None, tmp_path: Path) -> None:
    (tmp_path / "550").mkdir()
    (tmp_path / "550" / "nvidia-smi").write_text("#!/bin/sh\n")
    assert fetch.is_given(tmp_path)
    assert list(fetch.given(tmp_path)) == ["550"]


@pytest.mark.parametrize("content", [b"#!/bin/sh\necho hello\n", b"", b"\x7fELF\x02\x01\x01"])
def test_what_is_no_program_is_refused(tmp_path: Path, library_path: Path, content: bytes) -> None:
    (tmp_path / "nvidia-smi").write_bytes(content)
    with pytest.raises(CheckError, match="is no program or library"):
        check(tmp_path / "nvidia-smi", "550", library_path)


def test_another_library_is_refused_by_its_soname(tmp_path: Path, library_path: Path) -> None:
    data = library_path.read_bytes()
    assert exports(library_path) > 400
    path = tmp_path / "libnvidia-ml.so.1"
    path.write_bytes(data.replace(b"\0libnvidia-ml.so.1\0", b"\0libnvidia-mm.so.1\0"))
    with pytest.raises(CheckError, match=r"its soname is libnvidia-mm\.so\.1"):
        exports(path)


def test_a_binary_in_the_folder_of_another_branch_is_refused(smi_binary: Callable[[int], Path], tmp_path: Path, library_path: Path) -> None:
    assert check(smi_binary(470), "470", library_path).version.startswith("470.")
    with pytest.raises(CheckError, match=r"is nvidia-smi 470\.\S+ in the folder of branch 550"):
        check(smi_binary(470), "550", library_path)


def test_a_fetched_binary_that_was_changed_since_is_refused(smi_binary: Callable[[int], Path], tmp_path: Path) -> None:
    folder = shutil.copytree(smi_binary(550).parent, tmp_path / "550")
    program, library = folder / "nvidia-smi", folder / "lib" / "libnvidia-ml.so.1"
    row = ["550", "nvidia-smi", "550.163.01-5", "-", fetch.sha256(program), fetch.sha256(library)]
    fetch.unchanged(program, row)
    library.write_bytes(library.read_bytes() + b"\0")
    with pytest.raises(CheckError, match=r"libnvidia-ml\.so\.1: is not what was fetched as nvidia-smi 550\.163\.01-5; remove"):
        fetch.unchanged(program, row)


def test_a_package_of_another_version_than_its_binary_is_refused(smi_binary: Callable[[int], Path], library_path: Path) -> None:
    found = check(smi_binary(550), "550", library_path)
    assert fetch.told(["550", "nvidia-smi", f"1:{found.version}-5.1", "-", "-", "-"], found).startswith(f"{found.version}  nvidia-smi 1:")
    with pytest.raises(CheckError, match=rf"nvidia-smi 550\.1-1 holds nvidia-smi {found.version}"):
        fetch.told(["550", "nvidia-smi", "550.1-1", "-", "-", "-"], found)


def test_one_binary_is_laid_where_the_tests_look(smi_binary: Callable[[int], Path], tmp_path: Path, served_library: Path) -> None:
    for branch in (470, 550):
        fetch.lay(smi_binary(branch), tmp_path)
    assert [path.parent.name for path in tmp_path.glob("*/nvidia-smi")] == ["550"]
    assert fetch.main([str(tmp_path)]) == 0
