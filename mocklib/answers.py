"""What was asked of NVML and what came back, as data: the device handles of a call are indices, so that a recording means the same elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from mocklib.binding import Answer


@dataclass(frozen=True, order=True)
class Gpu:
    """A device handle, as an argument or inside an answer: the ``index`` that NVML counts the GPU by."""

    index: int


@dataclass(frozen=True)
class Asked:
    """One call without its answer.

    ``function`` is the name of the exported symbol; ``gpu`` the index of its first device parameter (None: a call of the node); ``arguments`` are the
    inputs but the device, named as the binding names them (``parameter`` or ``parameter.member``), in the header's order.  One entry of
    nvmlDeviceGetFieldValues is one call with the arguments ``fieldId`` and ``scopeId``, answered by ``valueType`` and ``value``.
    """

    function: str
    gpu: int | None = None
    arguments: tuple[tuple[str, int | str | Gpu], ...] = ()


Recording = dict[Asked, Answer]
