"""What a process is given to run on a device, and which groups of devices cannot be one: the ledger's rows DM15 to DM17."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.discovery import classes
from harness.discovery.model import Gpu
from harness.text import listing, quoting
from harness.words.errors import InputError

VISIBLE = "CUDA_VISIBLE_DEVICES"
_UUID = re.compile(r"[A-Za-z0-9/_.:-]+")
"""Characters of a UUID in every driver's spelling; the value may end up in a shell's hands."""
ONE = "a process opens one MIG instance, and instances have no NVLink or peer access between them"


def refusals(gpu_class: str, *, tensor_parallel: int = 1, pipeline_parallel: int = 1, gpus: int = 1, nodes: int = 1) -> list[str]:
    """Why a replica of that shape cannot run on devices of ``gpu_class``, one line for each number over 1; empty where it can.

    For a catalogue and a placement alike: both are to ask.  A class of cards is never refused here.
    """
    if not classes.is_instance_class(gpu_class):
        return []
    shape = {"tensor_parallel": tensor_parallel, "pipeline_parallel": pipeline_parallel, "gpus": gpus, "nodes": nodes}
    return [f"{name} is {number}, and {gpu_class} takes 1: {ONE}" for name, number in shape.items() if number > 1]


def offers(gpu_class: str, count: int) -> list[int]:
    """How many of ``count`` free devices of ``gpu_class`` one replica may get: of instances one or none, of cards every number up to all."""
    return list(range(1, (min(count, 1) if classes.is_instance_class(gpu_class) else count) + 1))


def variables(gpus: Sequence[Gpu]) -> dict[str, str]:
    """The environment that makes ``gpus`` visible to a process: the UUID of an instance as the driver spells it, before R470
    ``MIG-GPU-<uuid>/<gi>/<ci>``; of several cards each UUID.

    An instance gets no variable for Vulkan, which cannot address it.  Raises InputError for a group that holds an instance, a device that has a
    problem, one without UUID, and none.
    """
    if not gpus:
        raise InputError("no device: name one by its index, as nvparity discover lists it")
    twice = next((gpu for place, gpu in enumerate(gpus) if gpu in gpus[:place]), None)
    if twice is not None:
        raise InputError(f"{twice.label} is named twice; a process sees a device once")
    grouped = [gpu for gpu in gpus if gpu.is_mig]
    if grouped and len(gpus) > 1:
        raise InputError(f"{', '.join(gpu.label for gpu in gpus)} cannot be one group: {ONE}; name {grouped[0].label} alone")
    for gpu in gpus:
        if not gpu.placeable:
            raise InputError(f"{gpu.label} cannot be used: {'; '.join(gpu.health.problems)}")
        if not gpu.uuid:
            raise InputError(f"{gpu.label} has no UUID in what nvidia-smi printed, so it cannot be given to a process")
        if listing.is_masked(gpu.uuid):
            raise InputError(f"{gpu.label}: its UUID is hidden ({gpu.uuid}) by whoever gave the text; read the node itself, or an unedited text")
        if not _UUID.fullmatch(gpu.uuid):
            raise InputError(f"{gpu.label}: {quoting.quote(gpu.uuid)} is no UUID that a driver gives; read the node itself")
    return {VISIBLE: ",".join(gpu.uuid for gpu in gpus)}
