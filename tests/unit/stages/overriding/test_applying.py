"""A document that is followed: applied when it changes, kept from harm when it is broken."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.stages.overriding import applying
from harness.stages.overriding.document import Overrides
from harness.words.errors import InputError, MissingError, NvparityError, StorageError
from mocklib.state import StateError

FIRST, SECOND = "version: 1\nall: {fan: {count: 1}}\n", "version: 1\nall: {fan: {count: 22}}\n"


class EndedError(Exception):
    """The wait that ends a following."""


def outcomes(path: Path, steps: list[str | None], apply: Callable[[Overrides], object]) -> list[Overrides | NvparityError]:
    """Every outcome while ``steps`` happen, one at each wait: a new text, None to take the file away, the empty text for nothing at all."""
    left = iter(steps)

    def wait() -> None:
        for step in left:
            if step is None:
                path.unlink()
            elif step:
                path.with_name("new").write_text(step)
                path.with_name("new").replace(path)
            return
        raise EndedError

    found: list[Overrides | NvparityError] = []
    with pytest.raises(EndedError):
        found.extend(applying.follow(path, apply, wait))
    return found


def test_each_change_is_applied_once(tmp_path: Path) -> None:
    path = tmp_path / "doc.yaml"
    path.write_text(FIRST)
    applied: list[Overrides] = []
    found = outcomes(path, ["", SECOND, "", "", None, "", FIRST], applied.append)
    assert found == applied == [Overrides({"fan": {"count": 1}}), Overrides({"fan": {"count": 22}}), Overrides(), Overrides({"fan": {"count": 1}})]


@pytest.mark.parametrize("broken", ["version: 1\nall: [\n", "version: 7\n", "version: 1\nfoo: 1\n"])
def test_a_broken_document_is_told_of_and_the_next_good_one_is_applied(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "doc.yaml"
    path.write_text(FIRST)
    applied: list[Overrides] = []
    found = outcomes(path, [broken, "", SECOND], applied.append)
    assert [type(outcome) for outcome in found] == [Overrides, InputError, Overrides]
    assert applied == [Overrides({"fan": {"count": 1}}), Overrides({"fan": {"count": 22}})]


def test_a_document_that_is_refused_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "doc.yaml"
    path.write_text(FIRST)

    def refuse(_: Overrides) -> None:
        raise InputError("no GPU 9")

    assert [str(outcome) for outcome in outcomes(path, [""], refuse)] == ["no GPU 9"]


def test_a_document_that_is_not_there_or_no_file_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises((MissingError, InputError), match="cannot be read"):
            applying.read(path)


def test_a_pipe_that_nobody_writes_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "doc.yaml")
    with pytest.raises(InputError, match=r"doc\.yaml: is no regular file"):
        applying.read(tmp_path / "doc.yaml")
    assert [type(outcome) for outcome in outcomes(tmp_path / "doc.yaml", [""], print)] == [InputError]


def test_a_state_that_cannot_be_written_is_told_once_and_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "doc.yaml"
    path.write_text(FIRST)
    applied: list[Overrides] = []

    def apply(given: Overrides) -> None:
        applied.append(given)
        if len(applied) < 4:
            raise StateError("state: another writer holds its lock")

    found = outcomes(path, ["", "", "", "", SECOND], apply)
    assert [type(outcome) for outcome in found] == [StorageError, Overrides, Overrides]
    assert applied == [Overrides({"fan": {"count": 1}})] * 4 + [Overrides({"fan": {"count": 22}})]
