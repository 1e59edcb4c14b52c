"""The child side of ``replaying``: reads a task from standard input, asks the library every getter of the list, writes the answer file.

Imports no store, no profile schema and no XML parser.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from harness.stages import errand
from harness.text import answers
from harness.words.errors import GateError, MissingError
from mocklib import binding
from mocklib.answers import RETURN_CODES, Asked, Recording
from mocklib.asking import Asker

WIDTH = 256
"""Bytes of the progress file: what is asked now, cut."""


class Progress:
    """Says in a file what is asked before it is: a call that never comes back is known by name."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY)

    def tell(self, call: str) -> None:
        """Say it."""
        os.pwrite(self._file, call.encode()[:WIDTH].ljust(WIDTH, b"\0"), 0)


class Watched(binding.Nvml):
    """The library, whose calls by name (those before the list's) are told."""

    def __init__(self, library: Any, progress: Progress) -> None:
        super().__init__(library)
        self.progress = progress

    def call(self, name: str, device: int | None = None, arguments: dict[str, Any] | None = None) -> binding.Answer:
        """Tell, then call."""
        self.progress.tell(name)
        return super().call(name, device, arguments)


class WatchedAsker(Asker):
    """Asks the list, each call of it told."""

    def __init__(self, nvml: Watched) -> None:
        super().__init__(nvml)
        self._progress = nvml.progress

    def answer(self, asked: Asked) -> binding.Answer:
        """Tell, then ask."""
        self._progress.tell(answers.call(asked) + ("" if asked.gpu is None else f" of GPU {asked.gpu}"))
        return super().answer(asked)


@contextlib.contextmanager
def opened(library: str, progress: Progress, *, mock: bool) -> Iterator[WatchedAsker]:
    """The asker of ``library``, initialised and shut down; ``mock``: with the image of ``NVPARITY_IMAGE``.

    Raises MissingError when it cannot be loaded or no driver answers, GateError when the mock does not initialise.
    """
    try:
        nvml = Watched(binding.open_library(library).library, progress)
        code = nvml.init()
        if code:
            said = f"{library}: nvmlInit_v2 answers {RETURN_CODES.get(code, code)}"
            raise GateError(said) if mock else MissingError(f"{said}; is the driver loaded (nvidia-smi) and may you use its devices?")
        try:
            yield WatchedAsker(nvml)
        finally:
            nvml.shutdown()
    except binding.BindingError as error:
        raise MissingError(str(error)) from error


def record(library: str, progress: str, *, mock: bool) -> Recording:
    """Every answer of ``library``; errors as of ``opened``."""
    with opened(library, Progress(progress), mock=mock) as asker:
        return asker.recording()


def asked(task: dict[str, Any]) -> dict[str, Any]:
    """The answer to a task: every answer of its library, as text."""
    return {"answers": answers.dump(record(task["library"], task["progress"], mock=task["mock"]))}


if __name__ == "__main__":
    sys.exit(errand.serve(asked))
