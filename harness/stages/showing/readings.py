"""Readings of a subject by path, key or row, each with where it comes from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from harness.stages import compile_defaults, compile_device, seen
from harness.stages.derive_walk import LIST, LITERAL, STATE, UNMODELLED, Walker
from harness.stages.importing import source
from harness.stages.showing import answered
from harness.stores import references
from harness.stores.schema import keys
from harness.tables import rows
from harness.text import paths
from harness.text.listing import Listing
from harness.words.errors import InputError
from mocklib import fields

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.stages.showing.subjects import Subject
    from harness.stores.profiles import Profile

GIVEN, CHANGED, DEFAULT, DERIVED, NOTHING, RECORDED = "given", "changed", "default", "derived", "nothing", "recorded"
_UNITS = {
    "celsius": "C", "draw_watts": "mW", "kbps": "KB/s", "khz_mhz": "kHz", "mhz": "MHz", "mib": "bytes", "mib_up": "bytes", "microseconds": "us",
    "millivolts": "uV", "ns_us": "us", "percent": "%", "watts": "mW",
}  # fmt: skip
"""Format of a row -> unit of the profile's key (that of NVML, but for ns_us, whose keys count in us)."""
_SUFFIXES = {
    "_bytes": "bytes",
    "_mw": "mW",
    "_mj": "mJ",
    "_c": "C",
    "_us": "us",
    "_ms": "ms",
    "_percent": "%",
    "_mib": "MiB",
    "_khz": "kHz",
    "_uv": "uV",
}


@dataclass(frozen=True)
class Key:
    """A profile key of one GPU (or of the node): its ``value`` with its ``unit``, or ``state`` by name, and on whose word (``basis``).

    That is: given, changed by hand since the capture was taken, default of the configuration reference, derived from other keys, recorded (``name``
    is a call and ``value`` its answer, which no key explains), or nothing: it answers not_supported.  ``capture``, ``driver``, ``element``: where the
    profile has it from; ``captured``: what it had there, where that was changed.
    """

    name: str
    value: Any
    unit: str
    state: str | None
    basis: str
    capture: str | None = None
    driver: str | None = None
    element: str | None = None
    captured: Any = None


@dataclass(frozen=True)
class Shown:
    """One reading: ``path`` of the element (None for a key that no element prints), ``gpu``, its ``text`` as printed, ``state`` by name.

    ``row``, ``label``: what the reading is; ``route``, ``basis``, ``why``: what nvidia-smi asks for it; ``key``: what the profile holds;
    ``note``: why no row explains the element, where none does; ``by_key``: asked for by key, so that the key's value is the answer; ``answer``: the
    residual answer that stands before the key, a line.
    """

    path: str | None
    gpu: int | None
    text: str | None
    state: str | None = None
    row: str | None = None
    label: str | None = None
    route: str | None = None
    basis: str | None = None
    why: str = ""
    key: Key | None = None
    note: str = ""
    by_key: bool = False
    answer: str = ""


def find(subject: Subject, path: str) -> list[Shown]:
    """The readings that ``path`` names: an element path (with wildcards; a block means what is in it), a profile key, or a row id.

    A key or a row may have ``*`` in it, and ``gpu[N]/`` before it.  Raises InputError with the nearest names where nothing has that name.
    """
    if not path.strip():
        raise InputError("an empty path; give an element (gpu[0]/fb_memory_usage/total), a key (memory.total_bytes) or a row")
    gpu, _, name = path.rpartition("/") if path.startswith("gpu") and _is_key(path.rpartition("/")[2]) else ("", "", path)
    listed = list(_elements(subject))
    bare = not any(mark in name for mark in ("/", "[", "**"))
    found = (_by_key(subject, listed, gpu, name) or _by_row(listed, gpu, name)) if bare else []
    if not found:
        whole = any(_within(path, entry.path or "") for entry in listed)
        found = [entry for entry in listed if _within(path if whole else f"**/{path}", entry.path or "")]
    if not found and bare:
        found = _by_key(subject, listed, gpu, f"{name}.*")
    if not found:
        raise InputError(f"{subject.name} has no element, key or row {path!r}{_near(path, listed)}")
    return found


def _is_key(name: str) -> bool:
    """Whether the last step of a path is a key or a call rather than an element."""
    return "." in name or name.startswith(answered.PREFIX)


def _near(path: str, listed: list[Shown]) -> str:
    """The nearest paths, names, keys and rows, as a hint."""
    elements = {paths.distinct(entry.path or "") for entry in listed}
    names = {element.rpartition("/")[2] for element in elements}
    return references.near(paths.distinct(path), elements | names | set(keys.device_keys()) | {entry.row for entry in listed if entry.row})


def _within(pattern: str, path: str) -> bool:
    """Whether the pattern names the element, or a block around it."""
    steps = path.split("/")
    return any(paths.matches(pattern, "/".join(steps[:end])) for end in range(len(steps), 0, -1))


def _by_row(listed: list[Shown], gpu: str, name: str) -> list[Shown]:
    return [entry for entry in listed if entry.row is not None and fnmatchcase(entry.row, name) and _on(gpu, entry.gpu)]


def _on(gpu: str, number: int | None) -> bool:
    return not gpu or (number is not None and paths.matches(gpu, f"gpu[{number}]"))


def _by_key(subject: Subject, listed: list[Shown], gpu: str, name: str) -> list[Shown]:
    """The keys of that name on each GPU, each with the element that prints it first."""
    profile = subject.profile
    if profile is None:
        return []
    if name.startswith(answered.PREFIX):
        called = answered.named(profile, name)
        return [Shown(None, on, None, key=Key(call, said, "", None, RECORDED), by_key=True) for on, call, said in called if _on(gpu, on)]
    found = [_beside(key, None, listed) for key in _node_keys(profile) if fnmatchcase(key.name, name) and not gpu]
    exact = name in keys.device_keys()
    for number, device in enumerate(profile.shown):
        given = {*device.values, *device.states, *(key for key in keys.device_keys() if compile_defaults.default(key, device.values) is not None)}
        chosen = (
            [name]
            if exact or name in fields.device_fields()
            else [key for key in sorted(given & keys.device_keys().keys()) if fnmatchcase(key, name)]
        )
        found += [_beside(_key(subject, profile, number, key), number, listed) for key in chosen if _on(gpu, number)]
    return found


def _beside(key: Key, gpu: int | None, listed: list[Shown]) -> Shown:
    first = next((entry for entry in listed if entry.gpu == gpu and entry.key is not None and entry.key.name == key.name), None)
    if first is None:
        return Shown(None, gpu, None, key=key, by_key=True)
    return replace(first, key=key, by_key=True)


def _node_keys(profile: Profile) -> Iterator[Key]:
    for block, part in (("system", profile.system), ("clock", profile.clock)):
        for name, value in part.items():
            yield Key(f"{block}.{name}", value, "", None, GIVEN, *_origin(profile, f"{block}.{name}"))


def _elements(subject: Subject) -> Iterator[Shown]:
    """Every element of the subject's text, in file order."""
    text = subject.text()
    if isinstance(text, Listing) or subject.driver is None:
        hidden = source.redacted(leaves := source.leaves(text))
        for path, shown in leaves:
            yield Shown(
                path, _gpu_of(path), shown, "redacted" if path in hidden else None, note="" if subject.driver else "no driver is told: no row"
            )
        return
    driver, table = seen.by(text, subject.driver), rows.load()
    hidden = source.redacted(source.leaves(text))
    for reading in Walker(text, driver).readings():
        state = reading.state.value if reading.state is not None and reading.kind in (STATE, LITERAL) else None
        state = "redacted" if reading.path in hidden else "empty list" if reading.kind == LIST else state
        row = table.get(reading.row or "")
        route = driver.routes.get(reading.row or "")
        key = None if row is None else _key_of(subject, reading.gpu, row.field)
        yield Shown(
            path=reading.path,
            gpu=reading.gpu,
            text=reading.text,
            state=state,
            row=None if row is None else row.id,
            label=None if row is None else row.label,
            route=None if route is None else route.spelled,
            basis=None if route is None else route.basis,
            why="" if route is None else route.why,
            key=key,
            note=reading.why if reading.kind == UNMODELLED else "",
            answer="" if subject.profile is None else answered.behind(subject.profile, reading.gpu, route, driver),
        )


def _gpu_of(path: str) -> int | None:
    return int(paths.indices(path)[0]) if path.startswith("gpu[") else None


def _key_of(subject: Subject, gpu: int | None, field: str) -> Key | None:
    """The key behind a row's field."""
    profile = subject.profile
    if not field or profile is None:
        return None
    if gpu is None:
        return next((key for key in _node_keys(profile) if key.name == field), None)
    return _key(subject, profile, gpu, field) if gpu < len(profile.shown) else None


def _key(subject: Subject, profile: Profile, number: int, name: str) -> Key:
    """What the profile, or the reference in its place, says of one key of one GPU."""
    device, unit = profile.shown[number], _unit(name)
    state = device.states.get(name)
    if state is not None or device.values.get(name) is not None:
        made = Key(name, None if state else device.values[name], unit, state.value if state else None, GIVEN, *_origin(profile, name))
        before = subject.captured.shown[number] if subject.captured is not None and number < len(subject.captured.shown) else None
        had = None if before is None else before.states[name].value if name in before.states else before.values.get(name)
        return made if before is None or had in (made.value, made.state) else replace(made, basis=CHANGED, captured=had)
    if name in keys.device_keys():
        value = compile_defaults.default(name, device.values)
        return Key(name, value, unit, None, DEFAULT) if value is not None else Key(name, None, unit, "not_supported", NOTHING)
    definition = fields.device_fields().get(name)
    served = compile_device.device_fields(device, number).get(name) if definition is not None and definition.source is not None else None
    if served is None or served.status:
        return Key(name, None, unit, "not_supported", NOTHING)
    return Key(name, served.value, unit, None, DERIVED)


def _origin(profile: Profile, key: str) -> tuple[str | None, str | None, str | None]:
    """Capture, driver and element that the profile says it has the key from."""
    listed = profile.origin.get("keys") or {}
    element = listed.get(key)
    return (profile.origin.get("capture"), profile.origin.get("driver"), str(element)) if element is not None else (None, None, None)


def _unit(key: str) -> str:
    """The unit in which a profile gives a key; empty for counts, words and texts."""
    row = next((row for row in rows.load().values() if row.field == key and row.format in _UNITS), None)
    if row is not None and key in keys.device_keys() and keys.device_keys()[key].kind in ("uint", "int"):
        return _UNITS[row.format]
    return next((unit for suffix, unit in _SUFFIXES.items() if key.endswith(suffix)), "")
