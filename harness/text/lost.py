"""The line that nvidia-smi prints in place of a GPU whose handle it does not get.

    Unable to determine the device handle for gpu 0000:04:00.0: GPU is lost.  Reboot the system to recover this GPU

Measured with binaries 470 to 555: in a list it stands where the GPU's row would, which keeps its number; a query says GPU, from 525 on with no
blank behind it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(r"\s*Unable to determine the device handle for gpu ?(.*?): (.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LostGpu:
    """A GPU without a handle: its PCI ``address`` as the line spells it, and the driver's ``reason``."""

    address: str
    reason: str


def parse(line: str) -> LostGpu | None:
    """The GPU that ``line`` stands for, None for any other line."""
    match = _LINE.fullmatch(line.rstrip())
    return LostGpu(match[1].strip(), match[2].strip()) if match else None
