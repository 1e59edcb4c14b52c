"""A library with nothing to answer is told by its code, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.stages.answers import replaying
from harness.stages.recording import asking
from harness.words.errors import MissingError
from mocklib.answers import Asked
from mocklib.binding import Answer


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(0, {"deviceCount": 0}), r'nvmlDeviceGetCount_v2 answers SUCCESS \{"deviceCount":0\}: no GPU'),
        (Answer(4), "nvmlDeviceGetCount_v2 answers NO_PERMISSION: no GPU"),
    ],
)
def test_no_gpu_is_nothing_to_record(monkeypatch, answer, said):
    monkeypatch.setattr(replaying, "record_library", lambda _library: {Asked("nvmlDeviceGetCount_v2"): answer})
    with pytest.raises(MissingError, match=said):
        asking.ask(None)


@pytest.mark.parametrize(("library", "hint"), [(None, True), (Path("/opt/libnvidia-ml.so.1"), False)])
def test_a_library_that_the_loader_does_not_find_can_be_named(monkeypatch, library, hint):
    def none(name):
        raise MissingError(f"{name} cannot be loaded: no such file")

    monkeypatch.setattr(replaying, "record_library", none)
    with pytest.raises(MissingError) as caught:
        asking.ask(library)
    assert ("--library PATH" in str(caught.value)) == hint


def test_answers_come_as_they_are(monkeypatch, t4_answers):
    monkeypatch.setattr(replaying, "record_library", lambda _library: t4_answers)
    assert asking.ask(None) is t4_answers
