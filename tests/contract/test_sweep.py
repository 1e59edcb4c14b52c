"""The sweep of every export, on the shipped library and under sanitizers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mocklib import calls, image
from mocklib.image import ImageSpec, Recorded
from tests.contract import answering, boards

ROOT = Path(__file__).resolve().parents[2]


def run(module: str, library: Path, arguments: list[str], environment: dict[str, str]) -> str:
    """What one of the programs beside this file printed; a crash, a report or a wrong answer fails the test with it."""
    command = [sys.executable, "-m", f"tests.contract.{module}", str(library), *arguments]
    variables = environment | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def sweep(library: Path, folder: Path, spec: ImageSpec, environment: dict[str, str]) -> str:
    """What the sweep says of the library serving ``spec``."""
    path = folder / "swept.nvpimg"
    image.write(path, image.pack(spec))
    return run("sweep", library, [], environment | {"NVPARITY_IMAGE": str(path)})


def fuzz(library: Path, folder: Path, seed: int, rounds: int, environment: dict[str, str]) -> tuple[int, int]:
    """(images served, images refused) of the random ones."""
    served, _, refused, _ = run("fuzz", library, [str(folder), str(seed), str(rounds)], environment).replace(",", "").split()
    return int(served), int(refused)


@pytest.mark.parametrize("empty", [False, True], ids=["every field answers", "no field answers"])
def test_wrong_arguments_get_the_code_of_nvml(library_path: Path, tmp_path: Path, clean_environment: dict[str, str], empty: bool) -> None:
    spec = boards.spec(1, devices=[{}], modes=[frozenset({"present"})]) if empty else boards.spec(2)
    assert "439 functions" in sweep(library_path, tmp_path, spec, clean_environment)


def recorded() -> ImageSpec:
    """A node on which every sound call of the sweep has a recorded answer with values, but lists that structs of garbage would point to."""
    asked = [call for call in answering.every() if call.function not in answering.FIRST and not answering.handled(call.function)]
    answers = {call: answering.answer(call) for call in asked}
    pointers = {pointer for _, pointer in calls.STRUCT_LISTS.values()}
    listed = {call for call, answer in answers.items() if any(name.partition(".")[2] in pointers for name in answer.out)}
    return boards.spec(answering.DEVICES, answers=tuple(Recorded(call, answer) for call, answer in answers.items() if call not in listed))


def test_wrong_arguments_get_the_code_of_nvml_where_sound_ones_have_a_recorded_answer(
    library_path: Path, tmp_path: Path, clean_environment: dict[str, str]
) -> None:
    assert "439 functions" in sweep(library_path, tmp_path, recorded(), clean_environment)


def runtime(name: str) -> str:
    """The path of a sanitizer's runtime of this machine's gcc."""
    done = subprocess.run(["cc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    path = done.stdout.strip()
    if not Path(path).is_absolute():
        pytest.skip(f"this compiler has no {name}")
    return path


@pytest.fixture
def sanitized(clean_environment: dict[str, str]) -> dict[str, str]:
    """The environment in which a library with sanitizers can be loaded into Python; leaks of the interpreter are not the library's."""
    loaded = f"{runtime('libasan.so')}:{runtime('libubsan.so')}"
    options = {"LD_PRELOAD": loaded, "ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "halt_on_error=1", "PYTHONMALLOC": "malloc"}
    return {**clean_environment, **options}


@pytest.mark.sanitize
@pytest.mark.parametrize("answered", [False, True], ids=["fields", "recorded answers"])
def test_no_sanitizer_reports_anything(flavour_path: Callable[[str], Path], tmp_path: Path, sanitized: dict[str, str], answered: bool) -> None:
    assert "439 functions" in sweep(flavour_path("sanitize"), tmp_path, recorded() if answered else boards.spec(2), sanitized)


@pytest.mark.sanitize
def test_no_sanitizer_reports_anything_while_every_getter_is_asked(
    flavour_path: Callable[[str], Path], tmp_path: Path, sanitized: dict[str, str]
) -> None:
    path = tmp_path / "asked.nvpimg"
    image.write(path, image.pack(boards.spec(2)))
    said = run("asker", flavour_path("sanitize"), [], sanitized | {"NVPARITY_IMAGE": str(path)})
    assert int(said.split()[0]) > 2000


@pytest.mark.sanitize
def test_no_sanitizer_reports_anything_for_random_images_and_states(
    flavour_path: Callable[[str], Path], tmp_path: Path, sanitized: dict[str, str]
) -> None:
    served, refused = fuzz(flavour_path("sanitize"), tmp_path, 1, 400, sanitized)
    assert served > 100
    assert refused > 10


@pytest.mark.hostile
def test_random_images_and_states_never_bring_the_library_down(library_path: Path, tmp_path: Path, clean_environment: dict[str, str]) -> None:
    served, refused = fuzz(library_path, tmp_path, 2, 300, clean_environment)
    assert served > 80
    assert refused > 10
