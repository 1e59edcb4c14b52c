"""Where an address is refused, its texts are empty: nvidia-smi 535 and newer print them all the same, and would print what lay there before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mocklib.image import FieldValue
from tests.contract import boards

Serve = Callable[..., Any]
CANARY = b"\xa5"


@pytest.mark.parametrize("status", [3, 4, 999])
@pytest.mark.parametrize("refused", ["pci__bus_id", "pci__domain"])
def test_an_address_that_is_refused_is_blank(serve: Serve, status: int, refused: str) -> None:
    nvml, handle = serve(boards.spec(devices=[boards.device(0, **{refused: FieldValue(status=status)})]))
    room = nvml.ffi.new("nvmlPciInfo_t *")
    nvml.ffi.memmove(room, CANARY * nvml.ffi.sizeof("nvmlPciInfo_t"), nvml.ffi.sizeof("nvmlPciInfo_t"))
    assert nvml.library.nvmlDeviceGetPciInfo_v3(nvml.ffi.cast("nvmlDevice_t", handle), room) == status
    assert (nvml.ffi.string(room.busId), nvml.ffi.string(room.busIdLegacy)) == (b"", b"")
    assert bytes(nvml.ffi.buffer(room.busId))[1:] == CANARY * (len(bytes(nvml.ffi.buffer(room.busId))) - 1)
