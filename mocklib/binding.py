"""The library through its C ABI, mock or real alike: ``open_library(path)``, then ``nvml.call(name, device, arguments) -> Answer``.

No header is parsed here: the cffi module and the roles of parameters were made at build time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mocklib import fields as tables
from mocklib.calls import TEXT_SIZE, BindingError, Call, ffi, signatures

__all__ = ["Answer", "BindingError", "FieldAnswer", "Nvml", "function_names", "open_library", "struct_size"]

FUNCTION_NOT_FOUND = 13
TABLE_ID = bytes.fromhex("c4fe3e6cc98f6c4ea327ee696e12f7c4")
"""The one id of the private table, first three groups little-endian (facts on the private interface)."""
PROCESS_SHAPES = {"processes": 4128, "processes_unprotected": 4120}
"""Shape -> bytes of one entry: 535 and newer, 525."""
SLOT_ARGUMENTS = 5
"""As many as any slot takes that is known."""
SAMPLE_ENGINES = {"process_samples": ("sm", "mem", "enc", "dec", "jpg", "ofa"), "process_samples_four": ("sm", "mem", "enc", "dec")}
"""Shape -> the engines of a sample, in the order of its entries: 550 and newer, 390 to 535."""
SAMPLE_CAPACITY = 100
"""Samples that nvidia-smi has room for."""
PROCESS_NAME_SIZE = 4096
PROCESS_CAPACITY = 500
"""Entries of a private list that `nvidia-smi -q` has room for (525 to 555); it gets no more."""


@dataclass(frozen=True)
class Answer:
    """What a call gave.

    ``code`` is the nvmlReturn_t; ``out`` what was written, by ``parameter`` or ``parameter.member``: int, str (raw bytes as surrogates), bytes for
    byte arrays, list for arrays and lists.  ``out`` is empty when the code is not SUCCESS, but for the count of a list.  ``missing``: no such symbol.
    """

    code: int
    out: dict[str, Any] = field(default_factory=dict)
    missing: bool = False


@dataclass(frozen=True)
class FieldAnswer:
    """One entry of nvmlDeviceGetFieldValues: its own code, value type, value (None without SUCCESS) and timestamp in microseconds."""

    code: int
    value_type: int
    value: int | float | None
    timestamp_us: int


def function_names() -> list[str]:
    """Every function the header declares."""
    return sorted(signatures().FUNCTIONS)


def struct_size(name: str) -> int:
    """Bytes of a struct as the binding lays it out."""
    return int(ffi().sizeof(name))


def open_library(path: Path | str) -> Nvml:
    """The library at ``path``; BindingError when it cannot be loaded."""
    try:
        library = ffi().dlopen(str(path), 0x2)  # RTLD_NOW, as nvidia-smi opens it
    except OSError as error:
        raise BindingError(f"{path} cannot be loaded: {error}") from error
    return Nvml(library)


class Nvml:
    """An open library.  ``init`` and ``shutdown`` nest as in NVML; handles are ints."""

    def __init__(self, library: Any) -> None:
        self.ffi = ffi()
        self.library = library
        self._table: Any = None
        self._found: dict[str, Any] = {}

    def function(self, name: str) -> Any:
        """The C function, or None where the library has no such symbol."""
        if name not in self._found:
            try:
                self._found[name] = getattr(self.library, name)
            except (AttributeError, self.ffi.error):
                self._found[name] = None
        return self._found[name]

    def init(self) -> int:
        """The code of nvmlInit_v2."""
        return self.call("nvmlInit_v2").code

    def shutdown(self) -> int:
        """The code of nvmlShutdown."""
        return self.call("nvmlShutdown").code

    def count(self) -> int:
        """The number of devices; 0 where the call fails."""
        return int(self.call("nvmlDeviceGetCount_v2").out.get("deviceCount", 0))

    def device(self, index: int) -> int:
        """The handle at ``index``; BindingError with the code where there is none."""
        answer = self.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": index})
        if answer.code:
            raise BindingError(f"no device {index}: nvmlReturn_t {answer.code}")
        return int(answer.out["device"])

    def error_string(self, code: int) -> str:
        """The library's text of a code; its number where the library has no texts."""
        if self.function("nvmlErrorString") is None:
            return f"nvmlReturn_t {code}"
        return str(self.ffi.string(self.library.nvmlErrorString(code)).decode("utf-8", "surrogateescape"))

    def call(self, name: str, device: int | None = None, arguments: dict[str, Any] | None = None) -> Answer:
        """Call ``name``.

        ``device`` goes to the first device parameter.  ``arguments`` are named as in nvml.h: numbers, text, and ``parameter.member`` for members
        that are read (``version`` of a struct as its number); buffers, lists and counts are made here.  A list given as 0 is NULL: its length alone
        is asked, as nvidia-smi asks for a number of retired pages.
        """
        if name not in signatures().FUNCTIONS:
            raise BindingError(f"{name} is no function of nvml.h")
        function = self.function(name)
        if function is None:
            return Answer(FUNCTION_NOT_FOUND, missing=True)
        call = Call(self.ffi, name, device, dict(arguments or {}), self.entry(name))
        code = call.run(function)
        return Answer(code, call.results(code))

    def entry(self, name: str) -> str | None:
        """The struct of the entries of a function's list, where the library's driver has another than nvml.h (tables/entries.yaml); else None."""
        if name not in tables.entry_changes():
            return None
        version = str(self.call("nvmlSystemGetDriverVersion").out.get("version", ""))
        return tables.entries(tuple(int(part) for part in version.split(".") if part.isdecimal())).get(name)

    def field_values(self, device: int, wanted: list[tuple[int, int]]) -> list[FieldAnswer]:
        """One batch of nvmlDeviceGetFieldValues for (id, scope) pairs; a call that fails as a whole gives its code to every entry."""
        function = self.function("nvmlDeviceGetFieldValues")
        if function is None or not wanted:
            return [FieldAnswer(FUNCTION_NOT_FOUND, 0, None, 0) for _ in wanted]
        entries = self.ffi.new("nvmlFieldValue_t[]", len(wanted))
        for entry, (number, scope) in zip(entries, wanted, strict=True):
            entry.fieldId, entry.scopeId = number, scope
        code = int(function(self.ffi.cast("nvmlDevice_t", device), len(wanted), entries))
        return [FieldAnswer(code, 0, None, 0) if code else _field_answer(entry) for entry in entries]

    def slot(self, device: int | None, number: int, shape: str, key: int = 0) -> Answer:
        """Call slot ``number`` of the private table; ``shape`` as in the image (mocklib.spec.SHAPES); what it wrote stands under ``value``.

        ``key`` is the id of a field value, the index of a handle slot.  A slot that takes a list of GPUs is given the one, and answers
        the code of that GPU.
        """
        entry = self._slot_entry(number)
        if entry is None:
            return Answer(FUNCTION_NOT_FOUND, missing=True)
        handle = self.ffi.cast("void *", device or 0)
        if shape in {"u32", "i32"}:
            out = self.ffi.new("int *" if shape == "i32" else "unsigned int *")
            code = int(entry(handle, self.ffi.cast("void *", out), self.ffi.NULL))
            return Answer(code, {} if code else {"value": int(out[0])})
        if shape == "field_values":
            value = self.ffi.new("nvmlFieldValue_t *")
            value.fieldId, value.scopeId = key, 0
            code = int(entry(handle, self.ffi.cast("void *", 1), self.ffi.cast("void *", value))) or int(value.nvmlReturn)
            return Answer(code, {} if code else {"value": int(value.value.uiVal)})
        if shape == "string":
            text = self.ffi.new("char[]", TEXT_SIZE)
            code = int(entry(handle, self.ffi.cast("void *", text), self.ffi.NULL))
            return Answer(code, {} if code else {"value": self.ffi.string(text).decode("utf-8", "surrogateescape")})
        if shape in PROCESS_SHAPES:
            return self._slot_processes(entry, handle, PROCESS_SHAPES[shape])
        if shape in SAMPLE_ENGINES:
            return self._slot_samples(entry, handle, SAMPLE_ENGINES[shape])
        if shape == "pci_address":
            address = self.ffi.new("char[]", TEXT_SIZE)
            code = int(entry(self.ffi.cast("void *", key), self.ffi.cast("void *", address), self.ffi.NULL))
            return Answer(code, {} if code else {"value": self.ffi.string(address).decode("ascii")})
        if shape == "handle":
            found = self.ffi.new("nvmlDevice_t *")
            code = int(entry(self.ffi.cast("void *", key), self.ffi.cast("void *", found), self.ffi.cast("void *", 0x22)))
            return Answer(code, {} if code else {"value": int(self.ffi.cast("uintptr_t", found[0]))})
        if shape == "reset_list":
            listed, codes = self.ffi.new("void *[]", [handle]), self.ffi.new("unsigned int[]", 1)
            code = int(entry(self.ffi.cast("void *", 1), self.ffi.cast("void *", listed), self.ffi.cast("void *", codes)))
            return Answer(code or int(codes[0]))
        return Answer(int(entry(handle, self.ffi.NULL, self.ffi.NULL)))

    def _slot_entry(self, number: int) -> Any:
        """The function of a slot, to be called with what it takes (the arguments after that are NULL); None without the private table."""
        if self._table is None:
            self._table = False
            function = self.function("nvmlInternalGetExportTable")
            place = self.ffi.new("void **")
            if function is not None and function(place, self.ffi.from_buffer(TABLE_ID)) == 0:
                self._table = self.ffi.cast("uintptr_t *", place[0])
        if self._table is False or not 0 < number < int(self._table[0]) // 8:
            return None
        function = self.ffi.cast("int (*)(void *, void *, void *, void *, void *)", self._table[number])
        return lambda *given: function(*given, *[self.ffi.NULL] * (SLOT_ARGUMENTS - len(given)))

    def _slot_processes(self, entry: Any, handle: Any, stride: int) -> Answer:
        count = self.ffi.new("unsigned int *", PROCESS_CAPACITY)
        room = self.ffi.new("char[]", PROCESS_CAPACITY * stride)
        code = int(entry(handle, self.ffi.cast("void *", count), self.ffi.cast("void *", room)))
        if code:
            return Answer(code)
        return Answer(code, {"value": [_slot_process(bytes(self.ffi.buffer(room + n * stride, stride))) for n in range(count[0])]})

    def _slot_samples(self, entry: Any, handle: Any, engines: tuple[str, ...]) -> Answer:
        """A dict a sample, engine -> (pid, share); the shares of a process, added up and divided by the number of samples, are its use."""
        count = self.ffi.new("unsigned int *", SAMPLE_CAPACITY)
        stride = 8 + 80 * len(engines)
        room = self.ffi.new("char[]", SAMPLE_CAPACITY * stride)
        code = int(entry(handle, self.ffi.NULL, self.ffi.NULL, self.ffi.cast("void *", count), self.ffi.cast("void *", room)))
        if code:
            return Answer(code)
        words = [self.ffi.cast("unsigned int *", room + number * stride + 8) for number in range(count[0])]
        return Answer(0, {"value": [{name: (int(word[20 * at + 2]), int(word[20 * at])) for at, name in enumerate(engines)} for word in words]})


def _slot_process(data: bytes) -> dict[str, Any]:
    """One entry of the private process lists; the name stands last, before it the protected memory where the entry has it."""
    word = {"pid": 0, "gpuInstanceId": 16, "computeInstanceId": 20}
    name = len(data) - PROCESS_NAME_SIZE
    long = {"usedGpuMemory": 8, **({"usedGpuCcProtectedMemory": 24} if name > 24 else {})}
    found: dict[str, Any] = {key: int.from_bytes(data[place : place + 4], "little") for key, place in word.items()}
    found |= {key: int.from_bytes(data[place : place + 8], "little") for key, place in long.items()}
    found["name"] = data[name:].split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
    return found


_UNION = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}
"""nvmlValueType_t -> member of nvmlValue_t."""


def _field_answer(entry: Any) -> FieldAnswer:
    code, kind = int(entry.nvmlReturn), int(entry.valueType)
    value = getattr(entry.value, _UNION[kind]) if code == 0 and kind in _UNION else None
    return FieldAnswer(code, kind, value, int(entry.timestamp))
