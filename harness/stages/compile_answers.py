"""Residual answers of a profile as the image serves them; what a call cannot be asked, or cannot answer, is refused where it stands."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from harness.words.errors import InputError
from mocklib import recorded as packing
from mocklib.answers import Asked, Gpu
from mocklib.calls import signatures
from mocklib.image import ImageError, ImageSpec, Recorded

if TYPE_CHECKING:
    from harness.stores.profiles import Profile
    from harness.stores.schema.answers import Residual
    from harness.tables.drivers import Driver
    from mocklib.binding import Answer


def recorded(profile: Profile) -> tuple[Recorded, ...]:
    """The answers of the node, then those of each device by its place in the image.

    Raises InputError with the place of a call in the wrong block, or of a GPU that the profile has not.
    """
    found = [_one(profile, answer, None) for answer in profile.answers]
    for place, device in enumerate(profile.devices):
        found += [_one(profile, answer, place) for answer in device.answers]
    return tuple(found)


def refused(profile: Profile) -> str | None:
    """What is wrong with the first answer that cannot be served by itself, and where it stands; None where each can."""
    blocks = [(None, profile.answers), *((place, device.answers) for place, device in enumerate(profile.devices))]
    for gpu, held in blocks:
        for residual in held:
            try:
                packing.pack(ImageSpec(devices=[{} for _ in profile.devices], answers=(_one(profile, residual, gpu),)))
            except ImageError as error:
                return f"{residual.where}: {error}"
    return None


def carried(asked: Asked, answer: Answer, driver: Driver, gates: Collection[str]) -> bool:
    """Whether an answer that was recorded on another driver is given on ``driver``, too: where that has the function (it is none of its ``gates``),
    and no field id past the largest of its tables.

    That a library has no such function, or no such version of its struct, is said of that library alone, and so is which driver it is.
    """
    if answer.missing or answer.code in _OF_LIBRARY or asked.function in gates or asked.function in _OF_DRIVER:
        return False
    number = dict(asked.arguments).get("fieldId")
    return not isinstance(number, int) or number <= max(driver.field_ids.values(), default=0)


_OF_DRIVER = frozenset(("nvmlSystemGetDriverVersion", "nvmlSystemGetNVMLVersion", "nvmlSystemGetDriverBranch"))
"""Calls that answer which driver it is."""
_OF_LIBRARY = (13, 25)
"""FUNCTION_NOT_FOUND, ARGUMENT_VERSION_MISMATCH."""


def _one(profile: Profile, residual: Residual, gpu: int | None) -> Recorded:
    function = residual.asked.function
    of_gpu = any(role == "device" for _, _, role in signatures().FUNCTIONS.get(function, ()))
    if of_gpu and gpu is None and not residual.answer.missing:  # that a symbol is missing is said of the node, whoever is asked
        raise InputError(f"{residual.where}: {function} is asked of a GPU: it stands in device_defaults or in an entry of devices")
    if not of_gpu and gpu is not None:
        raise InputError(f"{residual.where}: {function} is asked of the node: it stands in answers at top level")
    for index in _gpus([value for _, value in residual.asked.arguments] + list(residual.answer.out.values())):
        if index >= len(profile.devices):
            raise InputError(f"{residual.where}: GPU {index} of a profile of {len(profile.devices)}")
    return Recorded(Asked(function, gpu, residual.asked.arguments), residual.answer)


def _gpus(value: Any) -> Iterator[int]:
    """The GPUs whose handles are in a value."""
    if isinstance(value, Gpu):
        yield value.index
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _gpus(item)
    elif isinstance(value, dict):
        yield from _gpus(list(value.values()))
