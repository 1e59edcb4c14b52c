"""Readings from a library: each row's route evaluated through NVML's ABI, each call made once per GPU and render."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from harness.stages.render import samples
from harness.stages.render.reading import Place, Raw, Reading
from harness.tables import rows
from harness.tables.drivers import WAYS
from harness.text import rawbytes
from harness.words.errors import InputError
from harness.words.state import State

if TYPE_CHECKING:
    from harness.tables.drivers import Driver
    from harness.tables.rows import Route

NOT_SUPPORTED, NOT_FOUND, INSUFFICIENT_SIZE = 3, 6, 7
U64 = 2**64 - 1
BY_INDEX = "pci_address"
"""Shape of a slot that takes a GPU's index in place of its handle."""
FIELD_VALUES = "nvmlDeviceGetFieldValues"


class Answer(Protocol):
    """What one call gave: ``code`` and what it wrote, by ``parameter`` or ``parameter.member`` (a number, text, bytes, a list)."""

    @property
    def code(self) -> int:
        """The nvmlReturn_t."""

    @property
    def out(self) -> Mapping[str, Any]:
        """What it wrote; empty unless ``code`` is 0."""


class Library(Protocol):
    """The part of ``mocklib.binding`` that a render needs."""

    def call(self, name: str, device: Any = None, args: Mapping[str, Any] | None = None) -> Answer:
        """Call a function of the header."""

    def field_value(self, device: Any, identifier: int, scope: int) -> Answer:
        """One value of nvmlDeviceGetFieldValues, out ``value``."""

    def handle(self, index: int) -> Any:
        """The handle of GPU ``index``, None where the library gives none."""

    def slot(self, number: int, shape: str, device: Any = None, key: int | None = None) -> Answer:
        """Call an entry of the private table, out ``value``."""


class NvmlSource:
    """Answers rows from a library that is initialised.

    ``now``: the clock, seconds since 1970 in the capture's own zone, handed in.
    """

    def __init__(self, library: Library, driver: Driver, now: int) -> None:
        self._library = library
        self._driver = driver
        self._now = now
        self._answers: dict[tuple[Any, ...], Answer] = {}
        self._rows = rows.load()
        self._lists: dict[tuple[str, int | None, Raw | None], list[Place]] = {}

    def read(self, row: str, place: Place) -> Reading:
        """The answer for ``row`` at ``place``; a row without a route on this driver is not supported."""
        if row in place.entry:
            return _value(place.entry[row])
        route = self._route(row)
        if route is None:
            return Reading(NOT_SUPPORTED)
        reading = self._evaluate(route, place)
        return Reading(0, "") if reading.code in route.ignored else reading

    def asked(self, row: str) -> str:
        """The route of ``row`` as text: kind and target with arguments."""
        route = self._route(row)
        return "none" if route is None else route.spelled

    def _route(self, row: str) -> Route | None:
        route = self._driver.routes.get(row)
        if route is None and row in self._rows:
            route = self._rows[row].route
        return route

    def _evaluate(self, route: Route, place: Place) -> Reading:
        if route.gate is not None and not self.opens(route, place):
            gate = self.read(route.gate[0], place)
            return Reading(gate.code or NOT_SUPPORTED if self._same_call(route) else NOT_SUPPORTED)
        if route.supported:
            refused = self._supported(route, place)
            if refused:
                return Reading(refused)
        if route.kind == "clock":
            return Reading(0, self._now)
        if route.kind == "literal":
            code = State(route.target).code
            return Reading(NOT_SUPPORTED if code is None else code)
        if route.kind == "member":
            return _value(place.entry[route.target]) if route.target in place.entry else Reading(NOT_SUPPORTED)
        if route.kind in ("sum", "difference", "all"):
            return self._computed(route, place)
        answer = self.answer(route, place)
        if answer.code:
            return Reading(route.refused(answer.code))
        if overflows(route, answer):
            return Reading(INSUFFICIENT_SIZE if route.overflow is None else route.overflow)
        return self._picked(route, _member(answer.out, route.out))

    def opens(self, route: Route, place: Place) -> bool:
        """Whether nvidia-smi asks the call of ``route``: the row of its gate, if it has one, answers the value of the gate."""
        return route.gate is None or self.read(route.gate[0], place).raw == route.gate[1]

    def _same_call(self, route: Route) -> bool:
        """Whether the gate is a member of what the route's own call writes."""
        gate = self._route(route.gate[0]) if route.gate is not None else None
        return gate is not None and (gate.kind, gate.target, gate.args) == (route.kind, route.target, route.args)

    def _picked(self, route: Route, value: Any) -> Reading:
        if route.summary:
            return Reading(0, samples.SUMMARIES[route.summary](samples.read(value)))
        reading = _value(value.split(b"\0")[0].decode("utf-8", "surrogateescape") if route.text and isinstance(value, bytes) else value)
        if isinstance(reading.raw, int):
            return Reading(0, route.pick(reading.raw))
        if route.room is not None and isinstance(value, (str, bytes)) and len(rawbytes.encode(str(reading.raw))) >= route.room:
            return Reading(INSUFFICIENT_SIZE)
        return reading

    def _supported(self, route: Route, place: Place) -> int:
        """0 where the board has what the route reads, else the code: that of the mask's call, or not supported where the bit is not set."""
        answer = self._asked(("call", route.supported, place.index), lambda: self._library.call(route.supported, place.device))
        if answer.code or route.bits is None:
            return answer.code
        (mask,) = answer.out.values()
        return 0 if route.pick(int(mask)) else NOT_SUPPORTED

    def _computed(self, route: Route, place: Place) -> Reading:
        """A sum of the rows that answer (INSUFFICIENT_SIZE where 64 bits do not hold it), a difference of two as printed, whether all answer.

        The two that differ are read as the binaries' 64 bits without a sign: a recording can say any number.
        """
        if route.kind == "all":
            asked = [row for row in route.operands if (own := self._route(row)) is not None and self.opens(own, place)]
            return next((one for one in (self.read(row, place) for row in asked) if not one.answered), Reading(0, len(asked)))
        readings = [self.read(operand, place) for operand in route.operands]
        values = [reading.raw for reading in readings if isinstance(reading.raw, int)]
        if not values or (route.kind == "difference" and len(values) < len(readings)):
            return next(reading for reading in readings if not reading.answered)
        if route.kind == "sum":
            return Reading(0, sum(values)) if sum(values) <= U64 else Reading(INSUFFICIENT_SIZE)
        shown = []
        for operand, value in zip(route.operands, values, strict=True):
            form = self._driver.form(operand)
            shown.append(int(form.parse(form.text(value & U64))))
        return Reading(0, shown[0] - sum(shown[1:]))

    def answer(self, route: Route, place: Place) -> Answer:
        """What the call of a ``call``, ``fieldvalue`` or ``slot`` route gave, asked once."""
        if route.kind == "call":
            args = {name: _argument(value, place) for name, value in route.args}
            key = ("call", route.target, place.index, *args.items())
            return self._asked(key, lambda: self._library.call(route.target, place.device, args))
        if route.kind == "fieldvalue":
            number = self._driver.field_ids.get(route.target)
            if number is None:
                raise InputError(f"driver {self._driver.node}: no field id for {route.target!r}")
            key = ("field", number, route.scope, place.index)
            return self._asked(key, lambda: self._library.field_value(place.device, number, route.scope))
        slot = self._driver.slots.get(route.target)
        if slot is None:
            return _Nothing()
        key = ("slot", slot.number, slot.key, place.index)
        second = place.index if slot.shape == BY_INDEX else slot.key
        return self._asked(key, lambda: self._library.slot(slot.number, slot.shape, place.device, second))

    def _asked(self, key: tuple[Any, ...], call: Any) -> Answer:
        if key not in self._answers:
            self._answers[key] = call()
        return self._answers[key]

    def entries(self, repeat: str, place: Place) -> list[Place]:
        """One place for each entry of the list ``repeat``; see ``lists``."""
        from harness.stages.render import lists

        return lists.entries(self, repeat, place)

    def left_out(self, repeat: str, place: Place) -> bool:
        """Whether the list ``repeat`` has entries and ``entries`` gives none of them; see ``lists``."""
        from harness.stages.render import lists

        return lists.left_out(self, repeat, place)

    def way(self, name: str) -> str:
        """How the driver reads the list ``name``; where no node says it, as the newest does."""
        return self._driver.lists.get(name, WAYS[name][0])

    def route(self, row: str) -> Route | None:
        """The route of ``row`` on this driver, or None."""
        return self._route(row)

    def handle(self, index: int) -> Any:
        """The handle of GPU ``index``, None where the library gives none."""
        return self._library.handle(index)

    def uncaptured(self, handle: Any) -> bool:
        """Whether a GPU is one that the capture left out: not even its index is found."""
        return self._library.call("nvmlDeviceGetIndex", handle).code == NOT_FOUND


def overflows(route: Route, answer: Answer) -> bool:
    """Whether the list that came back is longer than nvidia-smi has room for."""
    if route.room is None:
        return False
    listed = answer.out.get(route.out or "value")
    return isinstance(listed, (list, tuple)) and len(listed) > route.room


class _Nothing:
    """The answer of a slot that this driver's table has not."""

    code = NOT_SUPPORTED
    out: Mapping[str, Any] = {}


def _argument(value: int | str, place: Place) -> Any:
    if isinstance(value, str) and value.startswith("$"):
        return place.entry[value[1:]]
    return value


def _member(out: Mapping[str, Any], path: str) -> Any:
    """The parameter or ``parameter.member`` in what a call wrote; without a path, the one thing it wrote."""
    if not path:
        (value,) = out.values()
        return value
    if path in out:
        return out[path]
    array, _, member = path.rpartition(".")
    return out[array][0][member]  # of an array of structs, the first


def _value(value: Any) -> Reading:
    """A reading of a number, of a text (its odd bytes kept), or of an array of bytes or 32-bit words (as hexadecimal digits)."""
    if isinstance(value, str):
        return Reading(0, rawbytes.decode(value.encode("utf-8", "surrogateescape")))
    if isinstance(value, bytes):
        return Reading(0, value.hex())
    if isinstance(value, (list, tuple)):
        return Reading(0, "".join(f"{word:08x}" for word in value if isinstance(word, int)))
    return Reading(0, value)
