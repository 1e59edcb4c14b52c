"""The child side of ``replaying``: reads a task from standard input, asks the library every getter of the list, writes the answer file.

Imports no store, no profile schema and no XML parser.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from harness.text import answers
from harness.words.errors import GateError, MissingError, NvparityError
from mocklib import binding
from mocklib.answers import RETURN_CODES, Recording
from mocklib.asking import ask

WIDTH = 256
"""Bytes of the progress file: what is asked now, cut."""


class Watched(binding.Nvml):
    """The library with each call told to the progress file before it is made: a call that never comes back is known by name."""

    def __init__(self, library: Any, progress: str) -> None:
        super().__init__(library)
        self._progress = os.open(progress, os.O_WRONLY)

    def call(self, name: str, device: int | None = None, arguments: dict[str, Any] | None = None) -> binding.Answer:
        """Tell, then call."""
        self._tell(name, device, arguments or "")
        return super().call(name, device, arguments)

    def field_values(self, device: int, wanted: list[tuple[int, int]]) -> list[binding.FieldAnswer]:
        """Tell, then ask the batch."""
        self._tell("nvmlDeviceGetFieldValues", device, wanted)
        return super().field_values(device, wanted)

    def _tell(self, name: str, device: int | None, arguments: object) -> None:
        of = "" if device is None else f" of handle {device:#x}"
        os.pwrite(self._progress, f"{name}{of} {arguments}".rstrip().encode()[:WIDTH].ljust(WIDTH, b"\0"), 0)


def record(library: str, progress: str, *, mock: bool) -> Recording:
    """Every answer of ``library``; ``mock``: with the image of ``NVPARITY_IMAGE``.

    Raises MissingError when it cannot be loaded or no driver answers, GateError when the mock does not initialise.
    """
    try:
        nvml = Watched(binding.open_library(library).library, progress)
    except binding.BindingError as error:
        raise MissingError(str(error)) from error
    code = nvml.init()
    if code:
        said = f"{library}: nvmlInit_v2 answers {RETURN_CODES.get(code, code)}"
        raise GateError(said) if mock else MissingError(f"{said}; is the driver loaded (nvidia-smi) and may you use its devices?")
    try:
        return ask(nvml)
    finally:
        nvml.shutdown()


def main() -> int:
    """Ask; 0 whether it succeeded or was refused, the answer says which."""
    task = json.load(sys.stdin)
    try:
        answer: dict[str, Any] = {"answers": answers.dump(record(task["library"], task["progress"], mock=task["mock"]))}
    except NvparityError as error:
        answer = {"error": str(error), "status": error.exit_status}
    Path(task["answer"]).write_text(json.dumps(answer), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
