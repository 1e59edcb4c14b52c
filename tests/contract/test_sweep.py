"""The sweep of every export, on the shipped library and under sanitizers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mocklib import image
from mocklib.image import ImageSpec
from tests.contract import boards

ROOT = Path(__file__).resolve().parents[2]


def sweep(library: Path, folder: Path, spec: ImageSpec, environment: dict[str, str]) -> str:
    """What the sweep printed; a crash, a report or a wrong answer fails the test with it."""
    path = folder / "swept.nvpimg"
    image.write(path, image.pack(spec))
    command = [sys.executable, "-m", "tests.contract.sweep", str(library)]
    variables = environment | {"NVPARITY_IMAGE": str(path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("empty", [False, True], ids=["every field answers", "no field answers"])
def test_wrong_arguments_get_the_code_of_nvml(library_path: Path, tmp_path: Path, clean_environment: dict[str, str], empty: bool) -> None:
    spec = boards.spec(1, devices=[{}], modes=[frozenset({"present"})]) if empty else boards.spec(2)
    assert "436 functions" in sweep(library_path, tmp_path, spec, clean_environment)


def runtime(name: str) -> str:
    """The path of a sanitizer's runtime of this machine's gcc."""
    done = subprocess.run(["cc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    path = done.stdout.strip()
    if not Path(path).is_absolute():
        pytest.skip(f"this compiler has no {name}")
    return path


@pytest.mark.sanitize
def test_no_sanitizer_reports_anything(flavour_path: Callable[[str], Path], tmp_path: Path, clean_environment: dict[str, str]) -> None:
    library = flavour_path("sanitize")
    loaded = f"{runtime('libasan.so')}:{runtime('libubsan.so')}"
    # leaks of the interpreter are not the library's
    options = {"LD_PRELOAD": loaded, "ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "halt_on_error=1", "PYTHONMALLOC": "malloc"}
    assert "436 functions" in sweep(library, tmp_path, boards.spec(2), {**os.environ, **clean_environment, **options})
