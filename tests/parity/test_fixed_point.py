"""Record of the mock of a recording is the recording, for every profile of the repository: answers and profile byte for byte."""

from __future__ import annotations

import pytest

from harness.stages.answers import replaying
from harness.stores import profiles
from harness.text import answers
from mocklib.answers import Asked, Recording
from mocklib.binding import Answer
from tests.parity import fixed_point, proved
from tests.parity.mutations_board import SPACE

pytestmark = pytest.mark.usefixtures("served_library")
PROFILES = proved.boards(SPACE)


def one_a_driver() -> list[str]:
    """One profile of each driver version; every profile in a full run."""
    versions: dict[str, str] = {}
    for name in PROFILES:
        versions.setdefault(profiles.load(SPACE.profile_path(name)).driver_version, name)
    return PROFILES if proved.FULL else sorted(versions.values())


def figure(request: pytest.FixtureRequest, line: str) -> None:
    """Keep a line for ``--figures``; pytest's own fixture for it warns under the reports that seeded faults are judged by."""
    request.node.user_properties.append(("figure", line))


def recorded(name: str) -> Recording:
    return replaying.record_mock(SPACE.profile_path(name), SPACE)


@pytest.mark.parametrize("name", PROFILES)
def test_the_second_bundle_is_the_first(name: str, request: pytest.FixtureRequest) -> None:
    recording = recorded(name)
    first = fixed_point.bundle(recording, fixed_point.derived)
    again = fixed_point.replayed(first)
    assert answers.dump(again) == first.answers
    if proved.FULL:
        assert fixed_point.bundle(again, fixed_point.derived) == first
    assert dict(first.settled.residual) == {}, "each answer of this mock is explained by a key"
    figure(request, f"fixed point {name}: {len(recording)} answers, {first.settled.kept} residual")


@pytest.mark.parametrize("name", one_a_driver())
def test_answers_alone_are_enough(name: str, request: pytest.FixtureRequest) -> None:
    """Of a profile that says driver and number of GPUs, and no key: the answers do not lean on the keys."""
    recording = recorded(name)
    first = fixed_point.bundle(recording, fixed_point.bare)
    assert answers.dump(fixed_point.replayed(first)) == first.answers
    figure(request, f"answers alone {name}: {len(recording)} answers, {first.settled.kept} residual")


GPUS = """format: 1
version: "1.0"
system:
  driver_version: "%s"
  num_devices: 4
devices:
- index: 0
  name: Tesla T4
- index: 1
  state: uncaptured
- index: 2
  state: gpu_lost
- index: 3
  state: unknown_error
"""
HANDLE = "nvmlDeviceGetHandleByIndex_v2"


@pytest.mark.parametrize("derive", [fixed_point.derived, fixed_point.bare])
def test_gpus_that_are_lost_or_left_out_come_back_as_what_their_calls_answered(derive: fixed_point.Derive) -> None:
    recording = replaying.record_mock(GPUS % "580.105.08", SPACE)
    handles = [recording[Asked(HANDLE, None, (("index", index),))] for index in range(4)]
    assert [handle.code for handle in handles] == [0, 0, 15, 999]
    assert {asked.gpu for asked in recording} == {None, 0, 1}, "a GPU without a handle is asked nothing"
    left_out = [answer.code for asked, answer in recording.items() if asked.gpu == 1]
    assert left_out.count(6) > 0.6 * len(left_out)
    made = fixed_point.bundle(recording, derive)
    assert answers.dump(fixed_point.replayed(made)) == made.answers


def test_what_an_old_driver_has_not_never_becomes_what_a_board_has_not() -> None:
    recording = replaying.record_mock(GPUS % "440.33.01", SPACE)
    lacked = {asked for asked, answer in recording.items() if answer.missing}
    assert Asked("nvmlDeviceGetMemoryInfo_v2") in lacked
    assert Answer(13) not in recording.values()
    for derive in (fixed_point.derived, fixed_point.bare):
        again = fixed_point.replayed(fixed_point.bundle(recording, derive))
        assert {asked for asked, answer in again.items() if answer.missing} == lacked


def test_a_symbol_that_is_missing_is_missing_again_beside_those_that_the_driver_lacks() -> None:
    recording = replaying.record_mock(GPUS % "440.33.01", SPACE)
    lacked = {"nvmlDeviceGetName", "nvmlDeviceGetMemoryInfo_v2", "nvmlSystemGetHicVersion"}
    without: Recording = {asked: answer for asked, answer in recording.items() if asked.function not in lacked}
    without |= {Asked(name): Answer(13, missing=True) for name in sorted(lacked)}
    made = fixed_point.bundle(without, fixed_point.bare)
    assert "  nvmlDeviceGetName: missing\n" in made.profile
    again = fixed_point.replayed(made)
    assert {asked for asked, answer in recording.items() if answer.missing} >= {Asked("nvmlDeviceGetMemoryInfo_v2")}
    assert again == without
