"""The stages in Python, timed on the eight H100s (pytest-benchmark): no limits, figures to compare in build/bench/stages.json.

What each gives is checked on the way: a stage that got faster by doing less is a failure, not a figure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.stages.render import serving
from harness.stores import captures, goldens, profiles
from harness.stores.workspace import Workspace
from harness.tables import drivers
from harness.text import answers, document, transcript
from mocklib import asking, binding, image

CASE = "h100-sxm5-x8_580.105.08"
ROUNDS = 3

pytestmark = pytest.mark.bench


@pytest.fixture(scope="module")
def space(request: pytest.FixtureRequest) -> Workspace:
    return Workspace.nearby(str(request.config.rootpath))


@pytest.fixture(scope="module")
def query(space: Workspace) -> document.Document:
    found = captures.load(space.captures, CASE).query
    assert found is not None
    return found


@pytest.fixture
def timed(benchmark: Any) -> Callable[..., Any]:
    """``timed(function, *arguments)``: its result, timed ROUNDS times after one that fills caches."""

    def run(function: Callable[..., Any], *arguments: Any) -> Any:
        return benchmark.pedantic(function, args=arguments, rounds=ROUNDS, warmup_rounds=1)

    return run


def scrubbed(space: Workspace) -> str:
    """The golden's hash of the scrubbed text."""
    return goldens.load(space.golden / f"{CASE}.yaml").views["q-x"].scrubbed


def test_read_a_capture(timed: Callable[..., Any], query: document.Document) -> None:
    assert len(timed(document.read, query.to_bytes()).gpus) == 8


def test_write_a_capture_again(timed: Callable[..., Any], query: document.Document, space: Workspace) -> None:
    assert hashlib.sha256(timed(query.to_bytes)).hexdigest() == scrubbed(space)


def test_load_a_transcript(timed: Callable[..., Any], query: document.Document) -> None:
    assert timed(transcript.load, transcript.dump(query)).to_bytes() == query.to_bytes()


def test_load_a_profile(timed: Callable[..., Any], space: Workspace) -> None:
    assert len(timed(profiles.load, space.locate_profile(CASE)).devices) == 8


def test_load_the_driver_tree(timed: Callable[..., Any], space: Workspace) -> None:
    assert not timed(lambda: drivers.load(space.root).resolve("580.105.08")).assumed


def test_compile_a_profile(timed: Callable[..., Any], space: Workspace) -> None:
    assert len(image.read(timed(serving.image_bytes, space.locate_profile(CASE), space)).devices) == 8


@pytest.fixture
def nvml(space: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[binding.Nvml]:
    """The library serving the board in this process."""
    path = tmp_path / "served.nvpimg"
    path.write_bytes(serving.image_bytes(space.locate_profile(CASE), space))
    monkeypatch.setenv("NVPARITY_IMAGE", str(path))
    found = binding.open_library(serving.library())
    assert found.init() == 0
    yield found
    found.shutdown()


def test_ask_every_getter(timed: Callable[..., Any], nvml: binding.Nvml) -> None:
    recording = timed(asking.ask, nvml)
    assert {asked.gpu for asked in recording} == {None, *range(8)}
    assert len(recording) > 8 * 1000


def test_write_and_load_a_recording(timed: Callable[..., Any], nvml: binding.Nvml) -> None:
    recording = asking.ask(nvml)
    assert timed(lambda: answers.load(answers.dump(recording), "answers.txt")) == recording


def test_render_all_of_it(timed: Callable[..., Any], space: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVPARITY_CACHE", str(tmp_path))
    rendered = timed(serving.render, space.locate_profile(CASE), space)
    assert hashlib.sha256(rendered.data).hexdigest() == scrubbed(space)
