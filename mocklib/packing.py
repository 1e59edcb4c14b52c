"""The tables of an image as bytes: gates, field ids, private slots, setter programs, the profile's identity."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable
from typing import Any

from mocklib import fields as tables
from mocklib.spec import FIELD_ID_LIMIT, FIELDLESS, LINK_READINGS, SHAPES, ImageError, ImageSpec, LinkId, Slot, Source
from mocklib.structs import as_bytes, constants, structs

ANY_SCOPE = 0xFFFFFFFF
NO_FIELD = 0xFFFF
NO_ARGUMENT = 0xFF
CHECKS = ("status", "range", "list", "mode", "mask_within", "equals", "differs", "index", "below", "pair", "empty", "hostname")
ACTS = ("set", "copy", "zero", "clamp", "set_mode", "rebase", "restore", "set_item", "set_text", "mask_or", "mask_clear", "mask_set", "set_motion",
        "set_mark", "adopt", "follow", "set_among", "share", "arbitrate", "absent", "counted", "add", "raise", "take_count", "clear",
        "drop_terminated")  # fmt: skip
OPS = {name: number for number, name in enumerate((*CHECKS, *ACTS))}
"""Steps of setter programs, in the order of their NVP_STEP numbers."""
STEP_KEYS = frozenset({"check", "argument", "index", "field", "low", "high", "from", "value", "code", "mode", "rate", "when", "of", "times",
                       "among", "count", "by", "per", *ACTS})  # fmt: skip


def field_index(name: str, where: str, *, of_node: bool = False) -> int:
    """The number of a device field, or of the node's; ImageError with the nearest name."""
    known = tables.system_fields() if of_node else tables.device_fields()
    if name not in known:
        raise ImageError(f"{where}: no field {name!r}{nearest(name, known)}")
    return known[name].index


def nearest(name: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` for a typo, else nothing."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def gates(given: dict[str, int]) -> bytes:
    """The code of each function, 0 for none."""
    codes = [0] * len(tables.function_index())
    for name, code in given.items():
        if name not in tables.function_index():
            raise ImageError(f"gates: no function {name!r}{nearest(name, tables.function_index())}")
        codes[tables.function_index()[name]] = code
    return as_bytes(structs().new("uint16_t[]", codes))


def field_ids(spec: ImageSpec) -> tuple[bytes, bytes, int]:
    """The field-id table sorted by id and scope, the index into it by id, and the largest id known."""
    rows = sorted(spec.field_ids, key=lambda row: (row.id, ANY_SCOPE if row.scope is None else row.scope))
    index = [NO_FIELD] * (rows[-1].id + 1 if rows else 0)
    packed = structs().new("struct nvp_field_id[]", len(rows))
    for number, row in enumerate(rows):
        if index[row.id] == NO_FIELD:
            index[row.id] = number
        packed[number].id = row.id
        packed[number].scope = ANY_SCOPE if row.scope is None else row.scope
        packed[number].field = field_index(row.field, f"field id {row.id}")
        packed[number].value_type = row.value_type
        packed[number].per = row.per
    limit = max(FIELD_ID_LIMIT if spec.field_id_limit is None else spec.field_id_limit, len(index) - 1)
    return as_bytes(packed), as_bytes(structs().new("uint16_t[]", index)), limit


def link_ids(given: Iterable[LinkId]) -> bytes:
    """The field ids of links sorted by id."""
    rows = sorted(given, key=lambda row: row.id)
    packed = structs().new("struct nvp_link_id[]", len(rows))
    special = {None: constants()["NVP_SCOPE_LINK"], "all": constants()["NVP_ALL_LINKS"]}
    for number, row in enumerate(rows):
        if row.reading not in LINK_READINGS:
            raise ImageError(f"field id {row.id}: no reading {row.reading!r}; readings are {', '.join(LINK_READINGS)}")
        packed[number].id = row.id
        packed[number].link = row.link if isinstance(row.link, int) else special[row.link]
        packed[number].field = field_index(row.field, f"field id {row.id}")
        packed[number].value_type = row.value_type
        packed[number].reading = LINK_READINGS.index(row.reading)
    return as_bytes(packed)


def slots(given: list[Slot]) -> bytes:
    """The private table sorted by number and key."""
    rows = sorted(given, key=lambda slot: (slot.number, slot.key))
    packed = structs().new("struct nvp_slot[]", len(rows))
    for number, row in enumerate(rows):
        if row.shape not in SHAPES:
            raise ImageError(f"slot {row.number}: no shape {row.shape!r}; shapes are {', '.join(SHAPES)}")
        if not 0 < row.number < constants()["NVP_SLOT_COUNT"]:
            raise ImageError(f"slot {row.number}: slots are 1 to {constants()['NVP_SLOT_COUNT'] - 1}")
        packed[number].number = row.number
        packed[number].shape = SHAPES[row.shape]
        packed[number].key = row.key
        packed[number].field = NO_FIELD if row.shape in FIELDLESS else field_index(row.field or "", f"slot {row.number}")
    return as_bytes(packed)


def entries(given: dict[str, str]) -> bytes:
    """The struct of a list's entries by function, where the driver has others than nvml.h."""
    packed = structs().new("struct nvp_entry[]", len(given))
    for number, (name, struct) in enumerate(sorted(given.items())):
        if name not in tables.function_index() or struct not in tables.ENTRIES:
            raise ImageError(f"entries: {name} with {struct}: a function has one of {', '.join(tables.ENTRIES)}")
        packed[number].function, packed[number].shape = tables.function_index()[name], tables.ENTRIES.index(struct)
    return as_bytes(packed)


def _when(entry: dict[str, Any], where: str, *, of_node: bool) -> dict[str, int]:
    """The guard of a step: a field or an argument that has a value."""
    when = entry.get("when")
    guarded = when if isinstance(when, dict) else {}
    if when is not None and set(guarded) not in ({"field", "value"}, {"argument", "value"}, {"argument", "field", "value"}):
        raise ImageError(f"{where}: when {when!r}: it names a field, an argument or both, and the value")
    return {
        "when_field": field_index(guarded["field"], where, of_node=of_node) if "field" in guarded else NO_FIELD,
        "when_argument": int(guarded.get("argument", NO_ARGUMENT)),
        "when_value": int(guarded.get("value", 0)),
    }


def _bit(names: tuple[str, ...], name: Any, where: str) -> int:
    """The bit of a mode or mark."""
    if name is not None and name not in names:
        raise ImageError(f"{where}: {name!r} is none of {', '.join(names)}")
    return 0 if name is None else 1 << names.index(name)


def _step(program: str, entry: dict[str, Any]) -> dict[str, int]:
    """One step of a setter program as the members of nvp_step."""
    where = f"program {program}"
    of_node = program in tables.node_programs()
    op = str(entry["check"]) if "check" in entry else next((name for name in ACTS if name in entry), "")
    if op not in OPS or (op in CHECKS) != ("check" in entry):
        raise ImageError(f"{where}: no step {entry!r}; checks are {', '.join(CHECKS)}; steps are {', '.join(ACTS)}")
    if unknown := set(entry) - STEP_KEYS:
        raise ImageError(f"{where}: {entry!r}: no key {', '.join(sorted(unknown))}; keys are {', '.join(sorted(STEP_KEYS))}")

    def number(name: Any) -> int:
        return NO_FIELD if name is None else field_index(name, where, of_node=of_node)

    rate = entry.get("rate")
    if op == "share":
        return _share(entry, number)
    low = {"adopt": entry.get("from", entry.get("adopt")), "set_motion": rate if isinstance(rate, str) else None}
    low |= dict.fromkeys(("copy", "follow", "arbitrate"), entry.get("from"))
    mark = op == "set_mark"
    return {
        "op": OPS[op],
        "argument": int(entry.get("argument", NO_ARGUMENT)),
        "index": int(entry.get("index", NO_ARGUMENT)),
        "field": number(entry.get("field") if op in CHECKS else None if op in {"set_mode", "set_mark", "absent"} else entry[op]),
        "low": number(low.get(op, entry.get("low"))),
        "high": number(entry.get("of") if op == "arbitrate" else entry.get("high")),
        "code": int(entry.get("code", 2 if op == "set_text" else 0)),
        "mode": _bit(tables.MARKS, entry["set_mark"], where) if mark else _bit(tables.MODES, entry.get("set_mode", entry.get("mode")), where),
        "value": int(rate) & 0xFFFFFFFFFFFFFFFF if isinstance(rate, int) else int(entry.get("absent", entry.get("value", entry.get("count", 0)))),
        **_when(entry, where, of_node=of_node),
    }


def _share(entry: dict[str, Any], number: Callable[[Any], int]) -> dict[str, int]:
    """A product of fields, one of them chosen by another."""
    return {
        "op": OPS["share"], "argument": NO_ARGUMENT, "index": int(entry["count"]), "field": number(entry["share"]), "low": number(entry["of"]),
        "high": number(entry["times"]), "code": number(entry["among"]), "mode": number(entry["by"]), "value": int(entry["per"]),
        "when_field": NO_FIELD, "when_argument": NO_ARGUMENT, "when_value": 0,
    }  # fmt: skip


def programs(given: dict[str, list[dict[str, Any]]] | None) -> tuple[bytes, bytes, int, int]:
    """The setter programs and all their steps, in the order of tables/programs; one that is not given is empty and answers NOT_SUPPORTED."""
    wanted = tables.program_steps() if given is None else given
    steps: list[dict[str, int]] = []
    packed = structs().new("struct nvp_program[]", len(tables.program_steps()))
    for number, name in enumerate(tables.program_steps()):
        own = [_step(name, entry) for entry in wanted.get(name, [])]
        packed[number].first, packed[number].count = len(steps), len(own)
        packed[number].scope = constants()["NVP_NODE"] if name in tables.node_programs() else 0
        steps += own
    return as_bytes(packed), as_bytes(structs().new("struct nvp_step[]", steps)), len(tables.program_steps()), len(steps)


def source(given: Source | None) -> bytes:
    """The profile's identity, then its path."""
    path = os.fsencode(given.path) if given else b""
    packed = structs().new("struct nvp_source *")
    packed.path_size = len(path)
    if given:
        packed.present, packed.size, packed.mtime_ns, packed.inode = 1, given.size, given.mtime_ns, given.inode
        packed.sha256 = list(given.sha256)
    return as_bytes(packed) + path
