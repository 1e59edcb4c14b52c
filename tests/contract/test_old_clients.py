"""Clients built against older headers: their structs are shorter, and nothing is written past them; texts fit their buffer to the byte."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from mocklib import calls, fields
from mocklib.answers import Asked
from mocklib.binding import Answer
from mocklib.image import FieldValue, Process, Recorded
from tests.contract import boards
from tests.contract.sweep import Guard
from tests.contract.test_getters import ALL, name_of

Serve = Callable[..., Any]
SHORTER = {
    "nvmlDeviceGetPciInfo": 32,  # busId[16], domain, bus, device, pciDeviceId: before the subsystem id of 2.285
    "nvmlDeviceGetPciInfo_v2": 52,  # and pciSubSystemId with four reserved words: before the wide bus id
    "nvmlDeviceGetMemoryInfo": 24,
    "nvmlDeviceGetBAR1MemoryInfo": 24,
    "nvmlDeviceGetUtilizationRates": 8,
    "nvmlDeviceGetGpuFabricInfo": 28,  # clusterUuid[16], status, cliqueId, state in a byte and its padding
}
"""Function -> bytes of its struct in the oldest header that has it."""
ENTRIES = {"": 16, "_v2": 24, "_v3": 24}
"""Suffix of a process list -> bytes of an entry: pid and memory; with the instance ids."""
TEXTS = [
    (name, arguments, outs)
    for name, arguments, outs in ALL
    if any(param == next(iter(outs)) and role == "text" for param, _, role in calls.signatures().FUNCTIONS[name])
]
"""Functions that fill a text buffer."""


@pytest.mark.parametrize("name", sorted(SHORTER))
def test_a_struct_of_the_oldest_header_is_filled_and_nothing_past_it(serve: Serve, name: str) -> None:
    nvml, handle = serve()
    guard = Guard(SHORTER[name])
    address = guard.place(SHORTER[name])
    function = getattr(nvml.library, name)
    struct = nvml.ffi.cast(nvml.ffi.typeof(function).args[1], address)
    assert function(nvml.ffi.cast("nvmlDevice_t", handle), struct) == 0
    assert guard.bytes_at(address, SHORTER[name]) != b"\xa5" * SHORTER[name]


@pytest.mark.parametrize("suffix", sorted(ENTRIES))
@pytest.mark.parametrize("kind", ["Compute", "Graphics", "MPSCompute"])
def test_entries_of_a_process_list_have_the_size_of_their_generation(serve: Serve, kind: str, suffix: str) -> None:
    field = {"Compute": "compute", "Graphics": "graphics", "MPSCompute": "mps"}[kind]
    processes = (Process(4101, 2806 << 20, name="/opt/a"), Process(4102, 3047 << 20, name="/opt/b"))
    nvml, handle = serve(boards.spec(devices=[boards.device() | {f"processes.{field}": FieldValue(processes)}]))
    guard = Guard(2 * ENTRIES[suffix])
    address = guard.place(2 * ENTRIES[suffix])
    function = getattr(nvml.library, f"nvmlDeviceGet{kind}RunningProcesses{suffix}")
    count = nvml.ffi.new("unsigned int *", 2)
    assert function(nvml.ffi.cast("nvmlDevice_t", handle), count, nvml.ffi.cast(nvml.ffi.typeof(function).args[2], address)) == 0
    entries = [guard.bytes_at(address + number * ENTRIES[suffix], ENTRIES[suffix]) for number in range(2)]
    read = [(int.from_bytes(entry[:4], "little"), int.from_bytes(entry[8:16], "little") >> 20) for entry in entries]
    assert (count[0], read) == (2, [(4101, 2806), (4102, 3047)])
    assert {entry[16:] for entry in entries} <= {b"", b"\xff" * 8}


OTHERWISE = [("450.248.02", "MPSCompute", "", 24), ("460.106.00", "MPSCompute", "", 24), ("460.106.00", "Compute", "", 16),
             ("470.256.02", "MPSCompute", "", 16), *(("535.54.03", kind, "_v3", 32) for kind in ("Compute", "Graphics", "MPSCompute")),
             ("535.54.03", "MPSCompute", "_v2", 24), ("535.104.05", "Compute", "_v3", 24)]  # fmt: skip
"""Driver, list, suffix -> bytes of an entry (BL-007; tables/entries.yaml)."""
FULL = {"pid": 4101, "usedGpuMemory": 5 << 20, "gpuInstanceId": 1, "computeInstanceId": 2, "usedGpuCcProtectedMemory": 3 << 20}
PLAIN = {"pid": 4102, "usedGpuMemory": 6 << 20, "gpuInstanceId": 0xFFFFFFFF, "computeInstanceId": 0xFFFFFFFF, "usedGpuCcProtectedMemory": 0}


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(("driver", "kind", "suffix", "size"), OTHERWISE)
def test_entries_of_a_process_list_have_the_size_that_the_driver_gives_them(
    serve: Serve, driver: str, kind: str, suffix: str, size: int, recorded: bool
) -> None:
    """Read from a buffer that ends at a page without access, and by the binding; from the fields and as they were recorded."""
    name = f"nvmlDeviceGet{kind}RunningProcesses{suffix}"
    entries = [dict(list(entry.items())[: {16: 2, 24: 4, 32: 5}[size]]) for entry in (FULL, PLAIN)]
    processes = (Process(4101, 5 << 20, 1, 2, 3 << 20, "/opt/a"), Process(4102, 6 << 20, name="/opt/b"))
    field = {"Compute": "compute", "Graphics": "graphics", "MPSCompute": "mps"}[kind]
    answers = [Recorded(Asked(name, 0), Answer(0, {"infoCount": 2, "infos": entries}))] if recorded else []
    system = {"system.driver_version": FieldValue(driver)}
    device = boards.device() | {f"processes.{field}": FieldValue(() if recorded else processes)}
    given = fields.entries(tuple(map(int, driver.split("."))))
    nvml, handle = serve(boards.spec(system=system, devices=[device], entries=given, answers=tuple(answers)))
    guard = Guard(2 * size)
    address = guard.place(2 * size)
    function = getattr(nvml.library, name)
    count = nvml.ffi.new("unsigned int *", 2)
    assert function(nvml.ffi.cast("nvmlDevice_t", handle), count, nvml.ffi.cast(nvml.ffi.typeof(function).args[2], address)) == 0
    packed = [struct.pack("<IxxxxQIIQ", *entry.values())[:size] for entry in (FULL, PLAIN)]
    found = guard.bytes_at(address, 2 * size)
    padded = [entry[:4] + found[4 + at * size : 8 + at * size] + entry[8:] for at, entry in enumerate(packed)]  # nvml.h pads a pid to 8 bytes
    assert found == b"".join(padded)
    assert nvml.call(name, handle).out == {"infoCount": 2, "infos": entries}


def test_a_list_whose_entries_were_once_wider_has_room_for_them_whatever_the_driver_says() -> None:
    """A driver that does not say its version may write any of its entries."""
    made = calls.Call(calls.ffi(), "nvmlDeviceGetMPSComputeRunningProcesses", None, {})
    made.once(lambda _device, _count, _infos: 0, 3, 3)
    assert calls.ffi().sizeof(made.rows[0].array) >= 3 * 24
    for name in fields.entry_changes():
        item = next(kind.rstrip(" *") for _, kind, role in calls.signatures().FUNCTIONS[name] if role == "list")
        widest = max(calls.ffi().sizeof(struct) for _, struct in fields.entry_changes()[name] if struct)
        assert widest <= calls.SPARE * calls.ffi().sizeof(item)


def test_the_event_struct_of_the_first_wait_is_left_alone(serve: Serve) -> None:
    nvml, _ = serve()
    event_set = nvml.call("nvmlEventSetCreate").out["set"]
    guard = Guard(24)
    address = guard.place(24)
    for wait in (nvml.library.nvmlEventSetWait, nvml.library.nvmlEventSetWait_v2):
        assert wait(nvml.ffi.cast("nvmlEventSet_t", event_set), nvml.ffi.cast("nvmlEventData_t *", address), 0) == 10
    assert guard.bytes_at(address, 24) == b"\xa5" * 24


@pytest.mark.parametrize(("name", "arguments", "outs"), TEXTS, ids=name_of)
def test_a_text_takes_exactly_its_length_and_its_end(serve: Serve, name: str, arguments: dict[str, Any], outs: dict[str, str]) -> None:
    nvml, handle = serve()
    ((path, field),) = outs.items()
    text = str(boards.device()[field].value).encode()
    function = getattr(nvml.library, name)
    params = [param for param, _, _ in calls.signatures().FUNCTIONS[name]]
    for size, code in ((len(text) + 1, 0), (len(text), 7), (1, 7), (0, 7)):
        guard = Guard(max(size, 1))
        address = guard.place(size)
        given = {**arguments, "device": nvml.ffi.cast("nvmlDevice_t", handle), path: nvml.ffi.cast("char *", address), "length": size}
        assert function(*(given[param] for param in params)) == code
        assert guard.bytes_at(address, size) == (text + b"\0" if code == 0 else b"\xa5" * size)


def test_there_are_texts_to_try() -> None:
    assert len(TEXTS) > 5
