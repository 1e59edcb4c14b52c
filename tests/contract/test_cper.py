"""Error records: one for each failure that was injected, in UEFI's format, handed out from a cursor on."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mocklib import state
from tests.contract import boards
from tests.contract.test_events import made, waited
from tests.contract.test_failing import ECC, FALLEN, LOST, failing, node, temperature

Serve = Callable[..., Any]
INVALID, TOO_SMALL = 2, 7
LOST_SIZE, MEMORY_SIZE = 128 + 72 + 64, 128 + 72 + 80
MEMORY_SECTION = uuid.UUID("a5bc1114-6f64-4ede-b863-3e83ed7c83b1")
"""UEFI specification, N.2.5."""


@pytest.fixture
def state_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "run.state"
    monkeypatch.setenv("MOCK_NVML_STATE", str(path))
    return path


@dataclass
class Reader:
    """Asks with one cursor, as a client does."""

    nvml: Any

    def __post_init__(self) -> None:
        self.request = self.nvml.ffi.new("nvmlGetCPER_v1_t *")
        self.request.cursor.cperTypeMask = 1

    def ask(self, room: int | None = 4096) -> tuple[int, int, bytes]:
        """Code, size and what was written; no buffer for None."""
        buffer = self.nvml.ffi.new("unsigned char[]", max(room or 0, 1))
        self.request.buffer = self.nvml.ffi.NULL if room is None else buffer
        self.request.bufferSize = room or 0
        code = self.nvml.library.nvmlSystemGetCPER_v1(self.request)
        size = int(self.request.bufferSize)
        return int(code), size, bytes(self.nvml.ffi.buffer(buffer, size)) if code == 0 and size else b""


@dataclass(frozen=True)
class Record:
    """One record taken apart by the specification's offsets."""

    severity: int
    length: int
    stamp: bytes
    creator: uuid.UUID
    number: int
    flags: int
    section_kind: uuid.UUID
    section_severity: int
    section: bytes


def taken_apart(data: bytes) -> list[Record]:
    found = []
    while data:
        signature, revision, end, sections, severity, valid, length, stamp = struct.unpack_from("<4sHIHIII8s", data)
        assert (signature, revision, end, sections, valid) == (b"CPER", 0x0101, 0xFFFFFFFF, 1, 2)
        number, flags = struct.unpack_from("<QI", data, 96)
        place, size = struct.unpack_from("<II", data, 128)
        kind, section_severity = uuid.UUID(bytes_le=data[144:160]), struct.unpack_from("<I", data, 176)[0]
        creator = uuid.UUID(bytes_le=data[64:80])
        assert place + size == length
        found.append(Record(severity, length, stamp, creator, number, flags, kind, section_severity, data[place : place + size]))
        data = data[length:]
    return found


@pytest.mark.spec("V20", "V21")
@pytest.mark.parametrize("mode", [LOST, FALLEN])
def test_a_loss_is_one_fatal_simulated_record_of_its_own_section(mode: int, serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(node(failing(mode, after=2, xid=79)))
    board, reader = nvml.call("nvmlDeviceGetBoardId", handle).out["boardId"], Reader(nvml)
    assert temperature(nvml, handle) == 0
    assert reader.ask() == (0, 0, b"")
    assert temperature(nvml, handle) == 15
    code, size, data = reader.ask()
    (record,) = taken_apart(data)
    assert (code, size, record.length, record.severity, record.section_severity, record.flags) == (0, LOST_SIZE, LOST_SIZE, 1, 1, 4)
    assert {str(record.creator)[:8], str(record.section_kind)[:8]} == {"4d4f434b"}
    assert record.creator != record.section_kind
    assert struct.unpack_from("<III", record.section) == (79, board, mode)
    assert record.section[16:].rstrip(b"\0").decode() == boards.UUID.format(0)
    assert record.stamp.hex() == "2013220114112320"  # 2023-11-14 22:13:20, precise
    assert reader.ask() == (0, 0, b"")


@pytest.mark.spec("V21")
def test_uncorrectable_errors_are_a_memory_section(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(node(failing(ECC)))
    assert temperature(nvml, handle) == 0
    (record,) = taken_apart(Reader(nvml).ask()[2])
    assert (record.length, record.severity, record.section_kind) == (MEMORY_SIZE, 1, MEMORY_SECTION)
    assert (struct.unpack_from("<Q", record.section)[0], record.section[72]) == (1 << 14, 3)  # the type is valid: multi-bit


@pytest.mark.spec("V20")
def test_records_are_whole_and_the_cursor_goes_on_behind_the_last(serve: Serve, state_path: Path) -> None:
    nvml, _ = serve(node(failing(LOST), failing(ECC), failing(LOST)))
    for handle in [nvml.device(index) for index in range(3)]:
        temperature(nvml, handle)
    whole = LOST_SIZE * 2 + MEMORY_SIZE
    reader = Reader(nvml)
    assert reader.ask(None) == (TOO_SMALL, whole, b"")
    assert reader.ask(LOST_SIZE - 1) == (TOO_SMALL, whole, b"")
    assert reader.ask(0) == (TOO_SMALL, whole, b"")
    first = reader.ask(LOST_SIZE + 10)
    assert first[:2] == (0, LOST_SIZE)
    assert reader.ask(None) == (TOO_SMALL, whole - LOST_SIZE, b"")
    rest = reader.ask()
    assert [record.length for record in taken_apart(rest[2])] == [MEMORY_SIZE, LOST_SIZE]
    assert [record.number for record in taken_apart(first[2] + rest[2])] == sorted({record.number for record in taken_apart(first[2] + rest[2])})
    assert reader.ask(None) == (0, 0, b"")
    reader.request.cursor.handle = 0
    assert reader.ask()[:2] == (0, whole)


@pytest.mark.spec("V20")
def test_a_filter_by_type_and_by_uuid(serve: Serve, state_path: Path) -> None:
    nvml, _ = serve(node(failing(LOST), failing(ECC)))
    for handle in [nvml.device(index) for index in range(2)]:
        temperature(nvml, handle)
    reader = Reader(nvml)
    reader.request.cursor.cperTypeMask = 0xFE
    assert reader.ask() == (0, 0, b"")
    for named, sizes in ((boards.UUID.format(1), [MEMORY_SIZE]), (boards.UUID.format(0), [LOST_SIZE]), ("GPU-none", [])):
        reader = Reader(nvml)
        reader.request.cursor.uuid = named.encode()
        assert [record.length for record in taken_apart(reader.ask()[2])] == sizes
    reader.request.cursor.uuid = b"x" * len(reader.request.cursor.uuid)  # no NUL in it
    assert reader.ask() == (0, 0, b"")


@pytest.mark.spec("V20")
def test_the_128_newest_are_kept(serve: Serve, state_path: Path) -> None:
    nvml, _ = serve(node(*[failing(LOST, xid=79) for _ in range(140)]))
    for handle in [nvml.device(index) for index in range(140)]:
        temperature(nvml, handle)
    records = taken_apart(Reader(nvml).ask(1 << 20)[2])
    assert len(records) == 128
    assert [record.section[16:56].decode() for record in records] == [boards.UUID.format(number) for number in range(12, 140)]


@pytest.mark.spec("V22")
def test_reading_takes_no_xid_from_an_event_set(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(node(failing(LOST, xid=79)))
    events = made(nvml, handle)
    temperature(nvml, handle)
    assert Reader(nvml).ask()[1] == LOST_SIZE
    assert waited(nvml, events)[2] == 79


@pytest.mark.spec("V23")
def test_a_gpu_declared_lost_has_its_record_before_any_call_and_but_one(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(node(failing(LOST, xid=79), failing(LOST, after=5)))
    reader = Reader(nvml)
    assert reader.ask()[:2] == (0, LOST_SIZE)
    assert nvml.call("nvmlDeviceGetName", handle).code == 0  # told of, not tripped: V04
    assert temperature(nvml, handle) == 15
    assert reader.ask() == (0, 0, b"")
    state.override(state_path, 1, failing(LOST))
    assert reader.ask()[:2] == (0, LOST_SIZE)


def test_arguments_are_checked(serve: Serve, state_path: Path) -> None:
    nvml, _ = serve(node(failing(LOST)))
    assert nvml.library.nvmlSystemGetCPER_v1(nvml.ffi.NULL) == INVALID
    reader = Reader(nvml)
    reader.request.bufferSize = 10
    assert nvml.library.nvmlSystemGetCPER_v1(reader.request) == INVALID
    reader.request.cursor.handle = 1 << 63
    assert reader.ask() == (0, 0, b"")
