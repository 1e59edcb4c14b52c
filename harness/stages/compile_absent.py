"""GPUs with a state of their own: uncaptured ones, and those whose handle is not given.  Nothing is known of them but what they are known by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.stages import compile_device
from harness.words.state import State
from mocklib import fields
from mocklib.image import Absence, FieldValue

if TYPE_CHECKING:
    from harness.stores.profiles import Device

LOST, NOT_FOUND = 15, 6


def absence(device: Device) -> Absence:
    """What the GPU answers while it is not there.

    An uncaptured one has a handle and everything else is NOT_FOUND; any other answers its state for the handle and GPU_IS_LOST for everything
    else, as a present one does that is lost at run time.
    """
    if device.state is State.UNCAPTURED:
        return Absence(handle=0, reading=NOT_FOUND)
    code = None if device.state is None else device.state.code
    return Absence(LOST if code is None else code, LOST)


def device_fields(device: Device) -> dict[str, FieldValue]:
    """Every field: the code of its absence, but for what the GPU is known by, so that lookups find it."""
    made = compile_device.device_fields(device, 0)
    code = absence(device).reading
    return {name: made[name] if _key(name) in device.values else FieldValue(status=code) for name in fields.device_fields()}


def _key(name: str) -> str:
    """The key that identifies a GPU by the field ``name``; the parts of a PCI address are derived from one key."""
    source = fields.device_fields()[name].source or ""
    return "pci.bus_id" if source.startswith("pci_") else name
