"""Cards in MIG mode through NVML: the logic, behind the interface of a card and of an instance, so that it runs without a driver.

Source: the discovery document and the ledger's rows DM66 to DM78; `harness.discovery.binding` is the interface over the library.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Protocol

from harness.discovery import classes, combining, numbers, problems
from harness.discovery.blanks import BETWEEN
from harness.discovery.combining import Assess, assess
from harness.discovery.model import Gpu

_NAMED = {compatible: re.compile(rf"MIG[{blank}]+([^{blank}]+)[{blank}]*\Z") for compatible, blank in BETWEEN.items()}


class MigInstance(Protocol):
    """One MIG device handle."""

    def uuid(self) -> str:
        """nvmlDeviceGetUUID, ``""`` where it is not known."""

    def name(self) -> str:
        """nvmlDeviceGetName: ``NVIDIA A100-SXM4-80GB MIG 3g.40gb`` on drivers that name devices."""

    def memory(self) -> tuple[int, int] | None:
        """Total and used memory in MiB (nvmlDeviceGetMemoryInfo), None where the call fails."""

    def instances(self) -> tuple[int, int]:
        """GPU and compute instance (nvmlDeviceGetGpuInstanceId, nvmlDeviceGetComputeInstanceId), UNKNOWN for one that is not known."""

    def attributes(self) -> tuple[int, int] | None:
        """Compute slices and memory in MiB (nvmlDeviceGetAttributes_v2: gpuInstanceSliceCount, memorySizeMB), None where the call fails."""


class MigCard(Protocol):
    """The part of a card's handle that MIG discovery reads."""

    def mig_mode(self) -> tuple[bool, bool] | None:
        """Current and pending mode (nvmlDeviceGetMigMode), None on a card without MIG."""

    def max_mig_devices(self) -> int:
        """nvmlDeviceGetMaxMigDeviceCount, 0 where the call fails."""

    def mig_device(self, index: int) -> MigInstance | None:
        """nvmlDeviceGetMigDeviceHandleByIndex, None for an index that has no instance behind it."""


def expand(card: Gpu, device: MigCard, *, compatible: bool = False, assessed: Assess | None = None) -> tuple[list[Gpu], bool]:
    """What ``card`` is to placement, and whether it is in MIG mode: its instances, or itself, with the reason where it is in MIG mode without any.

    An index without an instance is passed over.  ``assessed`` looks at each instance once its memory is set (default: ``combining.assess``; none in
    compatible mode).
    """
    mode = device.mig_mode()
    if mode is None or not mode[0]:
        return [card], False
    look = assessed or ((lambda gpu: gpu) if compatible else assess)
    most = device.max_mig_devices() if compatible else min(device.max_mig_devices(), numbers.PER_CARD)
    found = [(index, handle) for index in range(most) if (handle := device.mig_device(index)) is not None]
    made = [look(_instance(card, index, handle, compatible=compatible)) for index, handle in found]
    return (made, True) if made else ([combining.with_problem(card, problems.NO_INSTANCES)], True)


def _instance(card: Gpu, index: int, handle: MigInstance, *, compatible: bool) -> Gpu:
    profile = _profile(handle, card, compatible=compatible)
    made = combining.instance_of(card, index, profile, handle.uuid(), compatible=compatible)
    memory = handle.memory()
    if compatible and memory is not None:  # a total of 0 stays 0 there (ledger DM74)
        made = replace(made, memory_total_mb=memory[0], memory_used_mb=memory[1])
    else:
        made = combining.with_memory(made, *(memory or (None, None)), compatible=compatible)
    if made.mig is None:
        return made
    gpu_instance, compute_instance = handle.instances()
    return replace(made, mig=replace(made.mig, gpu_instance=gpu_instance, compute_instance=compute_instance))


def _profile(handle: MigInstance, card: Gpu, *, compatible: bool) -> str:
    """The profile at the end of the handle's name, else of its attributes, else none."""
    if (named := _NAMED[compatible].search(handle.name())) is not None:
        return named[1]
    attributes = handle.attributes()
    return "" if attributes is None else classes.profile_of(*attributes, card.memory_total_mb, compatible=compatible)
