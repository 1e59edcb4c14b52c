"""Through the answers document of DCGM's NVML injection and back: a board that is exported and imported exports the same bytes."""

from __future__ import annotations

import pytest

from harness.stages import exporting
from harness.stages.answers import replaying
from harness.stages.importing import answered, interchange
from harness.stages.importing.doors import Content
from harness.stores import profiles
from harness.text import dcgm_writer
from harness.words.errors import InputError
from harness.words.state import State
from mocklib.answers import Recording
from tests.parity import fixed_point, proved
from tests.parity.mutations_board import SPACE

pytestmark = pytest.mark.usefixtures("served_library")


def chosen() -> list[str]:
    """One profile of each driver version; every profile in a full run."""
    versions: dict[str, str] = {}
    for name in proved.boards(SPACE):
        versions.setdefault(name if proved.FULL else profiles.load(SPACE.profile_path(name)).driver_version, name)
    return sorted(versions.values())


def nameless(name: str) -> str:
    """Why a profile's node has no document: a GPU that was cut out of the capture, or whose UUID the giver hid or gave to two; else nothing."""
    devices = profiles.load(SPACE.profile_path(name)).devices
    seen: list[object] = []
    for place, device in enumerate(devices):
        uuid = device.values.get("uuid")
        if device.state is State.UNCAPTURED or isinstance(uuid, State):
            return f"GPU {place} has no UUID"
        if uuid in seen:
            return f"GPU {place} has the UUID of GPU {seen.index(uuid)}"
        seen.append(uuid)
    return ""


def imported(text: str, name: str) -> Recording:
    """What the mock of an imported document answers."""
    given = interchange.given(Content(f"{name}.yaml", text.encode()))
    assert given.recorded is not None
    profile, explained, residual = answered.text(None, given.recorded, name, SPACE.root)
    assert explained + sum(residual.values()) == len(given.recorded.answers)
    return replaying.record_mock(profile + fixed_point.STILL, SPACE)  # a document says no time, and counters of active event reasons move on


@pytest.mark.parametrize("name", chosen())
def test_a_board_that_comes_back_from_its_document_gives_the_same_document(name: str, record_property) -> None:
    if nameless(name):
        with pytest.raises(InputError, match=nameless(name)):
            exporting.document(SPACE, name)
        return
    first = exporting.document(SPACE, name)
    assert dcgm_writer.write(imported(first.text, name)).text == first.text
    record_property("figure", f"interchange {name}: {first.kept} answers written, {len(first.left)} that the format cannot say")
