"""Export: what the mock of a profile answers, as a document that another tool reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.stages.answers import replaying
from harness.text import dcgm_writer
from harness.words.errors import InputError

if TYPE_CHECKING:
    from harness.stores.workspace import Workspace
    from harness.text.dcgm import Written

DCGM = "dcgm-injection"
FORMATS = (DCGM,)


def document(space: Workspace, reference: str) -> Written:
    """The answers document of DCGM's NVML injection for what the mock of ``reference`` (an id, a short name, a path) answers.

    Raises InputError for a profile that does not hold or a GPU without a UUID of its own, GateError when the mock crashes or hangs.
    """
    recording = replaying.record_mock(space.locate_profile(reference), space)
    try:
        return dcgm_writer.write(recording)
    except InputError as error:
        raise InputError(f"{reference}: {error}") from None
