"""Ask a node's own library, and say what to do where it has nothing to answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.stages.answers import replaying
from harness.stages.importing.given import COUNT_CALL
from harness.stages.smi import LIBRARY_NAME
from harness.text import answers as answers_text
from harness.words.errors import MissingError

if TYPE_CHECKING:
    from pathlib import Path

    from mocklib.answers import Recording


def ask(library: Path | None) -> Recording:
    """Every answer of ``library``, else of the one that the loader finds.

    Raises MissingError where it cannot be loaded, no driver answers, or there is no GPU; GateError where it crashes or hangs.
    """
    try:
        answers = replaying.record_library(library or LIBRARY_NAME)
    except MissingError as error:
        if library is None and "cannot be loaded" in str(error):
            raise MissingError(f"{error}; is this a node with a driver? (--library PATH names its libnvidia-ml.so.1 elsewhere)") from None
        raise
    check_gpus(answers)
    return answers


def check_gpus(answers: Recording) -> None:
    """Raises MissingError, with the code, where NVML counts no GPU."""
    for asked, answer in answers.items():
        if asked.function == COUNT_CALL and not answer.missing and not answer.out.get("deviceCount"):
            raise MissingError(f"{COUNT_CALL} answers {answers_text.answer_text(answer)}: no GPU, so there is nothing to record")
