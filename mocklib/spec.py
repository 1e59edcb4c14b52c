"""What an image is made of, in Python's words: ``ImageSpec`` and its parts.  ``mocklib.image.pack`` turns it into bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mocklib.answers import Asked
from mocklib.binding import Answer

KINDS = {"constant": 0, "ramp": 1, "track": 2, "counted": 3}
CLOCKS = {"real": 0, "frozen": 1, "scaled": 2}
SHAPES = {"u32": 0, "i32": 1, "string": 2, "processes": 3, "field_values": 4, "processes_unprotected": 5, "process_samples": 6,
          "process_samples_four": 7, "lane_errors": 8, "lane_corrections": 9, "handle": 10, "ok": 11, "pci_address": 12, "topology_pair": 13,
          "zero_first": 14, "zero_second": 15, "zero_third": 16, "reset": 17, "reset_list": 18, "persistence": 19}  # fmt: skip
FIELDLESS = frozenset(name for name, number in SHAPES.items() if number >= SHAPES["handle"])
"""Shapes of slots that no field answers."""
NOT_AVAILABLE = 0xFFFFFFFFFFFFFFFF
"""NVML_VALUE_NOT_AVAILABLE: a process whose memory the driver does not say."""
NO_INSTANCE = 0xFFFFFFFF
"""GPU and compute instance of a process outside MIG."""


LINK_READINGS = ("speed", "speed_or_zero", "state", "version", "remote_link", "kib", "bytes", "packets", "errors", "none")
"""How a field id is made of a link, in the order of their NVP_LINK numbers."""
FIELD_ID_LIMIT = 309
"""The largest field id of the newest header known (nvml.h of CUDA 13.5, NVML_FI_MAX - 1)."""


class ImageError(ValueError):
    """A spec cannot be packed or bytes are no sound image; the message names the device and field, or what is wrong with the bytes."""


@dataclass(frozen=True)
class FieldValue:
    """One field of the image.

    ``value`` is by the field's type: int (u64, i64); str or bytes (string; a str keeps raw bytes by surrogateescape); bytes; tuple of int (u32list);
    tuple of (MHz, tuple of MHz) (clocktable); tuple of Process (processes); tuple of Accounted (accounted); Pages (pages).
    ``status`` is the nvmlReturn_t answered instead.
    ``kind`` is 0 constant, 1 ramp (``rate`` units per second from ``start_ns`` on, None: from the node's epoch), 2 track (``rate`` is the index in
    ``ImageSpec.tracks``).
    """

    value: Any = None
    status: int = 0
    kind: int = 0
    rate: int = 0
    start_ns: int | None = None


@dataclass(frozen=True)
class Process:
    """One process: bytes used (0xFFFFFFFFFFFFFFFF where the driver does not say), instance ids (0xFFFFFFFF outside MIG), name as NVML gives it."""

    pid: int
    used_bytes: int
    gpu_instance: int = 0xFFFFFFFF
    compute_instance: int = 0xFFFFFFFF
    protected_bytes: int = 0
    name: str | bytes = ""


@dataclass(frozen=True)
class Accounted:
    """One process of the accounting buffer, as nvmlAccountingStats_t counts: percent of its lifetime, bytes, milliseconds (0 while it runs)."""

    pid: int
    gpu_utilization: int = 0
    memory_utilization: int = 0
    max_memory: int = 0
    time_ms: int = 0
    running: bool = False


@dataclass(frozen=True)
class Pages:
    """Retired pages of one cause: their count, the addresses and the times of retirement (seconds since 1970) that are known.

    Where fewer addresses than ``count`` are known, the call answers the count alone; a time that is not known is 0.
    """

    count: int
    addresses: tuple[int, ...] = ()
    timestamps: tuple[int, ...] = ()


@dataclass(frozen=True)
class Track:
    """Samples a field steps through from ``start_ns`` on, one each ``period_ns``; the last is held, or the track is looped."""

    samples: tuple[int, ...]
    period_ns: int
    start_ns: int = 0
    loop: bool = False


@dataclass(frozen=True)
class FieldId:
    """One answer of nvmlDeviceGetFieldValues: id and scope (None: whatever is asked) -> a field, given as ``value_type`` (nvmlValueType_t).

    ``per``: a double is the field's number / per.
    """

    id: int
    scope: int | None
    field: str
    value_type: int = 1
    per: int = 1


@dataclass(frozen=True)
class LinkId:
    """One answer of nvmlDeviceGetFieldValues about NVLinks.

    ``link``: the link it is of; None: the call's scope says which; ``all``: the sum over the active ones.  ``reading`` is one of LINK_READINGS, made
    from ``field``, whose code it answers.
    """

    id: int
    link: int | str | None
    reading: str
    field: str
    value_type: int = 1


@dataclass(frozen=True)
class Slot:
    """One row of the private table: ``shape`` is one of SHAPES; ``key`` is the id of an entry of ``field_values``; handle and ok have no field."""

    number: int
    shape: str
    field: str | None = None
    key: int = 0


@dataclass(frozen=True)
class Clock:
    """The library's time: ``real``; ``frozen`` at ``at_ns``; ``scaled``: at_ns + (real - start_ns) x scale.  Nanoseconds since 1970."""

    mode: str = "real"
    at_ns: int = 0
    scale: float = 1.0
    start_ns: int = 0


@dataclass(frozen=True)
class Source:
    """The profile an image is compiled from, as the library recognises it: path, size, mtime, inode, and SHA-256 of its bytes."""

    path: str
    size: int
    mtime_ns: int
    inode: int
    sha256: bytes


@dataclass(frozen=True)
class Absence:
    """What a device without mode ``present`` answers: nvmlReturn_t of a lookup of its handle (0: the handle is given) and of every other call."""

    handle: int = 15
    reading: int = 15


LOST = Absence()
"""A device that was there and answers no more (ledger V09)."""


@dataclass(frozen=True)
class Head:
    """What a record says of the whole: marks (fields.MARKS), the override document's texts of the device and of all; of the node: privilege (1 user),
    epoch in nanoseconds since 1970 (0: the host's), seed.
    """

    marks: frozenset[str] = frozenset()
    text: bytes = b""
    all_text: bytes = b""
    privilege: int = 0
    epoch_ns: int = 0
    seed: int = 0


BARE = Head()
"""A record of which nothing is said."""


@dataclass(frozen=True)
class Recorded:
    """One call that the library answers with exactly ``answer``, whatever its fields say; any other argument set goes on as without it.

    ``steps`` are the answers it goes through instead from ``start_ns`` on, one each ``period_ns`` (nanoseconds); the last is held, or they loop.
    A device handle inside an answer is a Gpu.  ``answer.missing`` is a symbol that the library lacks.
    """

    asked: Asked
    answer: Answer
    steps: tuple[Answer, ...] = ()
    period_ns: int = 0
    start_ns: int = 0
    loop: bool = False


@dataclass(frozen=True)
class ImageSpec:
    """Everything an image holds.

    ``devices`` name their fields; one that is missing is NOT_SUPPORTED.  ``modes`` holds per device the mode bits in force (fields.MODES).
    ``absences`` say what each device answers while it is not present; one that is missing answers as a lost one.
    ``gates`` answer a code before any check; ``field_id_limit`` is the largest field id the driver knows (None: FIELD_ID_LIMIT);
    ``ramp_start_ns`` is the instant ramps start from (None: the node's epoch, which a clock that names an instant sets);
    ``marks`` say per device what hides it (fields.MARKS); ``seed`` is what random choices of the state go by;
    ``programs`` are setter programs in the form of tables/programs/*.yaml (None: those); ``answers`` are calls answered as they were recorded;
    ``entries`` name the struct of a list's entries by function, where the driver has others than nvml.h (fields.ENTRIES).
    """

    system: dict[str, FieldValue] = field(default_factory=dict)
    devices: list[dict[str, FieldValue]] = field(default_factory=list)
    modes: list[frozenset[str]] = field(default_factory=list)
    field_ids: list[FieldId] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    gates: dict[str, int] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    source: Source | None = None
    programs: dict[str, list[dict[str, Any]]] | None = None
    tracks: tuple[Track, ...] = ()
    field_id_limit: int | None = None
    ramp_start_ns: int | None = None
    absences: list[Absence] = field(default_factory=list)
    link_ids: list[LinkId] = field(default_factory=list)
    answers: tuple[Recorded, ...] = ()
    entries: dict[str, str] = field(default_factory=dict)
    marks: list[frozenset[str]] = field(default_factory=list)
    seed: int = 0
