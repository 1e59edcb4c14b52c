"""Processes: entries of the right size, in order, by the count protocol."""

from __future__ import annotations

import re

import pytest

from mocklib.binding import Nvml
from tests.cases.boards import A100, T4, process, put, text_of
from tests.cases.conftest import Ask, On, Take

MIB = 1 << 20
NONE = 0xFFFFFFFF
CALL = "nvmlDeviceGetComputeRunningProcesses"
TWO = [process(4101, "/opt/a", "2806 MiB"), process(4102, "/opt/b", "3047 MiB")]


def asked(nvml: Nvml, device: int, name: str, room: int, struct: str) -> tuple[int, int, bytes]:
    """Code, count and the whole buffer of a call with ``room`` for entries; the buffer was 0xA5 before, and is longer by one entry."""
    ffi = nvml.ffi
    entries = ffi.new(f"{struct}[{room + 1}]")
    whole = ffi.buffer(entries)
    whole[:] = b"\xa5" * len(whole)
    count = ffi.new("unsigned int *", room)
    function = nvml.function(name)
    code = function(ffi.cast("nvmlDevice_t", device), count, ffi.cast(ffi.typeof(function).args[2], entries) if room else ffi.NULL)
    return int(code), int(count[0]), bytes(whole)


@pytest.mark.parametrize(
    ("driver", "name", "struct", "size"),
    [
        ("550.163.01", CALL, "nvmlProcessInfo_v1_t", 16),
        ("550.163.01", f"{CALL}_v2", "nvmlProcessInfo_v2_t", 24),
        ("550.163.01", f"{CALL}_v3", "nvmlProcessInfo_v2_t", 24),
        ("535.54.03", f"{CALL}_v3", "nvmlProcessDetail_v1_t", 32),
    ],
)
def test_entries_have_the_size_of_their_generation(driver: str, name: str, struct: str, size: int, take: Take, ask: Ask, on: On):
    """BL-007: two processes, so that a wrong stride shows: 16 bytes without suffix, 24 with _v2 and, on 550 as in today's header, _v3, 32 on 535.54.

    That 535.98 has no _v3 is tested of its exports.
    """
    taken = take(put(on(A100, driver), "processes", TWO))
    assert taken.status == 0
    nvml, device = ask(taken)
    assert nvml.ffi.sizeof(struct) == size
    code, count, entries = asked(nvml, device, name, 2, struct)
    assert (code, count) == (0, 2)
    for number, (pid, used) in enumerate(((4101, 2806), (4102, 3047))):
        entry = entries[number * size : (number + 1) * size]
        assert int.from_bytes(entry[:4], "little") == pid
        assert int.from_bytes(entry[8:16], "little") == used * MIB
        assert [int.from_bytes(entry[at : at + 4], "little") for at in range(16, size, 4)] == [NONE, NONE, 0, 0][: (size - 16) // 4]
    assert entries[2 * size :] == b"\xa5" * size


@pytest.mark.spec("R15")
def test_a_probe_says_how_many_and_writes_nothing(take: Take, ask: Ask):
    """BL-035: 0 entries without a buffer, too few, enough."""
    nvml, device = ask(take(put(text_of(A100), "processes", TWO)))
    assert asked(nvml, device, f"{CALL}_v3", 0, "nvmlProcessInfo_v2_t")[:2] == (7, 2)
    code, count, entries = asked(nvml, device, f"{CALL}_v3", 1, "nvmlProcessInfo_v2_t")
    assert (code, count, entries) == (7, 2, b"\xa5" * len(entries))
    code, count, entries = asked(nvml, device, f"{CALL}_v3", 8, "nvmlProcessInfo_v2_t")
    assert (code, count, entries[48:]) == (0, 2, b"\xa5" * len(entries[48:]))


def test_no_process_is_success_and_none(ask: Ask):
    """BL-035."""
    nvml, device = ask(T4)
    for room in (0, 8):
        code, count, entries = asked(nvml, device, f"{CALL}_v3", room, "nvmlProcessInfo_v2_t")
        assert (code, count, entries) == (0, 0, b"\xa5" * len(entries))


def test_supported_clocks_follow_the_same_protocol(ask: Ask):
    """BL-035."""
    nvml, device = ask(T4)
    count = nvml.ffi.new("unsigned int *", 0)
    handle = nvml.ffi.cast("nvmlDevice_t", device)
    assert (nvml.function("nvmlDeviceGetSupportedMemoryClocks")(handle, count, nvml.ffi.NULL), count[0]) == (7, 2)
    count[0] = 0
    assert (nvml.function("nvmlDeviceGetSupportedGraphicsClocks")(handle, 5001, count, nvml.ffi.NULL), count[0]) == (7, 87)


@pytest.mark.parametrize("driver", ["535.274.02", "550.163.01"])
def test_processes_of_every_driver_come_back_in_order(driver: str, take: Take, ask: Ask, on: On):
    """BL-007, through the private list of those branches too, from which the render takes its names."""
    given = put(on(A100, driver), "processes", TWO)
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})
    answer = ask(taken)[0].call(f"{CALL}_v3", ask(taken)[1])
    assert re.findall(r"<pid>(\d+)", taken.rendered()) == ["4101", "4102"]
    assert answer.code == 0


def test_what_a_process_is_called_is_kept_whatever_it_is(take: Take):
    """BL-070 and unescaped names: odd bytes, markup, states and blanks are a name like any other."""
    names = [
        b"/opt/\xff\xfe\x01",
        b"a &lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;",
        b"N/A",
        b" led and trailed ",
        b"[Not Found]",
        "/opt/µ-ж".encode(),
    ]
    odd = [process(100 + number, name.decode("utf-8", "surrogateescape"), "10 MiB", "C+G" if number else "G") for number, name in enumerate(names)]
    given = put(text_of(T4), "processes", odd)
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})


def test_types_are_kept_and_served_by_the_lists_they_name(take: Take, ask: Ask):
    """Each list has the processes whose type names it."""
    kinds = ["C", "G", "C+G", "M+C", "M+C+G"]
    given = put(text_of(A100), "processes", [process(100 + number, f"/opt/{number}", "10 MiB", kind) for number, kind in enumerate(kinds)])
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})
    nvml, device = ask(taken)
    calls = {"C": "Compute", "G": "Graphics", "M": "MPSCompute"}
    listed = {kind: nvml.call(f"nvmlDeviceGet{name}RunningProcesses_v3", device).out["infos"] for kind, name in calls.items()}
    assert {kind: [entry["pid"] for entry in entries] for kind, entries in listed.items()} == {
        kind: [100 + number for number, named in enumerate(kinds) if kind in named.split("+")] for kind in calls
    }
