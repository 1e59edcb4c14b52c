"""What a recording is made of: who was asked what (``Asked``), and what each call gave (``mocklib.binding.Answer``)."""

from __future__ import annotations

from dataclasses import dataclass

from mocklib.binding import Answer

RETURN_CODES = {
    0: "SUCCESS",
    1: "UNINITIALIZED",
    2: "INVALID_ARGUMENT",
    3: "NOT_SUPPORTED",
    4: "NO_PERMISSION",
    5: "ALREADY_INITIALIZED",
    6: "NOT_FOUND",
    7: "INSUFFICIENT_SIZE",
    8: "INSUFFICIENT_POWER",
    9: "DRIVER_NOT_LOADED",
    10: "TIMEOUT",
    11: "IRQ_ISSUE",
    12: "LIBRARY_NOT_FOUND",
    13: "FUNCTION_NOT_FOUND",
    14: "CORRUPTED_INFOROM",
    15: "GPU_IS_LOST",
    16: "RESET_REQUIRED",
    17: "OPERATING_SYSTEM",
    18: "LIB_RM_VERSION_MISMATCH",
    19: "IN_USE",
    20: "MEMORY",
    21: "NO_DATA",
    22: "VGPU_ECC_NOT_SUPPORTED",
    23: "INSUFFICIENT_RESOURCES",
    24: "FREQ_NOT_SUPPORTED",
    25: "ARGUMENT_VERSION_MISMATCH",
    26: "DEPRECATED",
    27: "NOT_READY",
    28: "GPU_NOT_FOUND",
    29: "INVALID_STATE",
    30: "RESET_TYPE_NOT_SUPPORTED",
    999: "UNKNOWN",
}
"""nvmlReturn_t -> its name without NVML_ERROR_ (nvml.h, enum nvmlReturn_enum)."""


@dataclass(frozen=True, order=True)
class Gpu:
    """A device handle, as an argument or inside an answer: the index of the GPU it stands for, as nvmlDeviceGetHandleByIndex counts."""

    index: int


@dataclass(frozen=True)
class Asked:
    """One call: ``function`` is the exported symbol, ``gpu`` the index of its first device parameter (None: a call of the node).

    ``arguments`` are the inputs but that device, named as the binding names them, in the order of the header: ``("type", 0)``,
    ``("platformInfo.version", 1)``, ``("device2", Gpu(1))``.  An entry of nvmlDeviceGetFieldValues is a call of its own, with ``fieldId`` and
    ``scopeId``; its answer is the entry's code and ``valueType`` and ``value`` (the union's bytes where the number is not finite or its type is none
    of nvml.h's).
    """

    function: str
    gpu: int | None = None
    arguments: tuple[tuple[str, int | str | Gpu], ...] = ()


Recording = dict[Asked, Answer]
"""Every call of a recording with its answer, in the order they were asked.  In ``Answer.out`` a handle is ``Gpu(index)`` and a union its bytes."""
