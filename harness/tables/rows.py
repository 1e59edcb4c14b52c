"""Rows: what each reading is, whatever element it stands under: label, format, profile key and route."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.tables import formats, strictyaml
from harness.words.errors import InputError, did_you_mean

ROUTE_KINDS = ("call", "fieldvalue", "slot", "member", "literal", "clock", "sum", "difference", "all")
BASES = ("public", "field", "slot", "assumed", "literal")
_BASIS = {"call": "public", "fieldvalue": "field", "slot": "slot", "member": "public", "literal": "literal", "clock": "public", "sum": "public",
          "difference": "public", "all": "public"}  # fmt: skip
_ROUTE_KEYS = frozenset(("args", "out", "scope", "bits", "supported", "gate", "text", "room", "overflow", "refusal", "refusals",
                         "ignored", "summary", "moving", "basis", "why"))  # fmt: skip
SUMMARIES = ("duration", "count", "max", "min", "avg")


@dataclass(frozen=True)
class Route:
    """Where nvidia-smi gets a reading from.

    kind     ``call`` a function of the header, ``fieldvalue`` a field id through nvmlDeviceGetFieldValues, ``slot`` an entry of the private
             table, ``member`` a member of the enclosing list's entry, ``literal`` a state printed without asking, ``clock`` the clock,
             ``sum`` of the rows that answer (in 64 bits), ``difference`` of two rows in the unit printed (nvidia-smi computes these two itself),
             ``all`` a state where one of the rows answers one (the first such), of those that are asked at all
    target   the function's, field id's, slot's or member's name; the state's name for a literal; empty for sum and difference
    operands the rows of a sum, a difference or an all
    args     the function's other arguments by header name: a number, or ``$name`` of the enclosing list's entry
    out      the out parameter, or ``parameter.member`` of a struct
    scope    scope id of a field value
    bits     (lowest bit, width) of the reading inside the integer that comes back
    supported  function whose mask must have the bit, else the reading is not supported; where it is refused, its code is the reading
    gate     (row, value): unless that row answers that value, nvidia-smi prints not supported without asking; a gate that the same call
             answers and that is refused gives its code
    refusal  nvmlReturn_t printed for whatever code comes back, None for the code itself
    ignored  return codes that nvidia-smi does not look at: what it prints then is whatever its memory held, and is read as the empty text here
    refusals  (code, nvmlReturn_t printed for it) of codes that are printed as another
    text     whether the byte array that comes back holds a text
    summary  what nvidia-smi makes of the samples that come back, one of SUMMARIES; '' elsewhere
    moving   whether a slot that no function of the header answers like gives a reading of a moment; of functions the list of getters tells it
    room     bytes of the buffer that nvidia-smi gives for a text, its end included, or entries that it has room for in a list:
             a longer one is printed as INSUFFICIENT_SIZE
    overflow nvmlReturn_t printed in place of INSUFFICIENT_SIZE, None for that
    basis    public, field, slot (measured on the driver's branch), assumed (slot or literal carried over from the nearest measured branch)
    why      the evidence, one line, where the header alone is not enough
    """

    kind: str
    target: str
    operands: tuple[str, ...] = ()
    args: tuple[tuple[str, int | str], ...] = ()
    out: str = ""
    scope: int = 0
    bits: tuple[int, int] | None = None
    supported: str = ""
    gate: tuple[str, int] | None = None
    text: bool = False
    summary: str = ""
    moving: bool = False
    room: int | None = None
    overflow: int | None = None
    ignored: tuple[int, ...] = ()
    refusal: int | None = None
    refusals: tuple[tuple[int, int], ...] = ()
    basis: str = "public"
    why: str = ""

    @property
    def spelled(self) -> str:
        """The route as text: kind and target with arguments, and what is taken of the answer."""
        inside = [f"{name}={value}" for name, value in self.args]
        inside += [f"scope={self.scope}"] if self.scope else []
        inside += list(self.operands)
        return f"{self.kind} {self.target}({', '.join(inside)})" + (f" {self.out}" if self.out else "")

    def refused(self, code: int) -> int:
        """The code that is printed where ``code`` comes back."""
        return dict(self.refusals).get(code, code) if self.refusal is None else self.refusal

    def pick(self, raw: int) -> int:
        """The reading inside ``raw``: its bits, or ``raw`` itself."""
        if self.bits is None:
            return raw
        low, width = self.bits
        return (raw >> low) & ((1 << width) - 1)


@dataclass(frozen=True)
class Row:
    """One row.

    id      the name layouts, findings and rules use
    label   the row's label in ``nvidia-smi -q``
    format  name in ``formats``
    field   profile key the reading is derived into ('' for a reading that no key holds: literals)
    route   where it comes from unless the driver says otherwise; None for a row that only some drivers route
    """

    id: str
    label: str
    format: str
    field: str
    route: Route | None

    @property
    def form(self) -> formats.Format:
        """The row's format."""
        return formats.get(self.format)


def parse_route(spec: Any, where: str) -> Route:
    """A route from its mapping; ``where`` is ``file:line`` for messages."""
    if not isinstance(spec, dict):
        raise InputError(f"{where}: a route is a mapping such as {{call: nvmlDeviceGetName, out: name}}")
    kinds = [kind for kind in ROUTE_KINDS if kind in spec]
    if len(kinds) != 1:
        raise InputError(f"{where}: a route has exactly one of {', '.join(ROUTE_KINDS)}")
    kind = kinds[0]
    for name in spec:
        if name != kind and name not in _ROUTE_KEYS:
            raise InputError(f"{where}: unknown route key {name!r}{did_you_mean(str(name), _ROUTE_KEYS)}")
    basis = str(spec.get("basis", _BASIS[kind]))
    if basis not in BASES:
        raise InputError(f"{where}: unknown basis {basis!r}; it is one of {', '.join(BASES)}")
    if spec.get("summary", SUMMARIES[0]) not in SUMMARIES:
        raise InputError(f"{where}: unknown summary {spec['summary']!r}; it is one of {', '.join(SUMMARIES)}")
    bits, gate = spec.get("bits"), spec.get("gate")
    computed = kind in ("sum", "difference", "all")
    return Route(
        kind=kind,
        target="" if computed else str(spec[kind]),
        operands=tuple(map(str, spec[kind])) if computed else (),
        args=tuple((str(name), value) for name, value in spec.get("args", {}).items()),
        out=str(spec.get("out", "")),
        scope=int(spec.get("scope", 0)),
        bits=None if bits is None else (int(bits[0]), int(bits[1])),
        supported=str(spec.get("supported", "")),
        gate=None if gate is None else (str(gate[0]), int(gate[1])),
        text=spec.get("text") is True,
        summary=str(spec.get("summary", "")),
        moving=spec.get("moving") is True,
        room=None if spec.get("room") is None else int(spec["room"]),
        overflow=None if spec.get("overflow") is None else int(spec["overflow"]),
        ignored=tuple(map(int, spec.get("ignored", ()))),
        refusal=None if spec.get("refusal") is None else int(spec["refusal"]),
        refusals=tuple((int(code), int(printed)) for code, printed in (spec.get("refusals") or {}).items()),
        basis=basis,
        why=str(spec.get("why", "")),
    )


def exported(function: str, exports: Collection[str]) -> str:
    """``nvmlDeviceGetPciInfo_v2`` for ``nvmlDeviceGetPciInfo_v3`` where that is the newest that is exported; the name itself where none is."""
    base, mark, number = function.partition("_v")
    if function in exports or not mark or not number.isdecimal():
        return function
    older = [f"{base}_v{version}" for version in range(int(number) - 1, 1, -1)]
    return next((name for name in (*older, base) if name in exports), function)


def load(folder: Path | None = None) -> Mapping[str, Row]:
    """Every row by id, from ``rows/*.yaml``; InputError for an unknown key, format, a repeated id."""
    folder = folder or _SHIPPED
    if folder not in _cache:
        rows: dict[str, Row] = {}
        for path in sorted(folder.glob("*.yaml")):
            _load_file(path, rows)
        _cache[folder] = rows
    return _cache[folder]


_SHIPPED = Path(__file__).with_name("rows")
_cache: dict[Path, Mapping[str, Row]] = {}


def _load_file(path: Path, rows: dict[str, Row]) -> None:
    document = strictyaml.load_file(path, f"rows/{path.name}")
    for identifier, spec in document.value["rows"].items():
        where = document.where(("rows", identifier))
        unknown = set(spec) - {"label", "format", "field", "route"}
        if unknown or not isinstance(identifier, str):
            raise InputError(f"{where}: row {identifier!r} has unknown keys {sorted(unknown)}")
        if identifier in rows:
            raise InputError(f"{where}: row {identifier!r} is given twice")
        formats.get(spec["format"])
        route = parse_route(spec["route"], where) if "route" in spec else None
        rows[identifier] = Row(identifier, str(spec["label"]), spec["format"], str(spec.get("field", identifier)), route)
