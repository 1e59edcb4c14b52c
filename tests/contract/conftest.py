"""The library under test, serving an image made for the test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mocklib import binding, image, state
from mocklib.binding import Nvml
from mocklib.image import Clock, ImageSpec
from tests.contract import boards

VARIABLES = (
    "NVPARITY_IMAGE",
    "MOCK_NVML_CONFIG",
    "MOCK_NVML_STATE",
    "MOCK_NVML_OVERRIDES",
    "MOCK_NVML_NUM_DEVICES",
    "MOCK_NVML_DRIVER_VERSION",
    "MOCK_NVML_DEBUG",
    "MOCK_NVML_STRICT",
    "NVPARITY_COMPILER",
    "MOCK_NVML_DEVICE_NODES",
    "MOCK_NVML_EPOCH",
    "MOCK_NVML_PRIVILEGE",
    "NVPARITY_UNANSWERED",
)


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the settings of whoever runs it."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def opened(library_path: Path) -> Nvml:
    """The library, loaded once in this process."""
    return binding.open_library(library_path)


@pytest.fixture
def nvml(opened: Nvml) -> Iterator[Nvml]:
    """The library, not initialised before the test nor after it."""
    while opened.shutdown() == 0:
        continue
    yield opened
    while opened.shutdown() == 0:
        continue


@pytest.fixture
def image_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[ImageSpec], Path]:
    """Write the image of a spec and name it in NVPARITY_IMAGE."""

    def write(spec: ImageSpec) -> Path:
        path = tmp_path / "served.nvpimg"
        image.write(path, image.pack(spec))
        monkeypatch.setenv("NVPARITY_IMAGE", str(path))
        return path

    return write


@pytest.fixture
def serve(nvml: Nvml, image_path: Callable[[ImageSpec], Path]) -> Callable[..., tuple[Nvml, int]]:
    """``serve(spec)``: the initialised library and the handle of device 0 (0 where there is none)."""

    def start(spec: ImageSpec | None = None) -> tuple[Nvml, int]:
        while nvml.shutdown() == 0:
            continue
        image_path(spec or boards.spec())
        assert nvml.init() == 0
        return nvml, nvml.device(0) if nvml.count() else 0

    return start


@pytest.fixture(scope="session")
def clean_environment() -> dict[str, str]:
    """The environment for a program of a test: this one without any setting of the library."""
    return {name: value for name, value in os.environ.items() if name not in VARIABLES}


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """``clock(instant)``: the time of what is served from now on stands there (nanoseconds since 1970); it is that of a state, which init makes."""
    path = tmp_path / "clock.nvpstate"
    monkeypatch.setenv("MOCK_NVML_STATE", str(path))
    return lambda instant_ns: state.set_clock(path, Clock("frozen", instant_ns))
