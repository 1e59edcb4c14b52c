"""Samples of the private table, which pmon asks for: their size, shares, room, and what is left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness.stages import compile as compiling
from harness.stores import profiles
from harness.tables import drivers
from mocklib.image import FieldValue, Slot
from tests.contract import boards

Serve = Callable[..., Any]
USES = (7, 75, 40, 0, 1, 9, 0, 0, 60, 30)
SIZES = {"process_samples": 488, "process_samples_four": 328}
NUMBER = 145
TABLE_ID = bytes.fromhex("c4fe3e6cc98f6c4ea327ee696e12f7c4")
CANARY = b"\xa5"


def board(shape: str, value: FieldValue) -> Any:
    return boards.spec(devices=[boards.device(0, processes__utilization=value)], slots=[Slot(NUMBER, shape, "processes.utilization")])


def entry_of(nvml: Any, number: int) -> Any:
    """The function of a slot, as it takes five arguments."""
    table = nvml.ffi.new("void **")
    assert nvml.library.nvmlInternalGetExportTable(table, nvml.ffi.from_buffer(TABLE_ID)) == 0
    return nvml.ffi.cast("int (*)(void *, void *, void *, void *, void *)", nvml.ffi.cast("uintptr_t *", table[0])[number])


def asked(nvml: Any, handle: int, capacity: int, size: int) -> tuple[int, int, bytes, bytes]:
    """Code, count, the whole buffer (longer by one sample) and the third argument's word, both 0xA5 before."""
    room = nvml.ffi.new("unsigned char[]", CANARY * (capacity + 1) * size)
    third, count = nvml.ffi.new("unsigned char[]", CANARY * 4), nvml.ffi.new("unsigned int *", capacity)
    since = nvml.ffi.cast("void *", boards.AT_NS // 1000 + 1)
    code = entry_of(nvml, NUMBER)(nvml.ffi.cast("void *", handle), since, third, count, room)
    return int(code), int(count[0]), bytes(nvml.ffi.buffer(room))[: (capacity + 1) * size], bytes(nvml.ffi.buffer(third))[:4]


@pytest.mark.parametrize("shape", SIZES)
def test_a_sample_a_process_whose_shares_are_its_use_times_the_number_of_samples(serve: Serve, shape: str) -> None:
    """nvidia-smi adds a process's shares up and divides by the number of samples; engines that no key names belong to no process."""
    nvml, handle = serve(board(shape, FieldValue(USES)))
    idle = {"jpg": (0, 0), "ofa": (0, 0)} if shape == "process_samples" else {}
    assert nvml.slot(handle, NUMBER, shape).out["value"] == [
        {"sm": (7, 150), "mem": (7, 80), "enc": (7, 0), "dec": (7, 2), **idle},
        {"sm": (9, 0), "mem": (9, 0), "enc": (9, 120), "dec": (9, 60), **idle},
    ]


@pytest.mark.parametrize(("shape", "size"), SIZES.items())
def test_nothing_is_written_but_the_count_and_its_samples(serve: Serve, shape: str, size: int) -> None:
    nvml, handle = serve(board(shape, FieldValue(USES)))
    code, count, room, third = asked(nvml, handle, 2, size)
    assert (code, count, third, room[2 * size :]) == (0, 2, CANARY * 4, CANARY * size)
    assert int.from_bytes(room[size : size + 8], "little") == boards.AT_NS // 1000
    assert CANARY not in room[: 2 * size]


@pytest.mark.parametrize(("shape", "size"), SIZES.items())
def test_samples_are_cut_at_the_room_there_is(serve: Serve, shape: str, size: int) -> None:
    nvml, handle = serve(board(shape, FieldValue(USES)))
    code, count, room, _ = asked(nvml, handle, 1, size)
    assert (code, count, room[size:]) == (0, 1, CANARY * size)
    assert int.from_bytes(room[8:12], "little") == 75


@pytest.mark.parametrize("status", [3, 4, 15, 999])
def test_uses_that_are_not_known_are_no_samples_and_never_a_code(serve: Serve, status: int) -> None:
    """Any code but SUCCESS and NOT_FOUND makes nvidia-smi 390 and 418 read on in a list that nobody filled."""
    nvml, handle = serve(board("process_samples_four", FieldValue(status=status)))
    assert asked(nvml, handle, 2, 328) == (0, 0, CANARY * 3 * 328, CANARY * 4)


def test_a_sample_without_a_place_is_refused(serve: Serve) -> None:
    nvml, handle = serve(board("process_samples", FieldValue(USES)))
    count, null = nvml.ffi.new("unsigned int *", 2), nvml.ffi.NULL
    slot = entry_of(nvml, NUMBER)
    assert slot(nvml.ffi.cast("void *", handle), null, null, count, null) == 2
    assert slot(nvml.ffi.cast("void *", handle), null, null, null, count) == 2
    assert slot(null, null, null, count, count) == 2


def test_a_link_that_nobody_knows_is_a_number_of_no_link(serve: Serve) -> None:
    """Nothing written would be printed as the first kind of link there is."""
    nvml, _ = serve(boards.spec(slots=[Slot(23, "topology_pair")]))
    link, record = nvml.ffi.new("unsigned int *", 7), nvml.ffi.new("unsigned char[]", CANARY * 128)
    assert entry_of(nvml, 23)(record, record, link, nvml.ffi.NULL, nvml.ffi.NULL) == 0
    assert (link[0], bytes(nvml.ffi.buffer(record))[:128]) == (0xFFFFFFFF, CANARY * 128)
    assert entry_of(nvml, 23)(record, record, *[nvml.ffi.NULL] * 3) == 2


MEASURED = ("470.256.02", "525.147.05", "535.274.02", "550.163.01", "555.58.02")


@pytest.mark.parametrize("version", MEASURED)
def test_slots_outside_a_drivers_table_leave_every_argument_alone(serve: Serve, version: str) -> None:
    """Ledger PI23: a number where a pointer is looked for crashes a library that writes through it."""
    text = f'version: "1.0"\nsystem: {{driver_version: "{version}", num_devices: 1}}\ndevice_defaults: {{name: Board}}\n'
    driver = drivers.load().resolve(version)
    nvml, handle = serve(compiling.compile_profile(profiles.parse(text.encode(), "board"), driver))
    canary = nvml.ffi.new("unsigned char[]", CANARY * 8192)
    unknown = sorted(set(range(1, 512)) - {slot.number for slot in driver.slots.values()})
    device, number = nvml.ffi.cast("void *", handle), nvml.ffi.cast("void *", 1)
    codes = {entry_of(nvml, slot)(device, *[given] * 4) for slot in unknown for given in (canary, number)}
    assert codes == {3}
    assert bytes(nvml.ffi.buffer(canary))[:8192] == CANARY * 8192
