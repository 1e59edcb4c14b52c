"""An NVML answered in Python from an ImageSpec and the function tables: the library's side of parity without C."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.tables import strictyaml
from mocklib import fields
from mocklib.image import FieldValue, ImageSpec, Slot

_FUNCTIONS = Path(fields.__file__).with_name("tables") / "functions"


@dataclass(frozen=True)
class Answer:
    """A return code and what was written, by parameter."""

    code: int
    out: Mapping[str, Any] = field(default_factory=dict)


@functools.cache
def functions() -> dict[str, Any]:
    """Every entry of mocklib/tables/functions."""
    found: dict[str, Any] = {}
    for path in sorted(_FUNCTIONS.glob("*.yaml")):
        entries = strictyaml.load_file(path).value
        found.update({name: entry for name, entry in entries.items() if name != "format"})
    return found


class PureLibrary:
    """Answers as mocklib's tables say; a handle is the device's number."""

    def __init__(self, spec: ImageSpec) -> None:
        self.spec = spec

    def handle(self, index: int) -> int:
        return index

    def call(self, name: str, device: Any = None, args: Mapping[str, Any] | None = None) -> Answer:
        given = dict(args or {})
        if self.spec.gates.get(name):
            return Answer(self.spec.gates[name])
        entry = functions().get(name)
        if entry is None:
            return Answer(3)
        if "handler" in entry:
            return self._handler(entry["handler"], device, given)
        if "version" in entry:
            entry = {**entry, **entry["version"][max(entry["version"])]}
        return self._table(entry, device, given)

    def _table(self, entry: dict[str, Any], device: int, given: dict[str, Any]) -> Answer:
        out: dict[str, Any] = {}
        for target, source in {**entry.get("out", {}), **entry.get("string", {})}.items():
            chosen = source
            for name in entry.get("by", ()):
                chosen = chosen.get(given.get(name, 0)) if isinstance(chosen, dict) else chosen
            if chosen is None:
                return Answer(3)
            code, value = self._source(chosen, device)
            if code:
                return Answer(code)
            out[target] = value
        return Answer(0, out)

    def _source(self, source: Any, device: int) -> tuple[int, Any]:
        if isinstance(source, dict) and "const" in source:
            return 0, source["const"]
        if isinstance(source, dict):
            code, value = self._field(source["field"], device)
            return (0, source["absent"]) if code == 3 and "absent" in source else (code, value)
        return self._field(source, device)

    def _field(self, name: str, device: int) -> tuple[int, Any]:
        definition = fields.device_fields()[name]
        given = self.spec.devices[device].get(name, FieldValue(status=3))
        if definition.need is not None and definition.need not in self.spec.modes[device]:
            return 3, None
        value = given.value.hex() if isinstance(given.value, bytes) else given.value
        return given.status, value

    def field_value(self, device: Any, identifier: int, scope: int) -> Answer:
        for row in self.spec.field_ids:
            if row.id == identifier and row.scope in (None, scope):
                code, value = self._field(row.field, device)
                return Answer(code, {} if code else {"value": value})
        return Answer(3)

    def slot(self, number: int, shape: str, device: Any = None, key: int | None = None) -> Answer:
        for row in self.spec.slots:
            if row.number == number and (shape != "field_values" or row.key == key):
                return self._slot(row, device)
        return Answer(3)

    def _slot(self, row: Slot, device: int) -> Answer:
        if row.field is None:
            return Answer(0)
        code, value = self._field(row.field, device)
        if code:
            return Answer(code)
        return Answer(0, {"value": _entries(value) if row.shape == "processes" else value})

    def _handler(self, handler: str, device: Any, given: dict[str, Any]) -> Answer:
        system = {"driver_version": ("system.driver_version", "version"), "cuda_version": ("system.cuda_version", "cudaDriverVersion")}
        if handler in system:
            name, parameter = system[handler]
            return Answer(0, {parameter: self.spec.system[name].value})
        if handler == "count":
            return Answer(0, {"deviceCount": len(self.spec.devices)})
        if handler == "by_index":
            return Answer(0, {"device": given["index"]})
        made = getattr(self, f"_{handler}", None)
        return Answer(3) if made is None else made(device, given)

    def _simple(self, name: str, device: int, parameter: str) -> Answer:
        code, value = self._field(name, device)
        return Answer(code, {} if code else {parameter: value})

    def _gsp_version(self, device: int, _: dict[str, Any]) -> Answer:
        return self._simple("gsp_firmware.version", device, "version")

    def _supported_memory_clocks(self, device: int, _: dict[str, Any]) -> Answer:
        code, table = self._field("clocks.supported", device)
        return Answer(code, {} if code else {"clocksMHz": [memory for memory, _ in table]})

    def _supported_graphics_clocks(self, device: int, given: dict[str, Any]) -> Answer:
        code, table = self._field("clocks.supported", device)
        found = [list(graphics) for memory, graphics in table or () if memory == given["memoryClockMHz"]]
        return Answer(code or (0 if found else 6), {"clocksMHz": found[0]} if found else {})

    def _retired(self, device: int, given: dict[str, Any]) -> Answer:
        code, pages = self._field(("retired_pages.single_bit", "retired_pages.double_bit")[given["cause"]], device)
        return Answer(code, {} if code else {"pageCount": pages.count, "addresses": list(pages.addresses), "timestamps": list(pages.timestamps)})

    _retired_pages = _retired_pages_v2 = _retired

    def _accounting_pids(self, device: int, _: dict[str, Any]) -> Answer:
        code, listed = self._field("accounting.processes", device)
        off = self._field("accounting.mode", device) == (0, 0)
        return Answer(code, {} if code else {"pids": [] if off else [process.pid for process in listed]})

    def _bridge_chip(self, device: int, _: dict[str, Any]) -> Answer:
        code, kind = self._field("bridge_chip.type", device)
        return Answer(code, {} if code else {"bridgeHierarchy.bridgeChipInfo": [{"type": kind, "fwVersion": 0}]})

    def _running(self, name: str, device: int) -> Answer:
        code, value = self._field(name, device)
        return Answer(code, {} if code else {"infos": _entries(value)})

    def _compute_v2(self, device: int, _: dict[str, Any]) -> Answer:
        return self._running("processes.compute", device)

    def _graphics_v2(self, device: int, _: dict[str, Any]) -> Answer:
        return self._running("processes.graphics", device)

    def _mps_v2(self, device: int, _: dict[str, Any]) -> Answer:
        return self._running("processes.mps", device)

    def _process_name(self, _: Any, given: dict[str, Any]) -> Answer:
        for device in range(len(self.spec.devices)):
            for kind in ("compute", "graphics", "mps"):
                for process in self.spec.devices[device][f"processes.{kind}"].value or ():
                    if process.pid == given["pid"]:
                        return Answer(0, {"name": process.name})
        return Answer(6)


def _entries(processes: Any) -> list[dict[str, Any]]:
    return [
        {
            "pid": process.pid, "usedGpuMemory": process.used_bytes, "gpuInstanceId": process.gpu_instance,
            "computeInstanceId": process.compute_instance, "name": process.name,
        }
        for process in processes
    ]  # fmt: skip
