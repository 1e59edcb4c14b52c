"""Errors carry the exit status of their class, and a typo is answered with the nearest name."""

from __future__ import annotations

import pytest

from harness.words import errors


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (errors.GateError, 1),
        (errors.UsageError, 2),
        (errors.InputError, 3),
        (errors.MissingError, 4),
        (errors.NothingError, 5),
        (errors.NvparityError, 70),
    ],
)
def test_each_class_has_its_exit_status(kind: type[errors.NvparityError], status: int) -> None:
    assert kind("x").exit_status == status


def test_the_table_has_every_status_once() -> None:
    assert [status for status, _ in errors.EXIT_TABLE] == [0, 1, 2, 3, 4, 5, 70, 130]


def test_a_typo_is_answered_with_the_nearest_name() -> None:
    assert errors.did_you_mean("memory.totl_bytes", ["memory.total_bytes", "memory.used_bytes"]) == " (did you mean 'memory.total_bytes'?)"


def test_a_word_far_from_all_is_answered_with_nothing() -> None:
    assert errors.did_you_mean("xyzzy", ["memory.total_bytes"]) == ""
