"""Record of the mock of a recording is the recording, for every profile of the repository: answers and profile byte for byte."""

from __future__ import annotations

import pytest

from harness.stages.answers import replaying
from harness.stores import profiles
from harness.text import answers
from mocklib.answers import Recording
from tests.parity import fixed_point, proved
from tests.parity.mutations_board import SPACE

pytestmark = pytest.mark.usefixtures("served_library")
PROFILES = sorted(SPACE.profile_ids())


def one_a_driver() -> list[str]:
    """One profile of each driver version; every profile in a full run."""
    versions: dict[str, str] = {}
    for name in PROFILES:
        versions.setdefault(profiles.load(SPACE.profile_path(name)).driver_version, name)
    return PROFILES if proved.FULL else sorted(versions.values())


def recorded(name: str) -> Recording:
    return replaying.record_mock(SPACE.profile_path(name), SPACE)


@pytest.mark.parametrize("name", PROFILES)
def test_the_second_bundle_is_the_first(name: str, record_property) -> None:
    recording = recorded(name)
    first = fixed_point.bundle(recording, fixed_point.derived)
    again = fixed_point.replayed(first)
    assert answers.dump(again) == first.answers
    if proved.FULL:
        assert fixed_point.bundle(again, fixed_point.derived) == first
    settled = first.settled
    by_function = ", ".join(f"{function} {count}" for function, count in sorted(settled.residual.items()))
    record_property("figure", f"fixed point {name}: {len(recording)} answers, {settled.kept} residual{f' ({by_function})' if by_function else ''}")


@pytest.mark.parametrize("name", one_a_driver())
def test_answers_alone_are_enough(name: str) -> None:
    """Of a profile that says driver and number of GPUs, and no key: the answers do not lean on the keys."""
    recording = recorded(name)
    first = fixed_point.bundle(recording, fixed_point.bare)
    assert answers.dump(fixed_point.replayed(first)) == first.answers
