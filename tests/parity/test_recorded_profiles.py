"""Whole recordings of served profiles: twice the same, and the same text after reading it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.stages.render import serving
from harness.stores.workspace import Workspace
from harness.text import answers
from mocklib import asking, binding, getters
from mocklib.answers import Asked
from mocklib.binding import Nvml

PROFILES = ["h100-sxm5-x8_580.105.08", "geforce-gt-1030-x1_470.74", "p100-pcie-12gb-x2_375.66"]
CALLS = (900, 2000)
"""At least and at most so many calls of a GPU without NVLink; more need a reason in docs/getters.md."""


@pytest.fixture
def served(repository: Path, library_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Nvml]]:
    """``served(profile)``: the initialised library that serves it."""
    nvml = binding.open_library(library_path)

    def serve(name: str) -> Nvml:
        path = tmp_path / "served.nvpimg"
        path.write_bytes(serving.image_bytes(repository / "profiles" / f"{name}.yaml", Workspace.find(repository)))
        monkeypatch.setenv("NVPARITY_IMAGE", str(path))
        assert nvml.init() == 0
        return nvml

    while nvml.shutdown() == 0:
        continue
    yield serve
    while nvml.shutdown() == 0:
        continue


@pytest.mark.parametrize("name", PROFILES)
def test_a_mock_recorded_twice_gives_one_recording_and_one_text(served: Callable[[str], Nvml], name: str) -> None:
    nvml = served(name)
    first, second = asking.ask(nvml), asking.ask(nvml)
    assert list(first.items()) == list(second.items())
    text = answers.dump(first)
    assert list(answers.load(text, "answers.txt").items()) == list(first.items())
    assert answers.dump(answers.load(text, "answers.txt")) == text
    for index in range(nvml.count()):
        assert CALLS[0] < len([asked for asked in first if asked.gpu == index]) < CALLS[1]


def test_a_library_without_some_symbols_says_which(served: Callable[[str], Nvml]) -> None:
    nvml = served(PROFILES[0])
    whole = asking.ask(nvml)
    lacking = {"nvmlDeviceGetPdi", "nvmlSystemGetDriverBranch", getters.FIELD_VALUES, getters.LINK_STATE}
    nvml._found.update(dict.fromkeys(lacking))
    found = asking.ask(nvml)
    assert {asked for asked, answer in found.items() if answer.missing} == {Asked(name) for name in lacking}
    links = {asked for asked in whole if any(name == "link" and value != 0 for name, value in asked.arguments)}
    rest = {asked: answer for asked, answer in whole.items() if asked.function not in lacking}
    assert {asked: answer for asked, answer in found.items() if not answer.missing} == {a: answer for a, answer in rest.items() if a not in links}
