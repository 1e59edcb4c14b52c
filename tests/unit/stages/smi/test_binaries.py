"""Binaries at hand: where they are looked for, and of which version each says it is.  Stand-in programs, no binary needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.stages import binaries
from harness.words.errors import MissingError, UsageError


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / "lib" / "libnvidia-ml.so.1"
    path.parent.mkdir()
    path.touch()
    return path


def program(path: Path, version: str, first: str = "NVIDIA System Management Interface -- v{}") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{first.format(version)}'\necho\n")
    path.chmod(0o755)
    return path


def test_one_program_is_its_own_branch(tmp_path: Path, library: Path):
    named = program(tmp_path / "mine", "470.82.01")
    found = binaries.find(named, {"NVPARITY_SMI": "/nonexistent"}, tmp_path, library)
    assert list(found) == [470]
    assert found.of(470) == binaries.Binary(named, "470.82.01")
    assert found.of(535) is None
    assert found.nearest(595).version == "470.82.01"


def test_the_folder_named_comes_first_then_the_variable_then_the_checkout(tmp_path: Path, library: Path):
    for number, folder in ((535, "named"), (550, "variable"), (555, "build/smi")):
        program(tmp_path / folder / str(number) / "nvidia-smi", f"{number}.1.2")
    variables = {"NVPARITY_SMI": str(tmp_path / "variable")}
    assert list(binaries.find(tmp_path / "named", variables, tmp_path, library)) == [535]
    assert list(binaries.find(None, variables, tmp_path, library)) == [550]
    assert list(binaries.find(None, {"NVPARITY_SMI": ""}, tmp_path, library)) == [555]
    with pytest.raises(MissingError, match="nox -s smi fetches the binaries"):
        binaries.find(None, {}, tmp_path / "empty", library)


def test_a_program_in_another_branchs_folder_is_refused(tmp_path: Path, library: Path):
    program(tmp_path / "smi" / "535" / "nvidia-smi", "550.1.2")
    with pytest.raises(MissingError, match=r"nvidia-smi 550\.1\.2 in the folder of branch 535"):
        binaries.find(tmp_path / "smi", {}, tmp_path, library).of(535)


def test_what_is_no_nvidia_smi_is_refused(tmp_path: Path, library: Path):
    with pytest.raises(MissingError, match="is no nvidia-smi"):
        binaries.find(program(tmp_path / "other", "1.2", "other {}"), {}, tmp_path, library)
    with pytest.raises(MissingError, match=r"odd: is no nvidia-smi: driver version '\.\.\.' is not dotted"):
        binaries.find(program(tmp_path / "odd", "..."), {}, tmp_path, library)


def test_views_are_given_as_arguments():
    assert binaries.arguments_of("q-x") == ("-q", "-x")
    assert binaries.arguments_of("q:MEMORY,ECC") == ("-q", "-d", "MEMORY,ECC")
    for wrong in ("q:", "x", "L:A"):
        with pytest.raises(UsageError, match="no view"):
            binaries.arguments_of(wrong)
