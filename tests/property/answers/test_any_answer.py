"""A profile in which every answer of the list is another one, of any code and value that the call can have: its mock gives it again."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from harness.stages.answers import replaying, residual
from harness.stores.workspace import Workspace
from harness.text import answers
from mocklib.answers import RETURN_CODES, Asked, Recording
from mocklib.asking import VALUE_TYPES
from mocklib.binding import Answer
from mocklib.getters import FIELD_VALUES, getters
from tests.contract import answering
from tests.parity.proved import FULL

pytestmark = pytest.mark.usefixtures("served_library")
SPACE = Workspace(Path(__file__).resolve().parents[3])
PROFILE = f'format: 1\nversion: "1.0"\nsystem:\n  driver_version: "580.105.08"\n  num_devices: {answering.DEVICES}\ndevices: []\n'
ASKED_FOR = frozenset({"nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlSystemGetDriverVersion"})
"""What says which GPUs there are to ask, and which driver."""
COUNTED: dict[str, set[str]] = {}
"""Function -> what it answers that calls of the list are counted by."""
for _getter in getters().values():
    for _set in (*_getter.sets.values(), *(each for scopes in _getter.field_scopes.values() for each in scopes)):
        for _source in _set.sources if _set.kind == "count" else ():
            COUNTED.setdefault(_source.partition(".")[0], set()).add(_source.partition(".")[2])
CODES = (*RETURN_CODES, 31, 4711, 65535)


def another(asked: Asked, answer: Answer, chosen: random.Random) -> Answer:
    """An answer of the same call that is not ``answer``: half of them values, half codes."""
    while True:
        found = _any(asked, chosen)
        if found != answer:
            return found


def _any(asked: Asked, chosen: random.Random) -> Answer:
    code = chosen.choice(CODES) if chosen.random() < 0.5 else 0
    if code:
        return Answer(code)
    if asked.function != FIELD_VALUES:
        return _kept(asked, answering.answer(asked, str(chosen.random())))
    kind = chosen.choice([number for number in VALUE_TYPES if number])
    signed, bits = kind in (4, 5), {1: 32, 5: 32, 6: 16}.get(kind, 64)
    value = chosen.randrange(-(1 << bits - 1), 1 << bits - 1) if signed else chosen.randrange(1 << bits)
    return Answer(0, {"valueType": kind, "value": value})


def _kept(asked: Asked, answer: Answer) -> Answer:
    """What a recording keeps of an answer: the list says what it never does; what it counts through is small here."""
    for name in COUNTED.get(asked.function, ()):
        if isinstance(answer.out.get(name), int):
            answer.out[name] %= 4
    for name in getters()[asked.function].drop:
        listed, _, member = name.rpartition(".")
        answer.out.pop(name, None)
        for entry in answer.out.get(listed, ()):
            del entry[member]
    return answer


@pytest.fixture(scope="module")
def plain(library_path: Path) -> Recording:
    """What a profile without a key answers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NVPARITY_LIBRARY", str(library_path))
        return replaying.record_mock(PROFILE, SPACE)


@settings(max_examples=6 if FULL else 1, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1))
def test_a_mock_gives_any_answers_that_its_profile_keeps(plain: Recording, seed: int) -> None:
    chosen = random.Random(seed)
    able = {*answering.names(), FIELD_VALUES} - ASKED_FOR
    wanted = {asked: another(asked, answer, chosen) if asked.function in able and not answer.missing else answer for asked, answer in plain.items()}
    assert sum(wanted[asked] != answer for asked, answer in plain.items()) > 0.95 * len(plain)
    served = replaying.record_mock(residual.settle(PROFILE, wanted, SPACE).text, SPACE)
    assert {asked: answer for asked, answer in served.items() if asked in wanted} == {asked: wanted[asked] for asked in served if asked in wanted}
    again = residual.settle(PROFILE, served, SPACE)  # other answers led to other questions: what they gave is a recording, too
    assert answers.dump(replaying.record_mock(again.text, SPACE)) == answers.dump(served)
