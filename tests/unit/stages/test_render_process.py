"""A render in its child: what goes wrong there comes back as one error of the right kind."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.stages import child, libraries
from harness.stages.render import process, serving
from harness.stages.render.process import Job
from harness.stores.workspace import Workspace
from harness.words.errors import GateError, InputError, MissingError, UsageError

ROOT = Path(__file__).resolve().parents[3]
SPACE = Workspace(ROOT)


@pytest.fixture
def image(tmp_path: Path, library_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The T4's image as a file of its own."""
    monkeypatch.setenv("NVPARITY_LIBRARY", str(library_path))
    path = tmp_path / "image"
    path.write_bytes(serving.image_bytes(SPACE.profile_path("t4-x1_595.91.07"), SPACE))
    return path


def job(library: Path, image: Path, **more: Any) -> Job:
    return Job(str(library), str(image), None, **more)


def test_the_answer_names_driver_layout_and_the_call_of_each_element(image: Path, library_path: Path):
    rendered = process.render(job(library_path, image))
    assert (rendered.driver, rendered.layout) == ("595.91.07", "595.91.07")
    traced = {entry.path: entry for entry in rendered.trace}
    assert traced["gpu[0]/temperature/gpu_temp"].route.startswith("call nvmlDeviceGetTemperature")
    assert traced["gpu[0]/fan_speed"].code == 3
    assert traced["gpu[0]/display_mode"].basis == "literal"
    assert rendered.assumed_paths() == {path for path, entry in traced.items() if entry.basis == "assumed"}


def test_the_environment_of_the_caller_changes_nothing(image: Path, library_path: Path, monkeypatch: pytest.MonkeyPatch):
    plain = process.render(job(library_path, image)).data
    for name in ("MOCK_NVML_CONFIG", "MOCK_NVML_OVERRIDES", "MOCK_NVML_DEBUG", "NVPARITY_IMAGE", "TZ", "LC_ALL", "COLUMNS"):
        monkeypatch.setenv(name, "/nonexistent")
    assert process.render(job(library_path, image)).data == plain


def test_a_library_that_cannot_be_loaded_is_an_environment_that_lacks_something(image: Path, tmp_path: Path):
    (tmp_path / "no.so").write_bytes(b"no library")
    with pytest.raises(MissingError, match=r"no\.so"):
        process.render(job(tmp_path / "no.so", image))


@pytest.mark.parametrize("size", [0, 10, 5000])
def test_an_image_that_is_cut_off_is_bad_input(size: int, image: Path, library_path: Path):
    image.write_bytes(image.read_bytes()[:size])
    with pytest.raises(InputError, match="image"):
        process.render(job(library_path, image))


def test_a_flipped_bit_is_bad_input(image: Path, library_path: Path):
    data = bytearray(image.read_bytes())
    data[len(data) // 2] ^= 1
    image.write_bytes(data)
    with pytest.raises(InputError, match="image"):
        process.render(job(library_path, image))


def test_an_unknown_view_is_refused(image: Path, library_path: Path):
    with pytest.raises(UsageError, match="no view 'qq'"):
        process.render(job(library_path, image, view="qq"))


def replaced(monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    """Have another program stand in for the child."""
    started = subprocess.Popen

    def start(command: list[str], **more: Any) -> Any:
        return started([command[0], "-c", source], **more)

    monkeypatch.setattr("subprocess.Popen", start)


def test_a_child_that_a_signal_ends_is_a_failed_gate_that_names_it(image: Path, library_path: Path, monkeypatch: pytest.MonkeyPatch):
    replaced(monkeypatch, "import os, sys; print('boom', file=sys.stderr, flush=True); os.kill(os.getpid(), 11)")
    with pytest.raises(GateError, match="SIGSEGV: boom"):
        process.render(job(library_path, image))


def test_a_child_that_never_ends_is_a_failed_gate(image: Path, library_path: Path, monkeypatch: pytest.MonkeyPatch):
    replaced(monkeypatch, "import signal; signal.pause()")
    with pytest.raises(GateError, match="did not end"):
        process.render(job(library_path, image), limit_s=0.05)


def test_without_proc_a_child_is_not_started_and_what_to_mount_is_said(image: Path, library_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(child, "OPEN_FILES", Path("/nonexistent/fd"))
    with pytest.raises(MissingError, match="mount -t proc proc /proc"):
        process.render(job(library_path, image))


def test_a_child_without_an_answer_is_a_bug(image: Path, library_path: Path, monkeypatch: pytest.MonkeyPatch):
    replaced(monkeypatch, "raise ImportError('x')")
    with pytest.raises(RuntimeError, match="ImportError"):
        process.render(job(library_path, image))


def test_a_child_without_room_for_its_answer_lacks_something(image: Path, library_path: Path, monkeypatch: pytest.MonkeyPatch):
    half = "import json, sys; open(json.load(sys.stdin)['answer'], 'w').write('{\"a\": \"'); sys.stdout.close(); raise OSError(27, 'File too large')"
    replaced(monkeypatch, half)
    with pytest.raises(MissingError, match=r"could not write its answer whole \(status 1\): OSError: .*File too large"):
        process.render(job(library_path, image))


def test_an_image_is_compiled_once_and_again_when_its_profile_changes(library_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NVPARITY_LIBRARY", str(library_path))
    monkeypatch.setenv("NVPARITY_CACHE", str(tmp_path / "cache"))
    profile = tmp_path / "p.yaml"
    profile.write_bytes(SPACE.profile_path("t4-x1_595.91.07").read_bytes())
    first = serving.image_of(profile, SPACE)
    assert serving.image_of(profile, SPACE) == first
    profile.write_text(profile.read_text().replace("temperature_gpu_c: 33", "temperature_gpu_c: 34"))
    assert serving.image_of(profile, SPACE) != first


def test_a_named_library_that_is_no_file_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NVPARITY_LIBRARY", "/nonexistent/lib.so")
    libraries.universal.cache_clear()
    with pytest.raises(MissingError, match="NVPARITY_LIBRARY"):
        serving.library()
