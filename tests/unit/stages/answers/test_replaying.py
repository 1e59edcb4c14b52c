"""A library asked in a child: the mock of a profile, and libraries that hang, crash or are none."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.stages.answers import replaying
from harness.stages.render import serving
from harness.stores.workspace import Workspace
from harness.words.errors import GateError, InputError, MissingError
from mocklib import build
from mocklib.answers import Asked
from mocklib.binding import Answer

pytestmark = pytest.mark.usefixtures("served_library")
ROOT = Path(__file__).resolve().parents[4]
SPACE = Workspace(ROOT)
T4 = SPACE.profile_path("t4-x1_595.91.07")


def test_the_mock_of_a_file_and_of_its_text_answer_alike() -> None:
    recording = replaying.record_mock(T4, SPACE)
    assert recording[Asked("nvmlSystemGetDriverVersion")] == Answer(0, {"version": "595.91.07"})
    assert recording[Asked("nvmlDeviceGetName", 0)] == Answer(0, {"name": "Tesla T4"})
    assert recording[Asked("nvmlDeviceGetFanSpeed", 0)] == Answer(3)
    assert replaying.record_mock(T4.read_text("utf-8"), SPACE) == recording


def test_a_profile_that_does_not_hold_is_refused() -> None:
    with pytest.raises(InputError, match="'system' is missing"):
        replaying.record_mock('version: "1"', SPACE)


def test_the_environment_of_the_caller_changes_no_mock(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = replaying.record_mock(T4, SPACE)
    for name in ("MOCK_NVML_CONFIG", "MOCK_NVML_OVERRIDES", "MOCK_NVML_STATE", "NVPARITY_IMAGE", "TZ"):
        monkeypatch.setenv(name, "/nonexistent")
    assert replaying.record_mock(T4, SPACE) == recording


def test_a_library_is_asked_in_the_environment_of_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVPARITY_IMAGE", str(serving.image_of(T4, SPACE)))
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "state"))
    assert replaying.record_library(serving.library_of(T4, SPACE)) == replaying.record_mock(T4, SPACE)


def test_a_library_that_is_not_ours_is_asked_alike(nvml_stub: Callable[..., Path]) -> None:
    recording = replaying.record_library(nvml_stub(seed=11, gpus=2, driver="570.1.2"))
    assert recording[Asked("nvmlSystemGetDriverVersion")].out == {"version": "570.1.2"}
    assert {asked.gpu for asked in recording} == {None, 0, 1}


def test_a_call_that_never_comes_back_is_named(nvml_stub: Callable[..., Path]) -> None:
    with pytest.raises(GateError, match=r"libnvidia-ml\.so\.1: the library did not end within 1 s, in nvmlDeviceGetSerial of GPU 0"):
        replaying.record_library(nvml_stub(gpus=2, hangs="nvmlDeviceGetSerial"), 1)


def test_a_call_that_crashes_the_library_is_named(nvml_stub: Callable[..., Path]) -> None:
    with pytest.raises(GateError, match=r"the library was ended by SIGSEGV, in nvmlDeviceGetSerial of GPU 0"):
        replaying.record_library(nvml_stub(gpus=2, crashes="nvmlDeviceGetSerial"))


def test_a_library_that_hangs_or_dies_at_its_start_is_told(nvml_stub: Callable[..., Path]) -> None:
    with pytest.raises(GateError, match=r"SIGSEGV, in nvmlInit_v2"):
        replaying.record_library(nvml_stub(crashes="nvmlInit_v2"))
    with pytest.raises(GateError, match=r"did not end within 1 s, in nvmlInit_v2"):
        replaying.record_library(nvml_stub(hangs="nvmlInit_v2"), 1)


def test_a_library_is_named_from_the_folder_of_the_caller(nvml_stub: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    library = nvml_stub(seed=5)
    monkeypatch.chdir(library.parent)
    assert Asked("nvmlSystemGetDriverVersion") in replaying.record_library(Path(library.name))


def test_what_a_dying_library_says_is_told_without_its_identifiers(tmp_path: Path) -> None:
    source, made = tmp_path / "says.c", tmp_path / "says.so"
    said = "board GPU-3f2a9c71-5b0e-4d1a-9f67-8c2e1d0b4a55 of /home/alice has fallen off"
    source.write_text(f'#include <stdlib.h>\n#include <unistd.h>\nint nvmlInit_v2(void) {{ write(2, "{said}", {len(said)}); abort(); }}\n')
    build.find_compiler().run("-shared", "-fPIC", "-w", str(source), "-o", str(made))
    with pytest.raises(GateError, match=r"SIGABRT, in nvmlInit_v2: board GPU-00000001-0000-.* of /home/\w+ has fallen off") as caught:
        replaying.record_library(made)
    assert not re.search("3f2a9c71|alice", str(caught.value))


def test_a_file_that_is_no_library_is_an_environment_that_lacks_one(tmp_path: Path) -> None:
    (tmp_path / "no.so").write_bytes(b"no library")
    with pytest.raises(MissingError, match=r"no\.so"):
        replaying.record_library(tmp_path / "no.so")


def test_the_child_reaches_no_store_and_no_capture() -> None:
    source = "import sys, harness.stages.answers.__main__; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    loaded = ast.literal_eval(done.stdout)
    kept_away = ("harness.stores", "harness.stages.importing", "harness.text.document", "lxml", "pydantic")
    assert "harness.text.answers" in loaded
    assert [name for name in loaded if name.startswith(kept_away)] == []
