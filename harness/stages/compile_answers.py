"""Residual answers of a profile as the image serves them; what a call cannot be asked, or cannot answer, is refused where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from harness.words.errors import InputError
from mocklib import recorded as packing
from mocklib.answers import Asked, Gpu
from mocklib.calls import signatures
from mocklib.image import ImageError, ImageSpec, Recorded

if TYPE_CHECKING:
    from harness.stores.profiles import Profile
    from harness.stores.schema.answers import Residual


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
