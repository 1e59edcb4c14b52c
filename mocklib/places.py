"""What a recorded answer writes, as bytes: ``Answer.out``, which names members as the binding gives them, put into the structs of nvml.h by cffi."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mocklib import calls
from mocklib.answers import Gpu
from mocklib.packing import nearest
from mocklib.spec import ImageError

DEVICE = "struct nvmlDevice_st *"
SCALARS = frozenset({"primitive", "enum"})


@dataclass
class Content:
    """The bytes of one output, and where device handles stand in it: (offset, index of the GPU)."""

    data: bytes = b""
    handles: list[tuple[int, int]] = field(default_factory=list)


class Place:
    """Memory for ``count`` items of a C type, filled member by member; ``where`` stands before every complaint."""

    def __init__(self, kind: str, count: int, where: str) -> None:
        self.ffi = calls.ffi()
        self.where = where
        self.type = self.ffi.typeof(kind)
        self.memory = self.ffi.new(self.ffi.getctype(kind, "[]"), count)
        self.size = self.ffi.sizeof(kind)
        self.handles: list[tuple[int, int]] = []

    def content(self) -> Content:
        """All that was put."""
        return Content(bytes(self.ffi.buffer(self.memory)), sorted(self.handles))

    def fail(self, path: str, why: str) -> ImageError:
        """The complaint about a member."""
        return ImageError(f"{self.where}: {path}: {why}")

    def raw(self, offset: int, data: bytes) -> None:
        """Bytes as they are."""
        self.ffi.buffer(self.memory)[offset : offset + len(data)] = data

    def extent(self, names: list[str]) -> tuple[int, int]:
        """Offset and size of a member."""
        kind, offset = self.type, 0
        for name in names:
            kind, offset = self._step(".".join(names), kind, name, offset)
        return offset, self.ffi.sizeof(kind)

    def put(self, path: str, value: Any, item: int = 0) -> None:
        """One whole item, which stands under ``path``."""
        self._set(path, self.type, self.memory, item, value, item * self.size)

    def member(self, path: str, names: list[str], value: Any, item: int = 0) -> None:
        """A member of an item, however deep: the last of ``names``."""
        holder, kind, offset = self.memory[item], self.type, item * self.size
        for name in names[:-1]:
            kind, offset = self._step(path, kind, name, offset)
            holder = getattr(holder, name)
        last, start = self._step(path, kind, names[-1], offset)
        self._set(path, last, holder, names[-1], value, start)

    def _step(self, path: str, kind: Any, name: str, offset: int) -> tuple[Any, int]:
        """Type and offset of a member; a struct without it is complained about."""
        members = dict(kind.fields) if kind.kind in {"struct", "union"} else {}
        if name not in members:
            raise self.fail(path, f"{kind.cname} has no member {name!r}{nearest(name, members)}")
        return members[name].type, offset + members[name].offset

    def _set(self, path: str, kind: Any, holder: Any, key: str | int, value: Any, offset: int) -> None:
        """Put ``value`` at ``holder.key`` or ``holder[key]``, which lies at ``offset``."""
        if kind.kind in SCALARS:
            self._scalar(path, kind, holder, key, value)
        elif kind.kind == "pointer":
            self._pointer(path, kind, value, offset)
        elif kind.kind == "array":
            self._array(path, kind, holder[key] if isinstance(key, int) else getattr(holder, key), value, offset)
        elif kind.kind == "union" and isinstance(value, bytes):
            inner = holder[key] if isinstance(key, int) else getattr(holder, key)
            self._bytes(path, inner, self.ffi.sizeof(kind), value)
        elif kind.kind in {"struct", "union"} and isinstance(value, dict):
            self._struct(path, kind, holder[key] if isinstance(key, int) else getattr(holder, key), value, offset)
        else:
            raise self.fail(path, f"{value!r} is no {kind.cname}")

    def _scalar(self, path: str, kind: Any, holder: Any, key: str | int, value: Any) -> None:
        """A number, refused where it does not fit its type."""
        if isinstance(value, bool) or not isinstance(value, (int, float)) or (isinstance(value, float) and kind.cname not in {"double", "float"}):
            raise self.fail(path, f"{value!r} is no {kind.cname}")
        try:
            if isinstance(key, int):
                holder[key] = value
            else:
                setattr(holder, key, value)
        except (OverflowError, TypeError) as error:
            raise self.fail(path, f"{value} does not fit {kind.cname}") from error

    def _pointer(self, path: str, kind: Any, value: Any, offset: int) -> None:
        """A device handle, or nothing: what another pointer points to is no part of an answer."""
        if kind.cname == DEVICE and isinstance(value, Gpu):
            self.handles.append((offset, value.index))
        elif value not in (0, None):
            raise self.fail(path, f"{value!r} is no GPU; the handle of one is Gpu(index), and nothing else that is pointed to can be recorded")

    def _array(self, path: str, kind: Any, place: Any, value: Any, offset: int) -> None:
        """A text, bytes, or items one by one; what is left of the array is 0."""
        if kind.item.cname in {"char", "unsigned char"} and isinstance(value, (str, bytes)):
            self._bytes(path, place, kind.length, value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape"))
            return
        if not isinstance(value, (list, tuple)):
            raise self.fail(path, f"{value!r} is no {kind.cname}")
        if len(value) > kind.length:
            raise self.fail(path, f"{len(value)} items do not fit {kind.cname}")
        for number, item in enumerate(value):
            self._set(f"{path}[{number}]", kind.item, place, number, item, offset + number * self.ffi.sizeof(kind.item))

    def _bytes(self, path: str, place: Any, size: int, value: bytes) -> None:
        """Raw bytes, refused where there are more than the place holds; behind them it is 0, whatever was asked in it."""
        if len(value) > size:
            raise self.fail(path, f"{len(value)} bytes do not fit its {size}")
        self.ffi.memmove(self.ffi.addressof(place) if self.ffi.typeof(place).kind == "union" else place, value.ljust(size, b"\0"), size)

    def _struct(self, path: str, kind: Any, place: Any, value: dict[str, Any], offset: int) -> None:
        """A struct inside another or in a list: its members under their names, nested ones with dots."""
        for name, inner in value.items():
            holder, owner, start = place, kind, offset
            *above, last = name.split(".")
            for step in above:
                owner, start = self._step(f"{path}.{name}", owner, step, start)
                holder = getattr(holder, step)
            found, at = self._step(f"{path}.{name}", owner, last, start)
            self._set(f"{path}.{name}", found, holder, last, inner, at)
