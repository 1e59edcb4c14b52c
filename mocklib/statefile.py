"""The bytes of a state file: how it is laid out, mapped, locked, and made again with more room.  What is written there is decided in ``state``."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mocklib import fields as tables
from mocklib import image, stores
from mocklib.structs import as_bytes, constants, structs

LOCK_WAIT_S = 1.0
PAGE = 4096
FEW = 64
"""Devices whose records get the larger room (src/creating.c says the same)."""
LARGER_ROOM = 1 << 18
SMALLER_ROOM = 1 << 16


class StateError(RuntimeError):
    """A state file cannot be used; the message names it and says what is wrong."""


def rounded(size: int, to: int) -> int:
    """The next multiple of ``to``."""
    return -(-size // to) * to


def capacity_for(largest: int, records: int) -> int:
    """Bytes of a half: the record, the reset record, and what overrides add to both.  Only what is in use takes space on the disk."""
    return rounded(max(LARGER_ROOM, 4 * largest) if records <= FEW + 1 else 3 * largest + SMALLER_ROOM, PAGE)


def lay_out(crc: int, image_size: int, records: int, capacity: int) -> Any:
    """The head of a state: events, counters and records one behind the other."""
    ffi = structs()
    head = ffi.new("struct nvp_state *")
    head.magic, head.format, head.layout = constants()["NVP_STATE_MAGIC"], constants()["NVP_FORMAT"], tables.layout_word()
    head.image_crc, head.image_size, head.record_count, head.capacity = crc, image_size, records, capacity
    head.events = rounded(ffi.sizeof("struct nvp_state"), 64)
    head.counters = rounded(head.events + ffi.sizeof("struct nvp_events"), 64)
    head.first = rounded(head.counters + 8 * records, PAGE)
    head.stride = ffi.sizeof("struct nvp_state_record") + 2 * capacity
    head.size = head.first + records * head.stride
    return head


def write_new(path: Path, head: Any, prefix: bytes, records: list[tuple[int, bytes]]) -> None:
    """A state of these records (generation and bytes) in place of what lies at ``path``, whole, by rename.

    ``prefix`` is what stands between head and records (events, counters).  Every block that a writer stores into is there: on a full disk a store
    into a hole would end it.
    """
    ffi = structs()
    aside = path.with_name(f"{path.name}.new.{os.getpid()}")
    try:
        file = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        try:
            stores.lengthen(file, head.size)
            stores.hold(file, 0, head.first)
            stores.write(file, (as_bytes(head).ljust(head.events, b"\0") + prefix)[: head.first], 0)
            for number, (generation, data) in enumerate(records):
                start = head.first + number * head.stride
                lead = generation.to_bytes(8, "little").ljust(ffi.sizeof("struct nvp_state_record"), b"\0")
                halves = [start + len(lead), start + len(lead) + head.capacity]
                for half in halves:
                    stores.hold(file, half, len(data))
                stores.write(file, lead, start)
                stores.write(file, data, halves[generation & 1])
        finally:
            os.close(file)
        stores.replace(aside, path)
    except OSError as error:
        raise StateError(f"{path}: cannot be written as state: {error}") from error
    finally:
        aside.unlink(missing_ok=True)


class StateFile:
    """A mapped state, checked.  One that is written has its lock held (``locked``)."""

    def __init__(self, path: Path, *, write: bool) -> None:
        self.ffi = structs()
        self.path = path
        self.file = -1
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise StateError(f"{path}: cannot be opened as state: it is no regular file")
        try:
            self.file = os.open(path, (os.O_RDWR if write else os.O_RDONLY) | os.O_CLOEXEC)
            self.map = mmap.mmap(self.file, 0, access=mmap.ACCESS_WRITE if write else mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            if self.file >= 0:
                os.close(self.file)
            raise StateError(f"{path}: cannot be opened as state: {error}") from error
        self.size = len(self.map)
        self.base = self.ffi.from_buffer("unsigned char[]", self.map, require_writable=write)
        self.head = self.ffi.cast("struct nvp_state *", self.base)
        if not self.sound():
            self.close()
            raise StateError(f"{path}: is no state of this version of nvparity; remove it, it is made again")

    def sound(self) -> bool:
        """Whether the head is that of a state whose parts lie within the file."""
        head, known = self.head, constants()
        if self.size < self.ffi.sizeof("struct nvp_state") or head.magic != known["NVP_STATE_MAGIC"] or head.layout != tables.layout_word():
            return False
        stride = self.ffi.sizeof("struct nvp_state_record") + 2 * head.capacity
        inside = bool(head.first + head.record_count * stride <= self.size)
        placed = head.events >= self.ffi.sizeof("struct nvp_state") and head.counters >= head.events + self.ffi.sizeof("struct nvp_events")
        placed = placed and head.events % 64 == 0 and head.counters % 64 == 0 and head.first % 64 == 0
        least = self.ffi.sizeof("struct nvp_record")
        return bool(placed and inside and head.stride == stride and head.first >= head.counters + 8 * head.record_count and head.record_count >= 1
                    and head.capacity >= least and head.capacity % 64 == 0 and head.format == known["NVP_FORMAT"])  # fmt: skip

    def record(self, number: int) -> Any:
        """The head of record ``number``."""
        return self.ffi.cast("struct nvp_state_record *", self.base + (self.head.first + number * self.head.stride))

    def place(self, number: int, generation: int) -> int:
        """Where the half of a record that ``generation`` names starts in the file."""
        start: int = self.head.first + number * self.head.stride + self.ffi.sizeof("struct nvp_state_record")
        return start + (generation & 1) * int(self.head.capacity)

    def half(self, number: int, generation: int) -> bytes:
        """The bytes in use of the half that ``generation`` names."""
        start = self.place(number, generation)
        head = self.ffi.cast("struct nvp_record *", self.base + start)
        used = max(self.ffi.sizeof("struct nvp_record"), head.total if head.reset else head.size)
        return bytes(self.map[start : start + min(used, self.head.capacity)])

    def current(self, number: int) -> tuple[int, bytes]:
        """Generation and bytes of a record, read as the library reads them."""
        while True:
            generation = int(self.record(number).generation)
            data = self.half(number, generation)
            if generation == self.record(number).generation:
                return generation, data

    def publish(self, number: int, data: bytes) -> None:
        """Make ``data`` the record: into the other half, then the generation.  It fits (``grown``)."""
        generation = int(self.record(number).generation)
        start = self.place(number, generation + 1)
        stores.hold(self.file, start, len(data))
        stores.data(self.map, start, data)
        self.put(self.record(number), generation=generation + 1)

    def put(self, place: Any, **members: int) -> None:
        """Numbers into a struct of the state, one after the other."""
        for name, value in members.items():
            stores.number(place, name, value)

    def prefix(self) -> bytes:
        """What stands between head and records: events and counters."""
        return bytes(self.map[self.head.events : self.head.first])

    def close(self) -> None:
        """Let the mapping go."""
        self.ffi.release(self.base)
        self.map.close()
        os.close(self.file)


def grown(opened: StateFile, size: int) -> StateFile:
    """``opened`` where records of ``size`` bytes fit; else the state is made again with room for them, by rename, with everything that is in it.

    Processes that run read the older file until their next nvmlInit or setter: they hold no name of it, and a word that told them would be one more
    load for every reading.  Its records go on being what they were when it was replaced.
    """
    head = opened.head
    if size <= head.capacity:
        return opened
    records = [opened.current(number) for number in range(head.record_count)]
    capacity = rounded(2 * size, PAGE)
    if capacity >= 1 << 32:
        raise StateError(f"{opened.path}: a record of {size} bytes is more than a state can hold")
    made = lay_out(head.image_crc, head.image_size, head.record_count, capacity)
    write_new(opened.path, made, opened.prefix(), records)
    path = opened.path
    opened.close()
    return StateFile(path, write=True)


def create(path: Path, image_bytes: bytes) -> None:
    """Write a fresh state of ``image_bytes`` to ``path``, whole, by rename; processes that use an older one keep it."""
    view = image.read(image_bytes)
    capacity = capacity_for(max(size for _, size in view.records), len(view.records))
    head = lay_out(view.crc, view.size, len(view.records), capacity)
    write_new(path, head, b"", [(0, image_bytes[start : start + size]) for start, size in view.records])


def made_of(path: Path) -> tuple[int, int]:
    """Checksum and size of the image that the state at ``path`` is of; StateError where it is no state."""
    opened = StateFile(path, write=False)
    try:
        return int(opened.head.image_crc), int(opened.head.image_size)
    finally:
        opened.close()


def there(path: Path) -> bool:
    """Whether a state lies at ``path``: one that is empty or half-made is none, and is made anew, as the library does (src/state.c).

    StateError for anything else, which is somebody's: it is left as it is.
    """
    if not os.path.lexists(path) or (path.is_file() and path.stat().st_size == 0):
        return False
    try:
        made_of(path)
    except StateError:
        if _begun(path):
            return False
        raise
    return True


def _begun(path: Path) -> bool:
    """Whether a file begins as a state does."""
    magic = int(constants()["NVP_STATE_MAGIC"]).to_bytes(8, sys.byteorder)
    if not path.is_file():  # to open a pipe is to wait for who writes it
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(magic)) == magic
    except OSError:
        return False


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """The writer's lock of a state; StateError after a second."""
    try:
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        raise StateError(f"{path}: its lock cannot be opened: {error}") from error
    try:
        end = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise StateError(f"{path}: another writer holds its lock") from None
                time.sleep(0.001)
        yield
    finally:
        fcntl.flock(lock, fcntl.LOCK_UN)  # a forked child may hold a copy of the descriptor
        os.close(lock)
