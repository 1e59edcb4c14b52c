"""Codes through the whole chain: a state of each field, the mock's answers, the profile derived from them: the same state, and no other field's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.stages import compile_device
from harness.stages.answers import deriving, gathering, replaying
from harness.stores import profiles
from harness.tables import drivers
from harness.words.state import State
from mocklib import members
from mocklib.answers import Recording
from tests.parity import proved, tracer_profile
from tests.parity.mutations_board import SPACE
from tests.parity.test_answers_fields import CODES, IN_A_STRUCT

pytestmark = pytest.mark.usefixtures("served_library")
VERSION = "595.91.07"
APART = frozenset(("ecc.mode_current",))
"""Fields that others need: with a code there, they are refused whatever they are."""
GPUS = len(tracer_profile.SETTINGS)


def calls(recording: Recording) -> Iterator[set[str]]:
    """The fields that each call of GPU 0 reads."""
    for asked in recording:
        if asked.gpu == 0:
            named = {member.field for member in members.of(asked.function, dict(asked.arguments)) if member.field is not None}
            yield named | set(members.reads(asked.function))


def groups(recording: Recording) -> list[list[str]]:
    """The fields that answers tell, in groups whose calls have no field in common: what a code is of cannot be mistaken."""
    told = gathering.gather(recording, drivers.load().resolve(VERSION))[0].fields
    apart = [reads for reads in calls(recording) if len(reads) > 1]
    reach = {name: {name}.union(*(reads for reads in apart if name in reads)) for name in told if name not in IN_A_STRUCT}
    found: list[tuple[list[str], set[str]]] = []
    for name, beside in reach.items():
        fitting = (entry for entry in found if name not in APART and not APART & set(entry[0]) and not beside & entry[1])
        names, around = next(fitting, ([], set()))
        if not names:
            found.append((names, around))
        names.append(name)
        around |= beside
    return [names for names, _ in found]


def seeded(chosen: list[list[str]], code: int) -> str:
    """The tracer with the state of ``code`` on the fields of one group a GPU."""
    document = tracer_profile.document(VERSION)
    state = State.of_code(code)
    assert state is not None
    for device, names in zip(document["devices"], chosen, strict=False):
        device["states"] = {**device["states"], **dict.fromkeys(names, state.value)}
    return profiles.dump(document)


def test_each_code_of_each_field_is_derived_from_the_mocks_answers() -> None:
    tree = drivers.load()
    plain = replaying.record_mock(profiles.dump(tracer_profile.document(VERSION)), SPACE)
    found = groups(plain)
    assert sum(map(len, found)) > 180
    batches = [found[place : place + GPUS] for place in range(0, len(found), GPUS)]
    for number, batch in enumerate(batches):
        for code in CODES if proved.FULL else (CODES[number % len(CODES)],):
            recording = replaying.record_mock(seeded(batch, code), SPACE)
            devices = profiles.parse(deriving.derive(recording, tree).text.encode()).devices
            for index, names in enumerate(batch):
                served = compile_device.device_fields(devices[index], index)
                assert {name: served[name].status for name in names} == dict.fromkeys(names, code)
