"""What a name means: ids, short names, boards; and what is said of one that means nothing or too much."""

from __future__ import annotations

import pytest

from harness.stores import references
from harness.words.errors import InputError

IDS = ["l4-x1_555.42.06", "l40-x1_550.1", "t4-x1_515.105.01", "t4-x1_595.91.07", "mine"]
SHORT = {"t4": "t4-x1_595.91.07", "gone": "a-x1_1"}


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        ("t4-x1_515.105.01", "t4-x1_515.105.01"),
        ("t4", "t4-x1_595.91.07"),
        ("l4", "l4-x1_555.42.06"),
        ("l40", "l40-x1_550.1"),
        ("mine", "mine"),
        ("l", None),
        ("gone", None),
        ("l4-x1", None),
        ("", None),
    ],
)
def test_a_name_means_an_id_a_short_name_or_the_only_capture_of_a_board(reference: str, meant: str | None):
    assert references.find(reference, IDS, SHORT) == meant


def test_a_board_of_several_lists_them():
    with pytest.raises(InputError, match=r"'t4' is the board of 2: t4-x1_515\.105\.01, t4-x1_595\.91\.07; name one"):
        references.find("t4", IDS, {})


@pytest.mark.parametrize(
    ("reference", "hint"),
    [
        ("L40S", " (did you mean 'l40-x1_550.1' or 'l4-x1_555.42.06'?)"),
        ("t4-x1_595.91.70", " (did you mean 't4-x1_595.91.07' or 't4-x1_515.105.01' or 'l4-x1_555.42.06'?)"),
        ("595", " (did you mean 't4-x1_595.91.07'?)"),
        ("zzzzzz", ""),
        ("", ""),
    ],
)
def test_near_names_are_those_that_contain_it_else_the_closest_whatever_the_case(reference: str, hint: str):
    assert references.near(reference, IDS) == hint
