"""Driver versions compare number by number and keep their text."""

from __future__ import annotations

import pytest

from harness.words.errors import InputError
from harness.words.version import DriverVersion


def test_versions_order_by_number_not_by_text() -> None:
    texts = ["340.108", "470.74", "470.256.02", "535.98", "535.104.05", "570.86.15", "570.124.04", "580.105.08"]
    assert [version.text for version in sorted(map(DriverVersion, reversed(texts)))] == texts


def test_leading_zeros_do_not_make_another_version() -> None:
    assert DriverVersion("580.105.08") == DriverVersion("580.105.8")
    assert hash(DriverVersion("580.105.08")) == hash(DriverVersion("580.105.8"))


def test_the_text_is_kept_as_printed() -> None:
    assert str(DriverVersion("580.105.08")) == "580.105.08"


def test_the_branch_is_the_first_number() -> None:
    assert DriverVersion("595.91.07").branch == 595


@pytest.mark.parametrize("text", ["", "580", "580.", ".580", "580.x", "580.1.2.3.4", " 580.1", "580.1\n", "-1.2", "5\uff180.1", "1234567.1"])
def test_what_is_no_version_is_refused_and_named(text: str) -> None:
    with pytest.raises(InputError, match="is not dotted numbers"):
        DriverVersion(text)


def test_a_version_is_not_its_text() -> None:
    assert DriverVersion("470.74") != "470.74"
