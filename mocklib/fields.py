"""The tables under ``mocklib/tables`` as Python: fields of an image, names of functions, setter programs, and the layout word made from them."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
TABLES = HERE / "tables"
INCLUDE = HERE / "include"
IMAGE_HEADERS = ("nvp_recorded.h", "nvp_image.h")
"""What the structs of an image and a state stand in; the last includes the others."""
FORMAT = 1
TYPES = ("u64", "i64", "string", "bytes", "u32list", "clocktable", "processes", "accounted", "pages")
NUMBERS = frozenset({"u64", "i64"})
WIDTHS = (8, 32, 64)
MODES = ("present", "ecc", "unarmed")
"""Mode bits of a device in the order of their NVP_MODE bit; the status when one does not hold is the device's own for ``present``, else
NOT_SUPPORTED.  ``unarmed`` holds where no failure injector counts calls; where it does not hold a device is said to be ``armed``."""
MARKS = ("removed", "draining", "excluded")
"""What hides a device from an nvmlInit, in the order of their NVP_MARK bit."""


class TableError(ValueError):
    """A table is wrong; the message names the file and the entry."""


@dataclass(frozen=True)
class FieldDef:
    """One field of the image, as ``tables/fields.yaml`` says it.

    ``words`` maps a profile's word to NVML's integer; ``scale`` is image value / profile value; ``source`` names the derivation where the field is
    not the profile key of its name; ``need`` is the mode bit that must hold; ``index`` is its place in the record of its ``scope``; ``bits`` is
    how many bits of a number reach a caller; ``room`` is how many bytes a text or list may be set to at run time; ``moves``: a motion is kept for
    it, so that it can be set moving.
    """

    name: str
    type: str
    words: dict[str, int] | None
    scale: int
    source: str | None
    need: str | None
    scope: str
    index: int
    bits: int = 32
    room: int = 0
    moves: bool = False


def mode_bits(modes: Iterable[str]) -> int:
    """The mode bits of a record by their names; a device is unarmed unless it is said to be ``armed``."""
    held = {*modes, *(() if "armed" in modes else ("unarmed",))}
    return sum(1 << number for number, mode in enumerate(MODES) if mode in held)


def mode_names(bits: int) -> frozenset[str]:
    """The names of mode bits, as ``mode_bits`` takes them."""
    held = {mode for number, mode in enumerate(MODES) if bits >> number & 1}
    return frozenset(held - {"unarmed"} if "unarmed" in held else held | {"armed"})


def load_yaml(path: Path) -> Any:
    """The content of a YAML table, read by the C parser where PyYAML has it."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with path.open("rb") as stream:
        return yaml.load(stream, Loader=loader)  # noqa: S506 - a safe loader, the C one where there is one


def _word(word: Any) -> str:
    """A word as a profile spells it; YAML reads true and false as booleans."""
    return str(word).lower() if isinstance(word, bool) else str(word)


def _field(name: str, entry: dict[str, Any], words: dict[str, dict[Any, int]], scope: str, index: int) -> FieldDef:
    unknown = set(entry) - {"type", "bits", "words", "scale", "from", "need", "room", "moves"}
    if unknown or entry.get("type") not in TYPES:
        raise TableError(f"fields.yaml: {name}: type is one of {', '.join(TYPES)}; keys are type, bits, words, scale, from, need, room, moves")
    bits = entry.get("bits", 32)
    if bits not in WIDTHS:
        raise TableError(f"fields.yaml: {name}: bits {bits!r} is none of {', '.join(map(str, WIDTHS))}")
    if entry.get("moves") and entry["type"] not in NUMBERS:
        raise TableError(f"fields.yaml: {name}: only numbers move")
    room = int(entry.get("room", 0))
    if room % 8 or not 0 <= room < 1 << 16 or (room and entry["type"] not in {"string", "bytes", "u32list"}):
        raise TableError(f"fields.yaml: {name}: room {room} is kept for string, bytes and u32list, in multiples of 8")
    need = entry.get("need")
    if need is not None and need not in MODES:
        raise TableError(f"fields.yaml: {name}: need {need!r} is none of {', '.join(MODES)}")
    listed = entry.get("words")
    if listed is not None and listed not in words:
        raise TableError(f"fields.yaml: {name}: no word list {listed!r}")
    meanings = None if listed is None else {_word(word): value for word, value in words[listed].items()}
    return FieldDef(name, entry["type"], meanings, entry.get("scale", 1), entry.get("from"), need, scope, index, bits, room, bool(entry.get("moves")))


@functools.cache
def _tables() -> tuple[dict[str, FieldDef], dict[str, FieldDef]]:
    document = load_yaml(TABLES / "fields.yaml")
    if document.get("format") not in (FORMAT, FORMAT - 1):
        raise TableError(f"fields.yaml: format {document.get('format')!r}; this reader takes {FORMAT}")
    found = []
    for scope in ("system", "device"):
        entries = document[scope].items()
        found.append({name: _field(name, entry, document["words"], scope, index) for index, (name, entry) in enumerate(entries)})
    return found[0], found[1]


def system_fields() -> dict[str, FieldDef]:
    """The node's fields by name, in the order of the image."""
    return _tables()[0]


def device_fields() -> dict[str, FieldDef]:
    """A device's fields by name, in the order of the image."""
    return _tables()[1]


@functools.cache
def since() -> dict[str, tuple[tuple[int, ...], ...]]:
    """Every function: name -> the drivers from which on a library exports it, no longer does, does again ...; the order numbers the functions.

    A driver is the numbers of its version, or its branch alone: (535,) comes before (535, 54, 3).
    """
    document = load_yaml(TABLES / "since.yaml")["functions"]
    spans = {name: tuple(map(_driver, entry if isinstance(entry, list) else [entry])) for name, entry in document.items()}
    return dict(sorted(spans.items()))


def _driver(entry: int | str) -> tuple[int, ...]:
    """A branch, or the text of a version, as numbers."""
    return tuple(int(part) for part in str(entry).split("."))


@functools.lru_cache(maxsize=256)
def exported(version: tuple[int, ...]) -> frozenset[str]:
    """The functions that the library of a driver exports, by the numbers of its version; one older than the table's oldest is taken for that."""
    driver = max(version, min(first for first, *_ in since().values()))
    return frozenset(name for name, changes in since().items() if sum(change <= driver for change in changes) % 2)


@functools.cache
def function_index() -> dict[str, int]:
    """Function name -> its number in gates and flags."""
    return {name: index for index, name in enumerate(since())}


ENTRIES = ("nvmlProcessInfo_v1_t", "nvmlProcessInfo_v2_t", "nvmlProcessDetail_v1_t")
"""Structs of an entry that differs from today's, in the order of their NVP_ENTRY numbers: 16, 24 and 32 bytes."""


@functools.cache
def entry_changes() -> dict[str, tuple[tuple[tuple[int, ...], str | None], ...]]:
    """Function whose list once had other entries than nvml.h says today -> (driver, struct from it on, None for today's); oldest first."""
    document = load_yaml(TABLES / "entries.yaml")["functions"]
    for name, structs in document.items():
        if name not in since() or not set(structs.values()) <= {*ENTRIES, None}:
            raise TableError(f"entries.yaml: {name}: a function of since.yaml has structs of {', '.join(ENTRIES)}, or null")
    return {name: tuple(sorted((_driver(first), struct) for first, struct in structs.items())) for name, structs in document.items()}


def entries(version: tuple[int, ...]) -> dict[str, str]:
    """Function -> struct of an entry of its list, for those whose entries the driver has otherwise than today's nvml.h."""
    found = {name: next((struct for first, struct in reversed(given) if first <= version), None) for name, given in entry_changes().items()}
    return {name: struct for name, struct in found.items() if struct is not None}


@functools.cache
def answered_from() -> dict[str, tuple[str, ...]]:
    """Function name -> the fields of the one struct it writes: where one of them has a status, the call answers that and writes nothing.

    Functions that choose by an argument or a version word, and members with a number for "not there", are not in it.
    """
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted((TABLES / "functions").glob("*.yaml")):
        for name, entry in load_yaml(path).items():
            out = entry.get("out") if isinstance(entry, dict) and not {"by", "version"} & entry.keys() else None
            if isinstance(out, dict):
                found[name] = tuple(field for field in out.values() if isinstance(field, str))
    return found


@functools.cache
def written() -> dict[str, frozenset[str]]:
    """Function name -> what it writes (``parameter`` or ``parameter.member``), of the functions that ``answered_from`` has."""
    return {
        name: frozenset(entry["out"])
        for path in sorted((TABLES / "functions").glob("*.yaml"))
        for name, entry in load_yaml(path).items()
        if name in answered_from()
    }


@functools.cache
def readers() -> dict[str, tuple[str, ...]]:
    """Field -> the functions that answer from it, in alphabetical order: named in ``out`` or ``string``, or read by a handler written in C."""
    found: dict[str, set[str]] = {}
    for path in sorted((TABLES / "functions").glob("*.yaml")):
        for function, entry in load_yaml(path).items():
            for name in _named(entry) if isinstance(entry, dict) else ():
                found.setdefault(name, set()).add(function)
    return {name: tuple(sorted(functions)) for name, functions in found.items()}


def _named(entry: Any) -> Iterator[str]:
    """The fields an entry of ``functions/*.yaml`` names, however deep."""
    known = {**system_fields(), **device_fields()}
    for name in entry.values() if isinstance(entry, dict) else entry:
        if isinstance(name, dict | list):
            yield from _named(name)
        elif isinstance(name, str) and name in known:
            yield name


@functools.cache
def guarded() -> frozenset[str]:
    """The fields of guarded calls: a call that reads one of them counts where the device is armed (``tables/guarded.yaml``)."""
    listed = set(load_yaml(TABLES / "guarded.yaml")["functions"])
    if unknown := listed - set(since()):
        raise TableError(f"guarded.yaml: no function {', '.join(sorted(unknown))}")
    return frozenset(name for name, functions in readers().items() if name in device_fields() and listed & set(functions))


@functools.cache
def program_steps() -> dict[str, list[dict[str, Any]]]:
    """Setter programs by name: their checks and steps, as ``tables/programs/*.yaml`` say them; the order numbers the programs."""
    return {name: steps for _, name, steps in _programs()}


@functools.cache
def node_programs() -> frozenset[str]:
    """The programs that run on the node's record, not on a device's: those of ``tables/programs/node.yaml``."""
    return frozenset(name for file, name, _ in _programs() if file == "node")


@functools.cache
def _programs() -> tuple[tuple[str, str, list[dict[str, Any]]], ...]:
    """File, name and steps of every program, in the order of the files' names."""
    found: list[tuple[str, str, list[dict[str, Any]]]] = []
    for path in sorted((TABLES / "programs").glob("*.yaml")):
        for name, steps in (load_yaml(path).get("programs") or {}).items():
            if any(name == other for _, other, _ in found):
                raise TableError(f"programs/{path.name}: {name}: there is a program of that name in another file")
            found.append((path.stem, name, steps or []))
    return tuple(found)


@functools.cache
def layout_word() -> int:
    """The 64-bit word image, state and library must agree on: structs, fields, functions and programs."""
    fields = [[(field.name, field.type, field.need, field.room, field.moves) for field in table.values()] for table in _tables()]
    text = json.dumps([fields, sorted(guarded()), list(since()), list(program_steps())]).encode()
    headers = b"".join((INCLUDE / name).read_bytes() for name in (*IMAGE_HEADERS, "nvp_steps.h"))
    digest = hashlib.sha256(headers + text).digest()
    return int.from_bytes(digest[:8], "little")
