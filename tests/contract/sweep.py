"""Every exported function with wrong arguments: what the header says of handles, pointers, version words, enums and buffers, tried one by one.

``python -m tests.contract.sweep LIBRARY`` (image in NVPARITY_IMAGE) prints one line for each wrong answer, then the number of calls made; it is a
program so that it can run under a sanitizer's runtime.  Outputs end at a page that may not be touched.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Any

from mocklib import binding, calls

UNINITIALIZED, INVALID, VERSION, SIZE = 1, 2, 25, 7
BEFORE_INIT = frozenset(
    {
        "nvmlInit",
        "nvmlInit_v2",
        "nvmlInitWithFlags",
        "nvmlSystemGetDriverVersion",
        "nvmlSystemGetNVMLVersion",
        "nvmlSystemGetCudaDriverVersion",
        "nvmlSystemGetCudaDriverVersion_v2",
        "nvmlSystemGetDriverBranch",
        "nvmlInternalGetExportTable",
        "nvmlErrorString",
    }
)
"""What answers without nvmlInit (ledger A17, PI27)."""
EITHER = {
    "nvmlDeviceGetDriverModel": ("current", "pending"),
    "nvmlDeviceGetDriverModel_v2": ("current", "pending"),
    "nvmlDeviceGetGpuOperationMode": ("current", "pending"),
}
"""Pointers of which one may be NULL (nvml.h; the last as nvidia-smi asks it)."""
FIXED_TEXT = 64
"""A buffer without a length argument (nvml.h, NVML_GSP_FIRMWARE_VERSION_BUF_SIZE)."""
LIFE = ("nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags", "nvmlShutdown")
UNSEEN = ("nvmlErrorString", "nvmlRetry_NvRmControl", *LIFE)
GARBAGE_HANDLES = (0xDEADBEEF, 0xFFFFFFFFFFFFFFFF, 0x4E00000100000041 ^ 0x1000000, 8)
PLAIN_VERSIONS = {"nvmlGpmMetricsGet": 1, "nvmlGpmQueryDeviceSupport": 1}


class Guard:
    """Memory that ends at a page without access; ``place(size)`` gives the address of the last ``size`` bytes, filled with ``fill``."""

    def __init__(self, size: int) -> None:
        page = mmap.PAGESIZE
        self.size = (size + page - 1) // page * page
        self.map = mmap.mmap(-1, self.size + page)
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mprotect(ctypes.c_void_p(self.start + self.size), page, 0) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")

    def place(self, size: int, fill: int = 0xA5) -> int:
        """The address of the last ``size`` bytes before the guard page."""
        self.map[: self.size] = bytes([fill]) * self.size
        return self.start + self.size - size

    def bytes_at(self, address: int, size: int) -> bytes:
        """What stands there now."""
        offset = address - self.start
        return bytes(self.map[offset : offset + size])


class Sweep:
    """Calls functions and collects wrong answers."""

    def __init__(self, path: str) -> None:
        self.nvml = binding.open_library(path)
        self.ffi = self.nvml.ffi
        self.functions = calls.signatures().FUNCTIONS
        self.wrong: list[str] = []
        self.calls = 0
        self.guards: dict[str, Guard] = {}

    def size_of(self, kind: str) -> int:
        """Bytes a pointer parameter points to; the struct of the version it is filled with."""
        inner = kind.removesuffix("*").strip()
        return int(self.ffi.sizeof(inner)) if inner != "void" else 16  # the one untyped parameter is the id of the private table

    def guard(self, param: str, size: int) -> Guard:
        """The guard of a parameter, made once."""
        known = self.guards.get(param)
        if known is None or known.size < size:
            known = self.guards[param] = Guard(max(size, 1))
        return known

    def arguments(self, name: str, device: int, texts: int = 64, capacity: int = 0) -> dict[str, Any]:
        """A sound call: valid device, zero numbers, outputs at guard pages, version words as the header has them."""
        found: dict[str, Any] = {}
        for param, kind, role in self.functions[name]:
            if role == "device":
                found[param] = device
            elif role in {"handle", "in"}:
                found[param] = 0
            elif role == "length":
                found[param] = texts
            elif role == "list":
                found[param] = self.guard(param, self.size_of(kind) * capacity).place(self.size_of(kind) * capacity) if capacity else 0
            elif role == "text":
                room = texts if self.sized(name) else FIXED_TEXT
                found[param] = self.guard(param, room).place(room)
            else:
                found[param] = self.pointer(name, param, kind, role, capacity)
        return found

    def sized(self, name: str) -> bool:
        """Whether a function is told how long its text buffer is."""
        return any(role in {"length", "count"} for _, _, role in self.functions[name])

    def pointer(self, name: str, param: str, kind: str, role: str, capacity: int) -> int:
        """A place of exactly the size the header gives, at a guard page."""
        size = self.size_of(kind)
        guard = self.guard(param, size)
        address = guard.place(size, 0xA5 if role in {"out", "struct"} else 0)
        own = calls.signatures().ALIASES.get(kind.rstrip(" *"), kind.rstrip(" *"))
        if own in calls.signatures().VERSIONS:
            version = next(number for number, struct in calls.signatures().VERSIONS[own].items() if struct == own)
            self.ffi.cast("unsigned int *", address)[0] = size | version << 24
        elif name in PLAIN_VERSIONS:
            self.ffi.cast("unsigned int *", address)[0] = PLAIN_VERSIONS[name]
        if role == "count":
            self.ffi.cast("unsigned int *", address)[0] = capacity
        return address

    def call(self, name: str, given: dict[str, Any]) -> int:
        """The code of one call with raw arguments."""
        self.calls += 1
        function = getattr(self.nvml.library, name)
        values = []
        for (param, _, _), wanted in zip(self.functions[name], self.ffi.typeof(function).args, strict=True):
            values.append(self.ffi.cast(wanted, given[param]))
        return int(function(*values))

    def expect(self, name: str, case: str, given: dict[str, Any], *codes: int) -> None:
        """Call and note an answer that is none of ``codes``."""
        code = self.call(name, given)
        if code not in codes:
            self.wrong.append(f"{name}: {case}: answered {code}, expected {' or '.join(map(str, codes))}")

    def every(self) -> list[str]:
        """The functions that can be tried with wrong arguments."""
        return [name for name in self.functions if name not in UNSEEN and self.nvml.function(name) is not None]

    def uninitialised(self, when: str, device: int) -> None:
        """Nothing but the named few answers without init, whatever the arguments."""
        for name in self.every():
            if name not in BEFORE_INIT:
                self.expect(name, when, self.arguments(name, device), UNINITIALIZED)
                self.expect(name, f"{when}, NULL everywhere", dict.fromkeys(self.arguments(name, device), 0), UNINITIALIZED)

    def handles(self, dead: tuple[int, ...], device: int) -> None:
        """NULL, garbage, dead and foreign device handles are invalid, each device parameter in turn."""
        for name in self.every():
            for param, _, role in self.functions[name]:
                for handle in (0, *GARBAGE_HANDLES, *dead) if role == "device" else ():
                    given = self.arguments(name, device)
                    given[param] = handle
                    self.expect(name, f"{param} = {handle:#x}", given, INVALID)
                for handle in (0, *GARBAGE_HANDLES) if role == "handle" else ():
                    given = self.arguments(name, device)
                    given[param] = handle
                    self.expect(name, f"{param} = {handle:#x}", given, INVALID)

    def pointers(self, device: int) -> None:
        """Each pointer that must be there, NULL in turn."""
        for name in self.every():
            if any(role == "handle" for _, _, role in self.functions[name]):
                continue
            for param, _, role in self.functions[name]:
                if role in {"out", "struct", "const", "count"} or (role == "text" and not self.probing(name)):
                    given = self.arguments(name, device)
                    given[param] = 0
                    if param in EITHER.get(name, ()):
                        given |= dict.fromkeys(EITHER[name], 0)
                    self.expect(name, f"{param} = NULL", given, INVALID)

    def probing(self, name: str) -> bool:
        """Whether a function's buffers may be NULL to ask for their size."""
        return any(role == "count" for _, _, role in self.functions[name])

    def versions(self, device: int) -> None:
        """Version words that are none (zero, all ones, right size and wrong number, right number and wrong size) leave the struct untouched."""
        for name in self.every():
            if any(role == "handle" for _, _, role in self.functions[name]):
                continue
            for param, kind, role in self.functions[name]:
                own = calls.signatures().ALIASES.get(kind.rstrip(" *"), kind.rstrip(" *"))
                if role not in {"struct", "const"} or own not in calls.signatures().VERSIONS:
                    continue
                size = self.size_of(kind)
                for word in (0, 0xFFFFFFFF, size | 99 << 24, (size + 4) | 1 << 24, 1):
                    given = self.arguments(name, device)
                    self.ffi.cast("unsigned int *", given[param])[0] = word
                    before = self.guards[param].bytes_at(given[param], size)
                    self.expect(name, f"{param}.version = {word:#x}", given, VERSION)
                    if self.guards[param].bytes_at(given[param], size) != before:
                        self.wrong.append(f"{name}: {param}.version = {word:#x}: the struct was written to")

    def enums(self, device: int) -> None:
        """A number past the end of an enum is invalid."""
        for name in self.every():
            if any(role == "handle" for _, _, role in self.functions[name]):
                continue
            function = getattr(self.nvml.library, name)
            for (param, _, role), wanted in zip(self.functions[name], self.ffi.typeof(function).args, strict=True):
                if role == "in" and wanted.kind == "enum":
                    given = self.arguments(name, device)
                    given[param] = max(wanted.elements) + 1
                    self.expect(name, f"{param} = {given[param]}", given, INVALID)

    def sound(self, device: int) -> None:
        """Sound calls with outputs, short texts and lists that end at a guard page: a known code, and nothing written past the end."""
        known = tuple(code for code in range(31) if code not in {UNINITIALIZED, 18})
        for name in self.every():
            for texts in (1, 2, 8, 64):
                self.expect(name, f"texts of {texts}", self.arguments(name, device, texts), *known)
            for capacity in (0, 1, 3):
                self.expect(name, f"lists of {capacity}", self.arguments(name, device, capacity=capacity), *known)


def run(path: str) -> Sweep:
    """The whole sweep: before init, initialised, after shutdown."""
    sweep = Sweep(path)
    sweep.uninitialised("before init", 0x4E00000100000041)
    first = sweep.nvml.init()
    old = sweep.nvml.device(0)
    sweep.nvml.shutdown()
    second = sweep.nvml.init()
    if first or second:
        sweep.wrong.append(f"nvmlInit_v2 answered {first}, {second}")
    device = sweep.nvml.device(0)
    foreign = int(sweep.nvml.call("nvmlEventSetCreate").out["set"])
    sweep.handles((old, foreign), device)
    sweep.pointers(device)
    sweep.versions(device)
    sweep.enums(device)
    sweep.sound(device)
    sweep.nvml.shutdown()
    sweep.uninitialised("after shutdown", device)
    return sweep


def main(arguments: list[str]) -> int:
    """Print what is wrong; status 1 where anything is."""
    sweep = run(arguments[0])
    for line in sweep.wrong:
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"{len(sweep.every())} functions, {sweep.calls} calls, {len(sweep.wrong)} wrong\n")
    return 1 if sweep.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
