"""What one answer says of one field of the image, and which values a field can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.stages import compile_device
from mocklib import fields

if TYPE_CHECKING:
    from mocklib.answers import Asked


@dataclass(frozen=True)
class Told:
    """What the call ``asked`` says of the field ``name``: ``code`` (nvmlReturn_t), else the image's ``value`` in NVML's unit.

    ``shared``: the code is that of a call that reads several fields, and nothing else says which of them has it.
    """

    name: str
    asked: Asked
    value: Any = None
    code: int = 0
    shared: bool = False


@dataclass(frozen=True)
class Refusal:
    """A call that reads the fields ``names`` and answered ``code``: one of them has it."""

    asked: Asked
    code: int
    names: tuple[str, ...]


def holds(name: str, value: Any) -> bool:
    """Whether the field can hold ``value`` as it came from a call (numbers, text, bytes); what is of another type or width says nothing."""
    definition = fields.device_fields().get(name) or fields.system_fields().get(name)
    if definition is None or isinstance(value, bool):
        return False
    if definition.type in fields.NUMBERS:
        return isinstance(value, int) and compile_device.fits(definition, value)
    wanted = {"string": str, "bytes": bytes}.get(definition.type)
    return wanted is None or isinstance(value, wanted)
