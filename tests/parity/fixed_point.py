"""The fixed point of record and replay: the bundle of a profile's mock, and that of the mock of the bundle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.stages.answers import deriving, replaying, residual
from harness.stages.answers.residual import Settled
from harness.stores import profiles
from harness.tables import drivers
from harness.text import answers
from mocklib.answers import Asked, Recording
from tests.parity.mutations_board import SPACE

Derive = Callable[[Recording], str]
"""A recording's profile, before what no key explains is settled."""


@dataclass(frozen=True)
class Bundle:
    """What a recording keeps: the text of its answers and its profile."""

    answers: str
    settled: Settled

    @property
    def profile(self) -> str:
        """The text of the profile."""
        return self.settled.text


STILL = "clock: {mode: frozen, at: '1970-01-01T00:00:01Z'}\n"
"""A clock that stands, as a profile says it: nothing that counts with time has moved."""


def bundle(recording: Recording, derive: Derive) -> Bundle:
    """The bundle of ``recording``."""
    return Bundle(answers.dump(recording), residual.settle(derive(recording), recording, SPACE))


def derived(recording: Recording) -> str:
    """What the answers say, as keys."""
    return deriving.derive(recording, drivers.load(SPACE.root), capture="fixed-point").text


def bare(recording: Recording) -> str:
    """Driver version and number of GPUs, and no key of any of them: all else is residual."""
    version = recording[Asked("nvmlSystemGetDriverVersion")].out["version"]
    count = recording[Asked("nvmlDeviceGetCount_v2")].out["deviceCount"]
    return profiles.dump({"format": 1, "version": "1.0", "system": {"driver_version": version, "num_devices": count}, "devices": []})


def replayed(made: Bundle) -> Recording:
    """What the mock of a bundle's profile answers at an instant: an answer says no time, and counters of active event reasons would move on."""
    return replaying.record_mock(made.profile + STILL, SPACE)
