"""The changes that the mutations make, drawn at random from a seed: a leaf's text, a key of a profile, a field, a row of the table."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from harness.stores.schema import keys
from harness.tables import formats
from harness.tables.drivers import Driver
from harness.tables.formats import Format
from mocklib import fields as tables
from mocklib.spec import Accounted, FieldValue, ImageSpec, Pages, Process
from tests.parity.expect_reference import CODES
from tests.parity.expect_sources import printed_rows
from tests.parity.mutations_board import Board, Told
from tests.parity.tracer_profile import place, remove

UNTOUCHED = ("driver_version", "timestamp", "attached_gpus")
"""Leaves that choose tables, stand for the clock or count the GPUs: no reading of a row alone."""
LIST_ROWS = ("supported_clocks.", "processes.", "retired_pages.", "accounting.pids", "accounted_process.", "system.")
"""Rows whose route gives a list, or that ask the node, not a GPU: no row of a GPU stands in for them."""
SYSTEM_KEYS = ("cuda_version_major", "cuda_version_minor")


# ---- a leaf of the text


def leaf(random: Random, told: Told, states: frozenset[str]) -> tuple[str, bytes]:
    """A leaf's path and the text's bytes with that leaf saying something else."""
    document = copy.deepcopy(told.document)
    nodes = [(path, node) for path, node in document.root.walk() if not node.children and path not in UNTOUCHED and node.text]
    path, node = random.choice(nodes)
    node.text = _other_text(random, node.text or "", states)
    return path, document.to_bytes()


def _other_text(random: Random, text: str, states: frozenset[str]) -> str:
    """One digit or letter another, or a state for a value, or a value for a state."""
    if text in states:
        return random.choice([f"{random.randrange(2, 99)} MHz", "0", *sorted(states - {text})])
    places = [match.start() for match in re.finditer(r"[0-9A-Za-z]", text)]
    if not places or random.random() < 0.25:
        return random.choice(sorted(states - {text}))
    where = random.choice(places)
    letters = "0123456789" if text[where].isdigit() else "abcdefghijklmnopqrstuvwxyz"
    return text[:where] + random.choice([letter for letter in letters if letter != text[where].lower()]) + text[where + 1 :]


# ---- a key of the profile


@dataclass(frozen=True)
class KeyChange:
    """A profile's document with one key changed; ``what`` names it."""

    what: str
    document: dict[str, Any]


def key(random: Random, board: Board) -> KeyChange:
    """Another value or a state for a key that the profile gives, or a value for one in a state."""
    document = copy.deepcopy(dict(board.profile))
    named = [name for name in SYSTEM_KEYS if name in document["system"]]
    where = random.choice(["device_defaults", *(["devices"] * 2), *(["system"] if named else [])])
    if where == "system":
        name = random.choice(named)
        document["system"][name] = document["system"][name] + random.randrange(1, 9)
        return KeyChange(f"system.{name}", document)
    number = random.choice([place for place, device in enumerate(document["devices"]) if "state" not in device])
    block = document["devices"][number] if where == "devices" else document.setdefault("device_defaults", {})
    given = keys.flatten({name: value for name, value in block.items() if name not in ("states", "index")})
    states = block.get("states") or {}
    if not given and not states:
        return KeyChange(f"{where} (empty)", document)
    path = random.choice([*given, *states])
    name = f"{where if where == 'device_defaults' else f'devices.{number}'}.{path}"
    if path in states:
        return KeyChange(f"{name} (was a state)", _without_state(random, document, block, path))
    return _given(random, document, block, path, given[path], name)


def _given(random: Random, document: dict[str, Any], block: dict[str, Any], path: str, value: Any, name: str) -> KeyChange:
    if random.random() < 0.25 and path in tables.device_fields():
        remove(block, path)
        state = random.choice(sorted(CODES))
        block.setdefault("states", {})[path] = state
        return KeyChange(f"{name}: {state}", document)
    other = _other_value(random, keys.device_keys()[path], value)
    place(block, path, other)
    return KeyChange(f"{name}: {value!r} -> {other!r}"[:200], document)


def _without_state(random: Random, document: dict[str, Any], block: dict[str, Any], path: str) -> dict[str, Any]:
    """A value or another state in place of a state."""
    known = keys.device_keys().get(path)
    if known is not None and known.kind in _OTHER and path != "pci.bus_id" and random.random() < 0.6:
        del block["states"][path]
        place(block, path, _other_value(random, known, None))
    else:
        block["states"][path] = random.choice(sorted(set(CODES) - {block["states"][path]}))
    return document


def _other_value(random: Random, known: keys.Key, value: Any) -> Any:
    """A value of the key's kind that is not ``value``."""
    if known.kind in _OTHER:
        return _OTHER[known.kind](random, known, value)
    return _OTHER_LISTS[known.kind](random, value)


def _number(random: Random, known: keys.Key, value: Any) -> int:
    """Far enough away to be told by any format; within a byte for what NVML holds in one."""
    if known.path in ("minor_number", "module_id") or known.bits == 8:  # a platform block takes a module id over
        return random.choice([number for number in range(100, 200) if number != value])
    step = random.randrange(1, 50)
    return (value or 0) + step * (1 << 21 if known.path.endswith("_bytes") else 2000)


def _word(random: Random, known: keys.Key, value: Any) -> Any:
    return random.choice([word for word, _ in known.words if word not in (value, "auto")])


def _text(random: Random, known: keys.Key, value: Any) -> str:
    if known.path == "uuid":
        return f"GPU-{random.getrandbits(32):08x}-{random.getrandbits(16):04x}-4abc-8abc-{random.getrandbits(48):012x}"
    return f"{str(value or '')[:8]}~{random.randrange(1000, 9999)}"


def _address(random: Random, _known: keys.Key, value: str) -> str:
    return f"{random.randrange(1, 0xFFFF):04x}:{random.randrange(1, 255):02x}:{random.randrange(1, 31):02x}.0"


_OTHER: Mapping[str, Any] = {
    "uint": _number,
    "int": _number,
    "word": _word,
    "mode": _word,
    "flag": lambda random, _known, value: random.random() < 0.5 if value is None else not value,
    "health_flag": lambda random, _known, value: random.random() < 0.5 if value is None else not value,
    "text": _text,
    "percent": lambda random, _known, value: str(random.choice([number for number in range(101) if str(number) != str(value)])),
    "bus_id": _address,
    "hex": lambda random, _known, _value: f"{random.getrandbits(128):032x}",
    "uuid": lambda random, _known, _value: f"{random.getrandbits(32):08x}-0000-4000-8000-{random.getrandbits(48):012x}",
}


def _processes(random: Random, value: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if not value or random.random() < 0.3:
        pid, used = random.randrange(100_000, 200_000), random.randrange(1, 4000)
        return [*value, {"pid": pid, "type": random.choice(["C", "G"]), "name": "/usr/bin/new", "used_memory_mib": used}]
    changed = copy.deepcopy(value)
    entry = random.choice(changed)
    entry["used_memory_mib"] = (entry.get("used_memory_mib") or 0) + random.randrange(1, 500)
    return changed


def _clock_table(random: Random, value: list[dict[str, Any]]) -> list[dict[str, Any]]:
    changed = copy.deepcopy(value)
    entry = random.choice(changed)
    if random.random() < 0.3 or not entry["graphics_clocks"]:
        entry["freq_mhz"] += 10_000
    else:
        where = random.randrange(len(entry["graphics_clocks"]))
        entry["graphics_clocks"][where] += 10_000
    return changed


def _pages(random: Random, value: dict[str, Any]) -> dict[str, Any]:
    return {"count": (value or {}).get("count", 0) + random.randrange(1, 9), "addresses": []}


def _accounted(random: Random, value: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*value, {"pid": random.randrange(100_000, 200_000)}]


_OTHER_LISTS: Mapping[str, Any] = {
    "processes": _processes,
    "clock_table": _clock_table,
    "pages": _pages,
    "accounted": _accounted,
    "numbers": lambda random, value: [*value, random.randrange(100, 200)],
}


# ---- a field of image or state


@dataclass(frozen=True)
class FieldChange:
    """One field holding something else; ``gpu`` None for the node."""

    gpu: int | None
    field: str
    held: FieldValue

    def __str__(self) -> str:
        return f"{'node' if self.gpu is None else f'GPU {self.gpu}'}: {self.field} -> {self.held.status or self.held.value!r}"[:200]

    def put(self, spec: ImageSpec) -> ImageSpec:
        """``spec`` with the change."""
        if self.gpu is None:
            return replace(spec, system={**spec.system, self.field: self.held})
        devices = list(spec.devices)
        devices[self.gpu] = {**devices[self.gpu], self.field: self.held}
        return replace(spec, devices=devices)


def field(random: Random, spec: ImageSpec, node: bool = True) -> FieldChange:
    """Another value or a code for a field of a device, or of the node."""
    if node and random.random() < 0.05:
        return FieldChange(None, "system.cuda_version", FieldValue(random.randrange(20, 90) * 1000 + 10 * random.randrange(9)))
    gpu = random.choice([number for number, modes in enumerate(spec.modes) if "present" in modes])
    name = random.choice(list(spec.devices[gpu]))
    held = spec.devices[gpu][name]
    code = random.choice([code for code in sorted(CODES.values()) if code != held.status])
    if held.status or random.random() < 0.3:
        fresh = _fresh(random, tables.device_fields()[name])
        return FieldChange(gpu, name, fresh if held.status and fresh is not None and random.random() < 0.6 else FieldValue(status=code))
    return FieldChange(gpu, name, FieldValue(_changed(random, tables.device_fields()[name], held.value)))


def _fresh(random: Random, definition: tables.FieldDef) -> FieldValue | None:
    """A value for a field that has none; None for lists."""
    if definition.words is not None:
        return FieldValue(random.choice(sorted(set(definition.words.values()))))
    made = {"u64": lambda: random.randrange(2, 200), "i64": lambda: random.randrange(-50, 50), "string": lambda: f"new-{random.randrange(9999)}"}
    return FieldValue(made[definition.type]()) if definition.type in made else None


def _changed(random: Random, definition: tables.FieldDef, value: Any) -> Any:
    if definition.words is not None:
        return random.choice([number for number in sorted(set(definition.words.values())) if number != value])
    if definition.type in ("u64", "i64"):
        return _moved(random, definition.name, value)
    if definition.type == "string":
        return f"{value[:8]}~{random.randrange(999)}"
    if definition.type == "bytes":
        return bytes(random.randrange(1, 255) for _ in value)
    return _other_list(random, definition.type, value)


def _moved(random: Random, name: str, value: int) -> int:
    if name in ("minor_number", "pci.bus", "pci.device") or tables.device_fields()[name].bits == 8:
        return random.choice([number for number in range(1, 31) if number != value])
    if name.endswith("mask"):
        return value ^ 1 << random.randrange(9)
    step = random.randrange(1, 50)
    return value + step * (1 << 21 if name.endswith("_bytes") else 2_000_000 if ".counters." in name else 2000)


def _other_list(random: Random, kind: str, value: Any) -> Any:
    """A list with one more entry, or one changed."""
    if kind == "pages":
        return Pages(value.count + random.randrange(1, 9))
    if kind == "clocktable":
        memory, graphics = value[0]
        return ((memory + 10_000, graphics), *value[1:])
    if kind == "accounted":
        return (*value, Accounted(random.randrange(100_000, 200_000), 41, 42, random.randrange(1, 999) << 20, random.randrange(1, 9999)))
    if kind != "processes":
        return (*value, random.randrange(100_000, 200_000))
    if not value:
        return (Process(random.randrange(100_000, 200_000), 5 << 20, name="/usr/bin/new"),)
    used = value[0].used_bytes if value[0].used_bytes < 1 << 63 else 0  # all ones: not known
    return (replace(value[0], used_bytes=used + (random.randrange(1, 9) << 20)), *value[1:])


# ---- a row of the table


@dataclass(frozen=True)
class RowChange:
    """A driver whose table is wrong in one row; ``what`` names it."""

    what: str
    driver: Driver


def row(random: Random, driver: Driver) -> RowChange:
    """Two rows' routes swapped, a row in another format, or another text for a code."""
    return random.choice([_swapped, _swapped, _reformatted, _retold])(random, driver)


def _swapped(random: Random, driver: Driver) -> RowChange:
    listed = [name for name in printed_rows(driver) if name in driver.routes and driver.routes[name].kind in ("call", "fieldvalue", "slot")]
    listed = [name for name in listed if "$" not in str(driver.routes[name].args) and not name.startswith(LIST_ROWS)]
    one = random.choice(listed)
    alike = [name for name in listed if name != one and driver.form(name).kind == driver.form(one).kind]
    other = random.choice([name for name in alike if not _gated(driver, name, one) and not _gated(driver, one, name)])
    routes = {**driver.routes, one: driver.routes[other], other: driver.routes[one]}
    return RowChange(f"routes of {one} and {other} swapped", replace(driver, routes=routes))


def _gated(driver: Driver, row: str, gate: str) -> bool:
    """Whether ``row`` is not asked unless ``gate`` answers: swapped, the gate would stand before itself."""
    found = driver.routes[row].gate
    return found is not None and found[0] == gate


def _reformatted(random: Random, driver: Driver) -> RowChange:
    name = random.choice([name for name in printed_rows(driver) if name in driver.routes])
    own: Format = driver.form(name)
    other = random.choice([form for form in sorted(formats.names()) if form != own.name and formats.get(form).kind == own.kind])
    return RowChange(f"{name} printed as {other}, not {own.name}", replace(driver, forms={**driver.forms, name: other}))


def _retold(random: Random, driver: Driver) -> RowChange:
    code = random.choice([3, 3, 4, 15, 26, 999])
    text = random.choice(["n/a", "[N/A]", "ERR!", *(["N/A"] if code != 3 else [])])
    return RowChange(f"code {code} told as {text!r}", replace(driver, texts={**driver.texts, code: text}))
