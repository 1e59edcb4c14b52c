"""The answers document of DCGM's NVML injection: what reading and writing one gives, and how a file is known to be one."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from mocklib.answers import Recording

FUNCTION_RETURN, RETURN_VALUE = "FunctionReturn", "ReturnValue"
DEVICE_ORDER = "DeviceOrder"
MISSING = "the library lacks the symbol, which the document cannot tell from an answer"
"""Why a missing symbol is not in a document."""
_SECTION = re.compile(rb"^(?:Global|Device|MigDevice|GPUInstance|ComputeInstance|ExcludedDevice)[ \t]*:", re.MULTILINE)
_RETURN = re.compile(rb"\bFunctionReturn[\"']?[ \t]*:")


@dataclass(frozen=True)
class Left:
    """Something that was not kept: ``what`` (a section with its key), at ``line`` of the document (0: not of a line), and ``why``."""

    what: str
    why: str
    line: int = 0


@dataclass(frozen=True)
class Read:
    """What a document says: the ``recording`` of exactly its calls, the ``uuids`` of its GPUs by index, ``notes`` on how it was read, and what was
    not kept (``left``).
    """

    recording: Recording
    uuids: tuple[str, ...]
    notes: tuple[str, ...] = ()
    left: tuple[Left, ...] = ()


@dataclass(frozen=True)
class Written:
    """A document: its ``text``, how many answers are in it (``kept``), and which of the recording are not (``left``)."""

    text: str
    kept: int
    left: tuple[Left, ...] = ()


def is_one(data: bytes) -> bool:
    """Whether the bytes of a file are such a document, whole or damaged: told by the names that no other YAML has together."""
    return _SECTION.search(data) is not None and _RETURN.search(data) is not None


def summary(left: tuple[Left, ...]) -> dict[str, Counter[str]]:
    """Why -> what -> how often, in the order of the first of each."""
    found: dict[str, Counter[str]] = {}
    for one in left:
        found.setdefault(one.why, Counter())[one.what] += 1
    return found
